//! Named counters of a process: every refusal and every drop is one of them.

use marchland_common::journal::Refused;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One counter or gauge. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds to it.
    pub fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    /// Replaces it, where it is a gauge.
    pub fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    /// Keeps the larger of what it holds and `value`.
    pub fn raise(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// Its value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All counters of a process by name. Clones share them. A name is looked up once and its
/// [`Counter`] kept: the map is not for hot paths.
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<Mutex<HashMap<String, Counter>>>);

impl Counters {
    /// The counter with this name, made if there is none.
    #[must_use]
    pub fn counter(&self, name: &str) -> Counter {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(name) {
            return known.clone();
        }
        all.entry(name.to_owned()).or_default().clone()
    }

    /// Counts what was refused or dropped, under `refused_<reason>`.
    pub fn refuse(&self, reason: Refused, count: u64) {
        self.counter(&format!("refused_{}", reason.name())).add(count);
    }

    /// All of them, as the operator sees them.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(name, counter)| (name.clone(), counter.get())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_counter_wherever_it_is_asked_for() {
        let counters = Counters::default();
        let again = counters.clone();
        counters.counter("frames").add(2);
        again.counter("frames").add(3);
        again.counter("lag").raise(7);
        again.counter("lag").raise(5);
        counters.refuse(Refused::QueueFull, 4);
        let expected = [("frames", 5), ("lag", 7), ("refused_queue_full", 4)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(counters.snapshot(), BTreeMap::from(expected));
    }
}
