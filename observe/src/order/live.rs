//! The merged order while journals are still written.
//!
//! Records are merged once every process has written the tick after theirs, or has been silent for so
//! long that the others are not made to wait. A bundle that comes even later makes no earlier line.

use super::{Line, OrderFilter, order};
use crate::journals::Journals;
use marchland_common::journal::{Record, TickRecord};
use marchland_common::order::{Node, NodeKind, Tick};
use std::collections::{BTreeMap, VecDeque};

/// Ticks that are kept for the causes of later lines.
const KEPT_TICKS: u64 = 20;
/// Most records of one process that wait for the others. What is over is merged without them.
const WAIT_MAX: usize = 4_096;

/// One life that is written.
#[derive(Default)]
struct Life {
    records: VecDeque<TickRecord>,
    /// The number of the first fact that is kept.
    first: u64,
    /// The number of the first fact that was not shown.
    unseen: u64,
    newest: Tick,
    ended: bool,
}

impl Life {
    fn drop_first(&mut self) {
        if let Some(record) = self.records.pop_front() {
            self.first += facts_in(&record);
        }
    }
}

/// See the module.
pub struct Live {
    filter: OrderFilter,
    lives: BTreeMap<Node, Life>,
    /// Everything up to here was merged.
    merged: Option<Tick>,
    /// Whether what comes happened before anybody looked.
    skips: bool,
}

fn facts_in(record: &TickRecord) -> u64 {
    (record.received.len() + record.events.len() + record.sent.len()) as u64
}

impl Live {
    /// Shows what passes the filter.
    #[must_use]
    pub const fn new(filter: OrderFilter) -> Self {
        Self { filter, lives: BTreeMap::new(), merged: None, skips: false }
    }

    /// The same, but nothing of what comes before [`Live::begin`].
    #[must_use]
    pub const fn from_now(filter: OrderFilter) -> Self {
        Self { filter, lives: BTreeMap::new(), merged: None, skips: true }
    }

    /// From here on everything is shown.
    pub fn begin(&mut self) {
        self.skips = false;
        for life in self.lives.values_mut() {
            life.unseen = life.first + life.records.iter().map(facts_in).sum::<u64>();
        }
    }

    /// Takes the next record of a life. Records of one life come in their order, from its first one
    /// on, so that facts have the numbers that they have in the journal.
    pub fn push(&mut self, node: Node, record: Record) {
        let life = self.lives.entry(node).or_default();
        match record {
            Record::Tick(record) => {
                life.newest = life.newest.max(record.tick);
                let facts = facts_in(&record);
                let old = Tick(life.newest.0.saturating_sub(KEPT_TICKS));
                while self.skips && life.records.front().is_some_and(|first| first.tick < old) {
                    life.drop_first();
                }
                if self.filter.from.is_some_and(|from| record.tick < from)
                    && life.records.is_empty()
                {
                    // Nobody will ask for it; only its numbers count.
                    life.first += facts;
                    life.unseen = life.first;
                } else {
                    life.records.push_back(record);
                }
            }
            Record::End { .. } => life.ended = true,
            Record::Header(_) | Record::Snapshot(_) | Record::Gap { .. } => {}
        }
    }

    /// Whether all lives have ended in order.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.lives.is_empty() && self.lives.values().all(|life| life.ended)
    }

    /// The newest tick of a server.
    #[must_use]
    pub fn newest(&self) -> Tick {
        let servers = self.lives.iter().filter(|(node, _)| node.name.kind != NodeKind::Client);
        servers.map(|(_, life)| life.newest).max().unwrap_or_default()
    }

    /// Up to which tick everybody has written everything that is not silent since `silent`.
    fn ready(&self, silent: u64) -> Option<Tick> {
        let newest = self.newest();
        let servers = self.lives.iter().filter(|(node, _)| node.name.kind != NodeKind::Client);
        let speaking = servers
            .filter(|(_, life)| !life.ended && life.newest.0.saturating_add(silent) >= newest.0);
        let slowest = speaking.map(|(_, life)| life.newest).min().unwrap_or(newest);
        let crowded = self.lives.values().any(|life| life.records.len() > WAIT_MAX);
        match (crowded, self.is_over()) {
            (true, _) | (_, true) => Some(newest),
            (false, false) => slowest.0.checked_sub(1).map(Tick),
        }
    }

    /// The lines that are new, when processes that are `silent` ticks behind are waited for no more.
    pub fn lines(&mut self, silent: u64) -> Vec<Line> {
        let Some(ready) = self.ready(silent) else { return Vec::new() };
        if self.merged.is_some_and(|merged| ready <= merged) && !self.is_over() {
            return Vec::new();
        }
        self.merged = Some(ready);
        let window = self.lives.iter().map(|(node, life)| {
            let is_client = node.name.kind == NodeKind::Client;
            let due = life.records.iter().filter(|record| is_client || record.tick <= ready);
            (*node, life.first, due.cloned().map(Record::Tick).collect())
        });
        let journals = Journals::from_windows(window.collect());
        let mut lines: Vec<Line> = Vec::new();
        let names: BTreeMap<String, Node> =
            self.lives.keys().map(|node| (node.to_string(), *node)).collect();
        for line in order(&journals, &self.filter) {
            let node = names.get(&format!("{}@{}", line.proc, line.inc));
            let life = node.and_then(|node| self.lives.get(node));
            if life.is_some_and(|life| line.n >= life.unseen) {
                lines.push(line);
            }
        }
        self.forget(&journals, ready);
        lines
    }

    /// Drops what no later line can follow from.
    fn forget(&mut self, journals: &Journals, ready: Tick) {
        for process in journals.processes() {
            let Some(life) = self.lives.get_mut(&process.node()) else { continue };
            let records = (0..process.len()).filter_map(|at| process.record(at));
            let shown: u64 = records.map(|record| facts_in(&record)).sum();
            life.unseen = life.unseen.max(life.first + shown);
            let old = |record: &TickRecord| record.tick.0.saturating_add(KEPT_TICKS) < ready.0;
            let mut left = process.len();
            while left > 0 && life.records.front().is_some_and(old) {
                life.drop_first();
                left -= 1;
            }
        }
    }
}
