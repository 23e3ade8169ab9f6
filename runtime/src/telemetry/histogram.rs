//! A histogram that the tick thread writes and others read, without a lock between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One histogram. Clones share it.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The largest value of each bucket but the last, which has no end; ascending.
    bounds: &'static [u64],
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    /// What a value of 1 means in the unit that is shown.
    unit: f64,
}

/// What a histogram held, in the unit that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The sum of all values.
    pub sum: f64,
    /// How many there were.
    pub count: u64,
    /// The largest value of each bucket and how many fell into it, not added up. The last bucket ends
    /// at [`f64::INFINITY`].
    pub buckets: Vec<(f64, u64)>,
}

impl Histogram {
    /// An empty one. `bounds` ascend; a value of 1 is shown as `unit`.
    #[must_use]
    pub fn new(bounds: &'static [u64], unit: f64) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner { bounds, buckets, sum: AtomicU64::new(0), unit }))
    }

    /// Takes a value in.
    pub fn record(&self, value: u64) {
        let Inner { bounds, buckets, sum, .. } = &*self.0;
        buckets[bounds.partition_point(|bound| *bound < value)].fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What it holds. Values that come in meanwhile may be in it or not.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn counted(&self) -> Counted {
        let Inner { bounds, buckets, sum, unit } = &*self.0;
        let shown = bounds.iter().map(|bound| *bound as f64 * unit).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> =
            shown.zip(buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed))).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        Counted { sum: sum.load(Ordering::Relaxed) as f64 * unit, count, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it_and_is_shown_in_its_unit() {
        let histogram = Histogram::new(&[10, 20], 0.5);
        let again = histogram.clone();
        [0, 10, 11, 20, 21, 1_000].into_iter().for_each(|value| again.record(value));
        let buckets = vec![(5.0, 2), (10.0, 2), (f64::INFINITY, 2)];
        assert_eq!(histogram.counted(), Counted { sum: 531.0, count: 6, buckets });
    }
}
