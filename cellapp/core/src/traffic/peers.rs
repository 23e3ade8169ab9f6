//! The other processes: which life of each is the present one, the numbers of the bundles between
//! us, and what waits to be sent.
//!
//! Invariants: bundles to one life are numbered from 1 without gaps, whatever the registry says
//! meanwhile; messages to one life leave in the order in which they were given; a life that was
//! declared dead, or has a successor, is neither heard nor written to.

use marchland_common::cluster::ClusterMap;
use marchland_common::msg::Msg;
use marchland_common::order::{Incarnation, Node, NodeKind, NodeName, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Most lives that are kept apart; a cluster has far fewer processes.
pub const PEERS_MAX: usize = 512;

/// A peer that is not registered is written to while it was heard within this many ticks: the
/// registry may forget a process that is well.
pub const UNREGISTERED_TICKS: u64 = 200;

/// A message that waits for its bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    since: Tick,
    bytes: usize,
    msg: Msg,
}

/// One life of another process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Peer {
    /// The newest bundle to it.
    sent: u64,
    /// The newest bundle from it.
    got: u64,
    /// When it was heard last.
    heard: Tick,
    /// Whether it is a member at present.
    registered: bool,
    queue: VecDeque<Waiting>,
}

/// Why a bundle is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// The life is over, or is our own.
    Stale,
    /// A bundle with this number, or a later one, was read.
    Repeated,
    /// It is no process that speaks to a cellapp, or there are too many.
    Unwelcome,
}

/// What a bundle's number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It follows the one before.
    Next,
    /// Bundles before it are missing.
    AfterGap,
}

/// All peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peers {
    me: Node,
    rows: BTreeMap<Node, Peer>,
}

impl Peers {
    /// Nobody yet.
    #[must_use]
    pub const fn new(me: Node) -> Self {
        Self { me, rows: BTreeMap::new() }
    }

    /// Takes in who is registered and who is dead. Returns the lives that are over, each with how
    /// many messages waited for it.
    pub fn follow(&mut self, map: &ClusterMap, tick: Tick) -> Vec<(Node, u32)> {
        for peer in self.rows.values_mut() {
            peer.registered = false;
        }
        for member in map.members() {
            if self.may_know(member.node) && !map.is_dead(member.node) {
                let peer = self.rows.entry(member.node).or_default();
                if !peer.registered && peer.heard == Tick(0) {
                    peer.heard = tick;
                }
                peer.registered = true;
            }
        }
        let over: Vec<Node> = self
            .rows
            .keys()
            .copied()
            .filter(|node| map.is_dead(*node) || self.newest(node.name) != Some(*node))
            .collect();
        over.into_iter().map(|node| (node, self.forget(node))).collect()
    }

    /// Notes a bundle. The caller has checked that its sender is not declared dead.
    ///
    /// # Errors
    /// [`Unheard`] when it must not be read.
    pub fn hear(&mut self, from: Node, n: u64, tick: Tick) -> Result<Heard, Unheard> {
        let stale = self.newest(from.name).is_some_and(|newest| newest > from);
        if stale || from.name == self.me.name {
            return Err(Unheard::Stale);
        }
        if !self.may_know(from) {
            return Err(Unheard::Unwelcome);
        }
        let peer = self.rows.entry(from).or_default();
        if n <= peer.got {
            return Err(Unheard::Repeated);
        }
        let heard = if n == peer.got + 1 { Heard::Next } else { Heard::AfterGap };
        (peer.got, peer.heard) = (n, tick);
        Ok(heard)
    }

    fn may_know(&self, node: Node) -> bool {
        let speaks = matches!(node.name.kind, NodeKind::Cell | NodeKind::Base);
        let room = self.rows.len() < PEERS_MAX || self.rows.contains_key(&node);
        speaks && room && node.name != self.me.name
    }

    /// The newest known life of a process.
    #[must_use]
    pub fn newest(&self, name: NodeName) -> Option<Node> {
        let first = Node { name, incarnation: Incarnation(0) };
        let last = Node { name, incarnation: Incarnation(u64::MAX) };
        self.rows.range(first..=last).next_back().map(|(node, _)| *node)
    }

    /// All known lives of one kind of process.
    pub fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = Node> {
        self.rows.keys().copied().filter(move |node| node.name.kind == kind)
    }

    /// Whether this life is known and not over.
    #[must_use]
    pub fn knows(&self, node: Node) -> bool {
        self.rows.contains_key(&node)
    }

    /// Gives a message to a peer's next bundle. False when nobody knows that life any more.
    pub fn send(&mut self, to: Node, msg: Msg, tick: Tick) -> bool {
        let Some(peer) = self.rows.get_mut(&to) else { return false };
        let bytes = postcard::experimental::serialized_size(&msg).unwrap_or(usize::MAX / 2);
        peer.queue.push_back(Waiting { since: tick, bytes, msg });
        true
    }

    /// Since when something waits for a peer that did not fit into earlier bundles.
    #[must_use]
    pub fn held_back(&self, to: Node) -> Option<Tick> {
        self.rows.get(&to)?.queue.front().map(|waiting| waiting.since)
    }

    /// How many messages wait, over all peers.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.rows.values().map(|peer| peer.queue.len()).sum()
    }

    /// Whom a bundle is written to in this tick.
    #[must_use]
    pub fn live(&self, tick: Tick) -> Vec<Node> {
        let is_live = |peer: &Peer| {
            peer.registered || tick.0.saturating_sub(peer.heard.0) <= UNREGISTERED_TICKS
        };
        self.rows.iter().filter(|(_, peer)| is_live(peer)).map(|(node, _)| *node).collect()
    }

    /// Takes the messages of a peer's next bundle, at most `bytes_max` of them by size but always
    /// one, and the bundle's number.
    pub fn take_bundle(&mut self, to: Node, bytes_max: usize) -> Option<(u64, Vec<Msg>)> {
        let peer = self.rows.get_mut(&to)?;
        let (mut bytes, mut count) = (0_usize, 0);
        for waiting in &peer.queue {
            bytes = bytes.saturating_add(waiting.bytes);
            if bytes > bytes_max && count > 0 {
                break;
            }
            count += 1;
        }
        peer.sent += 1;
        Some((peer.sent, peer.queue.drain(..count).map(|waiting| waiting.msg).collect()))
    }

    /// Empties the queues of peers that are not written to. Returns how many messages each lost.
    /// They count as a bundle that was lost, so that the peer can tell that something is missing.
    pub fn drop_unreachable(&mut self, live: &[Node]) -> Vec<(Node, u32)> {
        let mut lost = Vec::new();
        for (node, peer) in &mut self.rows {
            if !peer.queue.is_empty() && live.binary_search(node).is_err() {
                lost.push((*node, peer.queue.len() as u32));
                peer.queue.clear();
                peer.sent += 1;
            }
        }
        lost
    }

    fn forget(&mut self, node: Node) -> u32 {
        self.rows.remove(&node).map_or(0, |peer| peer.queue.len() as u32)
    }

    /// A digest of the numbers.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let numbers = |(node, peer): (&Node, &Peer)| (*node, peer.sent, peer.got, peer.queue.len());
        let rows: Vec<_> = self.rows.iter().map(numbers).collect();
        marchland_common::digest::digest_of(&rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::msg::CellToBase;

    #[test]
    fn what_is_dropped_for_a_peer_that_is_away_counts_as_a_bundle_that_was_lost() {
        let (cell, base) = (Node::new(NodeKind::Cell, 1, 1), Node::new(NodeKind::Base, 1, 2));
        let mut peers = Peers::new(cell);
        assert_eq!(peers.hear(base, 1, Tick(5)), Ok(Heard::Next));
        assert_eq!(peers.take_bundle(base, 100), Some((1, Vec::new())));
        assert!(peers.send(base, Msg::CellToBase(CellToBase::Listed { question: 1 }), Tick(6)));
        assert_eq!(peers.drop_unreachable(&[]), [(base, 1)]);
        assert_eq!(peers.take_bundle(base, 100), Some((3, Vec::new())));
        assert_eq!(peers.drop_unreachable(&[]), [], "nothing was waiting");
        assert_eq!(peers.take_bundle(base, 100), Some((4, Vec::new())));
    }
}
