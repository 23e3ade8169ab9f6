//! The numbers of facts: each journal counts its own from 0, in the order in which it tells them: in
//! each record the bundles that it took in, its events, the bundles that it sent.

use super::{At, Step};

/// Where a record begins in the count of its journal, and where its events do.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    fact: u64,
    event: u64,
}

/// Where each record begins in the count of its journal, and where it stands in the merged order.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// For each process, by record.
    firsts: Vec<Vec<First>>,
    /// The number of the next fact of each process.
    next: Vec<u64>,
    /// For each process and record: its place in the merged order.
    places: Vec<Vec<u32>>,
    steps: u32,
}

impl Numbers {
    /// For journals whose first facts have these numbers.
    #[must_use]
    pub fn from(next: Vec<u64>) -> Self {
        let processes = next.len();
        let (firsts, places) = (vec![Vec::new(); processes], vec![Vec::new(); processes]);
        Self { firsts, next, places, steps: 0 }
    }

    /// Takes in the next record of the merged order.
    pub fn note(&mut self, step: &Step<'_>) {
        let (proc, record) = (step.proc as usize, step.record as usize);
        let moment = &step.moment;
        let fact = self.next[proc];
        let event = fact + moment.received.len() as u64;
        // Records that did not decode are passed over and have no facts.
        self.firsts[proc].resize(record, First { fact, event: fact });
        self.firsts[proc].push(First { fact, event });
        self.next[proc] = event + (moment.events.len() + moment.sent.len()) as u64;
        self.places[proc].resize(record, self.steps);
        self.places[proc].push(self.steps);
        self.steps += 1;
    }

    /// The number of an event; of a record, that of its first fact.
    #[must_use]
    pub fn of(&self, at: At) -> u64 {
        let first = self.firsts[at.proc as usize].get(at.record as usize);
        let First { fact, event } = first.copied().unwrap_or_default();
        match at.event {
            At::RECORD => fact,
            within => event + u64::from(within),
        }
    }

    /// What events are sorted by to stand in the merged order.
    #[must_use]
    pub fn place(&self, at: At) -> (u32, u32) {
        let places = &self.places[at.proc as usize];
        (places.get(at.record as usize).copied().unwrap_or(u32::MAX), at.event)
    }
}
