//! The numbers of events: each journal counts its own from 0, in the order in which it tells them.

use super::{At, Step};

/// Where each record begins in the count of its journal, and where it stands in the merged order.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// For each process and record: the number of its first event; one more at the end.
    firsts: Vec<Vec<u64>>,
    /// For each process and record: its place in the merged order.
    places: Vec<Vec<u32>>,
    steps: u32,
}

impl Numbers {
    /// For this many processes.
    #[must_use]
    pub fn new(processes: usize) -> Self {
        Self { firsts: vec![vec![0]; processes], places: vec![Vec::new(); processes], steps: 0 }
    }

    /// Takes in the next record of the merged order.
    pub fn note(&mut self, step: &Step<'_>) {
        let (proc, record) = (step.proc as usize, step.record as usize);
        let firsts = &mut self.firsts[proc];
        let first = firsts.last().copied().unwrap_or(0);
        // Records that did not decode are passed over and have no events.
        firsts.resize(record + 1, first);
        firsts.push(first + step.moment.events.len() as u64);
        self.places[proc].resize(record, self.steps);
        self.places[proc].push(self.steps);
        self.steps += 1;
    }

    /// The number of an event; of a record, that of its first.
    #[must_use]
    pub fn of(&self, at: At) -> u64 {
        let firsts = &self.firsts[at.proc as usize];
        let within = if at.event == At::RECORD { 0 } else { u64::from(at.event) };
        firsts.get(at.record as usize).copied().unwrap_or(0) + within
    }

    /// The event with a number.
    #[must_use]
    pub fn find(&self, proc: u32, n: u64) -> Option<At> {
        let firsts = self.firsts.get(proc as usize)?;
        if n >= *firsts.last()? {
            return None;
        }
        let record = firsts.partition_point(|first| *first <= n) - 1;
        let within = n - firsts[record];
        Some(At { proc, record: record as u32, event: within as u32 })
    }

    /// What events are sorted by to stand in the merged order.
    #[must_use]
    pub fn place(&self, at: At) -> (u32, u32) {
        let places = &self.places[at.proc as usize];
        (places.get(at.record as usize).copied().unwrap_or(u32::MAX), at.event)
    }
}
