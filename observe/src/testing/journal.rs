//! The journals as the model writes them, with the bundles between its processes.

use super::{BASES, CELLS, nodes};
use marchland_common::journal::{BundleRef, Event, JournalHeader, Record, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{Incarnation, Node, Tick};
use std::collections::{BTreeMap, BTreeSet};

/// Every process's journal, and the bundles that are on their way.
pub struct Writer {
    nodes: Vec<Node>,
    journals: Vec<Vec<Record>>,
    /// Journals of lives that ended.
    over: Vec<(Node, Vec<Record>)>,
    coming: Vec<Vec<BundleRef>>,
    sent: BTreeMap<(Node, Node), u64>,
}

impl Writer {
    pub fn new() -> Self {
        let nodes = nodes();
        let journals = nodes.iter().map(|node| vec![header(*node)]).collect();
        let coming = vec![Vec::new(); nodes.len()];
        Self { nodes, journals, over: Vec::new(), coming, sent: BTreeMap::new() }
    }

    pub fn node(&self, at: usize) -> Node {
        self.nodes[at]
    }

    /// Writes one output moment. It takes in what has come; a server then sends to all others.
    pub fn write(&mut self, at: usize, tick: Tick, moment: Moment, events: Vec<Event>) {
        let received = std::mem::take(&mut self.coming[at]);
        let me = self.nodes[at];
        let mut sent = Vec::new();
        for to in (0..CELLS + BASES).filter(|to| *to != at && at < CELLS + BASES) {
            let peer = self.nodes[to];
            let n = self.sent.entry((me, peer)).or_default();
            *n += 1;
            sent.push(BundleRef { peer, n: *n, src_tick: tick });
            self.coming[to].push(BundleRef { peer: me, n: *n, src_tick: tick });
        }
        let plain = TickRecord::without_core(tick, events);
        let record = TickRecord { moment, received, sent, ..plain };
        self.journals[at].push(Record::Tick(record));
    }

    /// A process is killed and comes back as another life.
    pub fn restart(&mut self, at: usize) {
        let old = self.nodes[at];
        self.nodes[at].incarnation = Incarnation(old.incarnation.0 + 100);
        let fresh = vec![header(self.nodes[at])];
        self.over.push((old, std::mem::replace(&mut self.journals[at], fresh)));
        self.coming[at].clear();
    }

    pub fn killed(&self) -> BTreeSet<Node> {
        self.over.iter().map(|(node, _)| *node).collect()
    }

    /// All journals, ended in order but for killed lives.
    pub fn end(self) -> Vec<(Node, Vec<Record>)> {
        let mut out = self.over;
        // Who was lost and did not come back has no journal of a next life.
        let began = self.nodes.into_iter().zip(self.journals).filter(|(_, r)| r.len() > 1);
        for (node, mut records) in began {
            records.push(Record::End { why: "the history is over".to_owned() });
            out.push((node, records));
        }
        out
    }
}

fn header(node: Node) -> Record {
    Record::Header(JournalHeader {
        cluster: 1,
        node,
        build: "model".to_owned(),
        schema: 1,
        seed: 0,
        config: String::new(),
        segment: 0,
        wall_ms: 0,
    })
}
