//! Which record sent which bundle.

use rustc_hash::FxHashMap;

/// The bundles of every ordered pair of processes, by number.
#[derive(Debug, Default)]
pub struct Channels(FxHashMap<(u32, u32), Vec<(u64, u32)>>);

impl Channels {
    /// Notes that a record sent a bundle. A number that does not grow is left out: its rule is
    /// another room's.
    pub fn note(&mut self, from: u32, to: u32, n: u64, record: u32) {
        let sent = self.0.entry((from, to)).or_default();
        if sent.last().is_none_or(|(last, _)| *last < n) {
            sent.push((n, record));
        }
    }

    /// The newest number that was sent; 0 before the first.
    #[must_use]
    pub fn last(&self, from: u32, to: u32) -> u64 {
        self.0.get(&(from, to)).and_then(|sent| sent.last()).map_or(0, |(n, _)| *n)
    }

    /// The record that sent a bundle.
    #[must_use]
    pub fn record_of(&self, from: u32, to: u32, n: u64) -> Option<u32> {
        let sent = self.0.get(&(from, to))?;
        sent.binary_search_by_key(&n, |(n, _)| *n).ok().map(|at| sent[at].1)
    }
}
