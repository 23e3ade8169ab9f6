//! The journals of a run, in memory.

use marchland_common::journal::{
    BundleRef, Event, JournalHeader, Record, TickRecord, encode_record,
};
use marchland_common::msg::{Frame, Outgoing};
use marchland_common::order::{Node, Tick};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Chronicle {
    journals: BTreeMap<Node, Vec<Record>>,
}

pub(crate) fn received(frames: &[Frame]) -> Vec<BundleRef> {
    frames
        .iter()
        .map(|f| BundleRef { peer: f.from, n: f.bundle.n, src_tick: f.bundle.src_tick })
        .collect()
}

pub(crate) fn sent(bundles: &[Outgoing]) -> Vec<BundleRef> {
    bundles
        .iter()
        .map(|o| BundleRef { peer: o.to, n: o.bundle.n, src_tick: o.bundle.src_tick })
        .collect()
}

impl Chronicle {
    /// Begins the journal of a life; with a snapshot of its core where a replay is to begin there.
    pub(crate) fn open(&mut self, node: Node, seed: u64, snapshot: Option<Vec<u8>>) {
        let header = JournalHeader {
            cluster: 1,
            node,
            build: "simulated".to_owned(),
            schema: marchland_frontier_core::kinds().schema_hash(),
            seed,
            config: String::new(),
            segment: 0,
            wall_ms: 0,
        };
        let snapshot = snapshot.map(|bytes| Record::Snapshot(bytes.into()));
        let records = std::iter::once(Record::Header(header)).chain(snapshot);
        self.journals.insert(node, records.collect());
    }

    pub(crate) fn tick(&mut self, node: Node, record: TickRecord) {
        self.journals.entry(node).or_default().push(Record::Tick(record));
    }

    /// Facts of a process without a core.
    pub(crate) fn facts(&mut self, node: Node, tick: Tick, events: Vec<Event>) {
        self.tick(node, TickRecord::without_core(tick, events));
    }

    pub(crate) fn close(mut self) -> Vec<(Node, Vec<Record>)> {
        for records in self.journals.values_mut() {
            records.push(Record::End { why: "the run is over".to_owned() });
        }
        self.journals.into_iter().collect()
    }
}

/// One number for a whole run: equal exactly when every record of every process is.
pub(crate) fn trace_of(journals: &[(Node, Vec<Record>)]) -> u64 {
    let mut trace = 0u64;
    for record in journals.iter().flat_map(|(_, records)| records) {
        let bytes = encode_record(record).unwrap_or_default();
        trace = trace.rotate_left(5) ^ marchland_common::digest::digest_bytes(&bytes);
    }
    trace
}
