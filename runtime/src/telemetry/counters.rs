//! Named counters of a process: every refusal and every drop is one of them.

use super::Histogram;
use super::metrics::Sheet;
use marchland_common::journal::Refused;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the counters of what was refused begin.
const REFUSED: &str = "refused_";

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

#[derive(Debug, Default)]
struct All {
    counters: HashMap<String, Counter>,
    /// By family and the labels of each.
    histograms: BTreeMap<(&'static str, Labels), Histogram>,
}

/// The labels of a histogram: names and values.
type Labels = Vec<(&'static str, &'static str)>;

/// All counters of a process by name. Clones share them. A name is looked up once and its
/// [`Counter`] kept: the map is not for hot paths, and its lock not for the tick thread.
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<Mutex<All>>);

impl Counters {
    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counter with this name, made if there is none.
    #[must_use]
    pub fn counter(&self, name: &str) -> Counter {
        let mut all = self.all();
        if let Some(known) = all.counters.get(name) {
            return known.clone();
        }
        all.counters.entry(name.to_owned()).or_default().clone()
    }

    /// The histogram of a family with these labels, made as `new` says if there is none. It is shown
    /// among the metrics alone.
    #[must_use]
    pub fn histogram(
        &self,
        family: &'static str,
        labels: &[(&'static str, &'static str)],
        new: impl FnOnce() -> Histogram,
    ) -> Histogram {
        self.all().histograms.entry((family, labels.to_vec())).or_insert_with(new).clone()
    }

    /// All of them, as the operator sees them.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, u64> {
        self.all().counters.iter().map(|(name, counter)| (name.clone(), counter.get())).collect()
    }

    /// All histograms, as they are shown among the metrics.
    pub(super) fn show_histograms(&self, sheet: &mut Sheet) {
        let all = self.all().histograms.clone();
        for ((family, labels), histogram) in all {
            sheet.histogram(family, &labels, histogram.counted());
        }
    }
}

/// The counters of one thread that never waits: a name is looked up among the others' once, when it
/// is used for the first time.
#[derive(Debug)]
pub struct OwnCounters {
    all: Counters,
    known: RefCell<HashMap<&'static str, Counter>>,
    refused: RefCell<HashMap<&'static str, Counter>>,
}

impl OwnCounters {
    /// Of a process with these counters.
    #[must_use]
    pub fn of(all: Counters) -> Self {
        Self { all, known: RefCell::default(), refused: RefCell::default() }
    }

    /// The counter with this name.
    #[must_use]
    pub fn counter(&self, name: &'static str) -> Counter {
        let mut known = self.known.borrow_mut();
        known.entry(name).or_insert_with(|| self.all.counter(name)).clone()
    }

    /// Counts what was refused or dropped, under `refused_<reason>`.
    pub fn refuse(&self, reason: Refused, count: u64) {
        let name = reason.name();
        let mut refused = self.refused.borrow_mut();
        let new = || self.all.counter(&format!("{REFUSED}{name}"));
        refused.entry(name).or_insert_with(new).add(count);
    }

    /// Those of the whole process.
    #[must_use]
    pub const fn all(&self) -> &Counters {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_counter_wherever_it_is_asked_for() {
        let counters = Counters::default();
        let (again, own) = (counters.clone(), OwnCounters::of(counters.clone()));
        counters.counter("frames").add(2);
        again.counter("frames").add(3);
        own.counter("frames").add(1);
        again.counter("lag").raise(7);
        own.counter("lag").raise(5);
        own.refuse(Refused::QueueFull, 4);
        own.refuse(Refused::QueueFull, 1);
        let expected = [("frames", 6), ("lag", 7), ("refused_queue_full", 5)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(counters.snapshot(), BTreeMap::from(expected));
    }
}
