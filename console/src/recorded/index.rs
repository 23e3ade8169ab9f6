//! Where each record of a folder is: by process and tick, with the number of its first event.

use marchland_common::order::Node;
use marchland_observe::Journals;
use std::ops::Range;

/// One life's records.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) node: Node,
    /// The tick of each record that reads, with its number in the journal. Never falls.
    ticks: Vec<(u64, u32)>,
    /// The number of each record's first event.
    firsts: Vec<u64>,
}

impl Life {
    /// The records from a tick to a tick, as places in here.
    pub(super) fn span(&self, from: u64, to: u64) -> Range<usize> {
        let start = self.ticks.partition_point(|(tick, _)| *tick < from);
        let end = self.ticks.partition_point(|(tick, _)| *tick <= to);
        start..end.max(start)
    }

    /// The tick, the number in the journal, and the number of the first event of a record.
    pub(super) fn at(&self, place: usize) -> (u64, u32, u64) {
        let (tick, record) = self.ticks[place];
        (tick, record, self.firsts[place])
    }

    pub(super) fn first_tick(&self) -> Option<u64> {
        self.ticks.first().map(|(tick, _)| *tick)
    }

    pub(super) fn last_tick(&self) -> Option<u64> {
        self.ticks.last().map(|(tick, _)| *tick)
    }
}

/// Reads every record once.
pub(super) fn index(journals: &Journals) -> Vec<Life> {
    let life = |process: &marchland_observe::Process| {
        let (mut ticks, mut firsts) = (Vec::new(), Vec::new());
        let (mut next, mut latest) = (0, 0);
        for number in 0..process.len() {
            let Some(record) = process.record(number) else { continue };
            // A journal whose ticks fall is damaged; what it says is shown where it stands.
            latest = latest.max(record.tick.0);
            ticks.push((latest, u32::try_from(number).unwrap_or(u32::MAX)));
            firsts.push(next);
            next += record.events.len() as u64;
        }
        Life { node: process.node(), ticks, firsts }
    };
    journals.processes().iter().map(life).collect()
}
