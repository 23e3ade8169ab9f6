//! Where each record of a folder is: by process and tick, with the number of the first thing in it.

use crate::pages::{Life, things_in};
use marchland_common::journal::TickRecord;
use marchland_common::order::Node;
use marchland_observe::{Journals, Process};
use std::borrow::Cow;
use std::ops::Range;

/// One life's records.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) node: Node,
    /// The tick of each record that reads, with its number in the journal. Never falls.
    ticks: Vec<(u64, u32)>,
    /// The number of the first thing in each record.
    firsts: Vec<u64>,
}

impl Index {
    pub(super) fn first_tick(&self) -> Option<u64> {
        self.ticks.first().map(|(tick, _)| *tick)
    }

    pub(super) fn last_tick(&self) -> Option<u64> {
        self.ticks.last().map(|(tick, _)| *tick)
    }
}

/// A life's records with where they are.
pub(super) struct RecordedLife<'a> {
    pub(super) process: &'a Process,
    pub(super) index: &'a Index,
}

impl Life for RecordedLife<'_> {
    fn node(&self) -> Node {
        self.index.node
    }

    fn span(&self, from: u64, to: u64) -> Range<usize> {
        let start = self.index.ticks.partition_point(|(tick, _)| *tick < from);
        let end = self.index.ticks.partition_point(|(tick, _)| *tick <= to);
        start..end.max(start)
    }

    fn tick(&self, place: usize) -> u64 {
        self.index.ticks[place].0
    }

    fn read(&self, place: usize) -> Option<(u64, Cow<'_, TickRecord>)> {
        let (_, number) = self.index.ticks[place];
        Some((self.index.firsts[place], self.process.record(number as usize)?))
    }

    fn gaps(&self) -> Vec<(u64, u64, String)> {
        let (first, last) = (self.index.first_tick(), self.index.last_tick());
        let span = (first.unwrap_or(0), last.unwrap_or(0));
        let told = self.process.gaps().iter();
        let told =
            told.map(|(from, to)| (*from, *to, "its journal could not keep them".to_owned()));
        let faults = self.process.faults().iter();
        told.chain(faults.map(|fault| (span.0, span.1, fault.clone()))).collect()
    }
}

/// Reads every record once.
pub(super) fn index(journals: &Journals) -> Vec<Index> {
    let index = |process: &Process| {
        let (mut ticks, mut firsts) = (Vec::new(), Vec::new());
        let (mut next, mut latest) = (process.first_number(), 0);
        for number in 0..process.len() {
            let Some(record) = process.record(number) else { continue };
            // A journal whose ticks fall is damaged; what it says is shown where it stands.
            latest = latest.max(record.tick.0);
            ticks.push((latest, u32::try_from(number).unwrap_or(u32::MAX)));
            firsts.push(next);
            next += things_in(&record);
        }
        Index { node: process.node(), ticks, firsts }
    };
    journals.processes().iter().map(index).collect()
}
