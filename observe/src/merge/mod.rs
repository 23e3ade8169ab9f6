//! One order out of many journals: every record after all that could have caused it.
//!
//! Invariants: a record comes after the record before it in its own journal, after the records
//! that sent the bundles it took in, and, for a base, after its name's earlier lives, whose log it
//! goes on from. Among records that may come next the one with the smallest (tick, moment, name)
//! comes first, so that the order is the same for the same journals. No clock takes part.

mod channels;
mod clocks;
mod numbers;

pub use clocks::{At, Clocks};
pub use numbers::Numbers;

use crate::journals::Journals;
use channels::Channels;
use marchland_common::journal::{BundleRef, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{Node, NodeKind, Tick};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A record in the merged order.
#[derive(Debug)]
pub struct Step<'a> {
    /// Whose, as an index into [`Journals::processes`].
    pub proc: u32,
    /// Which of its records.
    pub record: u32,
    /// The record.
    pub moment: Cow<'a, TickRecord>,
}

/// What the journals say that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A bundle was taken in whose sending is not in its sender's journal.
    NeverSent {
        /// The record that took it in.
        at: At,
        /// Who should have sent it.
        peer: Node,
        /// Its number.
        n: u64,
    },
    /// Records wait for each other in a circle; this one was taken out of turn.
    Circle {
        /// The record.
        at: At,
    },
    /// A record does not decode.
    Undecodable {
        /// The record.
        at: At,
    },
}

struct Head<'a> {
    moment: Cow<'a, TickRecord>,
    key: (Tick, Moment, Node),
}

/// Reads all journals in the merged order.
pub struct Walk<'a> {
    journals: &'a Journals,
    index: FxHashMap<Node, u32>,
    heads: Vec<Option<Head<'a>>>,
    /// How many records of each process were read.
    read: Vec<u32>,
    /// How many of them have a clock.
    begun: Vec<u32>,
    /// The earlier lives of each base.
    before: Vec<Vec<u32>>,
    channels: Channels,
    clocks: Clocks,
    oddities: Vec<Oddity>,
}

impl<'a> Walk<'a> {
    /// Begins at the first records.
    #[must_use]
    pub fn new(journals: &'a Journals) -> Self {
        let processes = journals.processes();
        let nodes = || processes.iter().enumerate().map(|(at, p)| (at as u32, p.node()));
        let earlier = |node: Node| {
            let is_earlier = move |other: &Node| {
                node.name.kind == NodeKind::Base
                    && other.name == node.name
                    && other.incarnation < node.incarnation
            };
            nodes().filter(move |(_, other)| is_earlier(other)).map(|(at, _)| at).collect()
        };
        let mut walk = Self {
            index: nodes().map(|(at, node)| (node, at)).collect(),
            heads: processes.iter().map(|_| None).collect(),
            read: vec![0; processes.len()],
            begun: vec![0; processes.len()],
            before: processes.iter().map(|p| earlier(p.node())).collect(),
            channels: Channels::default(),
            clocks: Clocks::new(journals),
            oddities: Vec::new(),
            journals,
        };
        (0..processes.len()).for_each(|proc| walk.fill(proc));
        walk
    }

    /// The clocks of all records that were read so far.
    #[must_use]
    pub const fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// What was odd so far.
    #[must_use]
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    /// Which process a life is.
    #[must_use]
    pub fn proc(&self, node: Node) -> Option<u32> {
        self.index.get(&node).copied()
    }

    /// Reads the next record of a process into its head.
    fn fill(&mut self, proc: usize) {
        let process = &self.journals.processes()[proc];
        while (self.read[proc] as usize) < process.len() {
            let record = self.read[proc];
            if let Some(moment) = process.record(record as usize) {
                let key = (moment.tick, moment.moment, process.node());
                self.heads[proc] = Some(Head { moment, key });
                return;
            }
            let at = At::record(proc as u32, record);
            self.oddities.push(Oddity::Undecodable { at });
            self.read[proc] += 1;
        }
        self.heads[proc] = None;
    }

    fn is_ready(&self, proc: usize, moment: &TickRecord) -> bool {
        let ended = |other: u32| self.heads[other as usize].is_none();
        let sent = |bundle: &BundleRef| {
            let Some(sender) = self.proc(bundle.peer) else { return true };
            // What its sender's journal has passed without a word will not come any more.
            let head = self.heads[sender as usize].as_ref();
            head.is_none_or(|head| head.moment.tick > bundle.src_tick)
                || self.channels.last(sender, proc as u32) >= bundle.n
        };
        self.before[proc].iter().all(|life| ended(*life)) && moment.received.iter().all(sent)
    }

    fn choose(&self) -> Option<(usize, bool)> {
        let heads = || {
            let heads = self.heads.iter().enumerate();
            heads.filter_map(|(proc, head)| head.as_ref().map(|head| (proc, head)))
        };
        let ready = heads().filter(|(proc, head)| self.is_ready(*proc, &head.moment));
        let first = ready.min_by_key(|(_, head)| head.key).map(|(proc, _)| (proc, true));
        first.or_else(|| heads().min_by_key(|(_, head)| head.key).map(|(proc, _)| (proc, false)))
    }

    fn take(&mut self, proc: usize, in_turn: bool) -> Option<Step<'a>> {
        let moment = self.heads[proc].take()?.moment;
        let (me, record) = (proc as u32, self.read[proc]);
        let at = At::record(me, record);
        if !in_turn {
            self.oddities.push(Oddity::Circle { at });
        }
        // Records that did not decode are passed over, but time did not stand still in them.
        for passed in self.begun[proc]..=record {
            self.clocks.begin(me, passed, &self.before[proc]);
        }
        self.begun[proc] = record + 1;
        for bundle in &moment.received {
            let Some(sender) = self.proc(bundle.peer) else { continue };
            match self.channels.record_of(sender, me, bundle.n) {
                Some(sent_in) => self.clocks.learn(me, record, sender, sent_in),
                None => {
                    let (peer, n) = (bundle.peer, bundle.n);
                    self.oddities.push(Oddity::NeverSent { at, peer, n });
                }
            }
        }
        for bundle in &moment.sent {
            if let Some(receiver) = self.proc(bundle.peer) {
                self.channels.note(me, receiver, bundle.n, record);
            }
        }
        self.read[proc] += 1;
        self.fill(proc);
        Some(Step { proc: me, record, moment })
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let (proc, in_turn) = self.choose()?;
        self.take(proc, in_turn)
    }
}
