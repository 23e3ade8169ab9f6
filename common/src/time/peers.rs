//! What the peers of a process say about cluster time, and how far this process may follow them.
//!
//! Each word of a peer is kept as the adjustment that would make our cluster time equal to its own.
//! A message that was under way for longer than the link knew makes its peer look late, never
//! early, so of a peer's last few words the one that makes it most ahead is believed. The median
//! over the peers is where to go: one wrong peer, or a minority, moves nobody.

use super::cluster::ClusterConfig;
use crate::order::{Node, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Most peers that are listened to; more are refused and counted.
pub const PEERS_MAX: usize = 512;
/// A peer's word counts for this many steps.
pub const PEER_FRESH_STEPS: u64 = 40;
/// Of so many words of a peer the one with the shortest delay is believed.
pub const PEER_WORDS: usize = 8;
/// Fastest slew: 5 ns in 1,000, so that a step is never shorter or longer than by half a percent.
pub const SLEW_PERMILLE: u64 = 5;
/// Skew below which nothing is slewed. It must exceed the error of the delay estimates: a cluster
/// whose members all believe that the others are late would slow down for ever.
pub const SLEW_DEAD_BAND_NS: u64 = 500_000;
/// Skew over which a warning is due; it ends below half of this.
pub const SKEW_WARNING_NS: u64 = 5_000_000;

/// What a peer said about cluster time in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSample {
    /// The tick that the peer stamped on its message.
    pub tick: Tick,
    /// How long after the start of that tick, on the peer's cluster time, it sent the message, in
    /// nanoseconds ([`ClusterClock::phase_ns`](super::ClusterClock::phase_ns) at the peer).
    pub phase_ns: i64,
    /// How long the message was under way, as well as the link knows (half of the shortest round
    /// trip), in nanoseconds. 0 when unknown.
    pub delay_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    adjust_ns: i128,
    heard_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Peers {
    /// Of each peer the last words, oldest first; never empty.
    words: BTreeMap<Node, VecDeque<Word>>,
}

impl Peers {
    /// False when the table is full.
    pub(super) fn hear(
        &mut self,
        peer: Node,
        sample: PeerSample,
        heard_ns: u64,
        config: &ClusterConfig,
    ) -> bool {
        if self.words.len() >= PEERS_MAX && !self.words.contains_key(&peer) {
            return false;
        }
        let theirs = i128::from(sample.tick.0) * i128::from(config.step_ns)
            + i128::from(sample.phase_ns)
            + i128::from(sample.delay_ns);
        let ours = i128::from(heard_ns) - i128::from(config.origin_ns);
        let words = self.words.entry(peer).or_default();
        if words.len() >= PEER_WORDS {
            words.pop_front();
        }
        words.push_back(Word { adjust_ns: theirs - ours, heard_ns });
        true
    }

    pub(super) fn forget(&mut self, peer: Node) {
        self.words.remove(&peer);
    }

    /// The local clock went back by this much: what was measured against it shifts along.
    pub(super) fn rebase(&mut self, by_ns: u64) {
        for word in self.words.values_mut().flatten() {
            word.adjust_ns += i128::from(by_ns);
            word.heard_ns = word.heard_ns.saturating_sub(by_ns);
        }
    }

    pub(super) fn expire(&mut self, now_ns: u64, step_ns: u64) {
        let fresh_ns = step_ns.saturating_mul(PEER_FRESH_STEPS);
        self.words.retain(|_, words| {
            words.retain(|word| now_ns.saturating_sub(word.heard_ns) <= fresh_ns);
            !words.is_empty()
        });
    }

    /// The adjustment in the middle; between two middles, half way. None without a peer.
    pub(super) fn median_ns(&self) -> Option<i128> {
        let ahead = |words: &VecDeque<Word>| words.iter().map(|word| word.adjust_ns).max();
        let mut all: Vec<i128> = self.words.values().filter_map(ahead).collect();
        all.sort_unstable();
        let (low, high) = (all.get(all.len().checked_sub(1)? / 2)?, all.get(all.len() / 2)?);
        Some(low + (high - low) / 2)
    }
}
