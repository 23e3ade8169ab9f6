//! Warnings that cannot flood a log: at most one a second from each place, the rest is counted.

use crate::tick::monotonic_ns;
use std::sync::atomic::{AtomicU64, Ordering};

/// The state of one place that warns.
#[derive(Debug)]
pub struct WarnSite {
    /// When it may speak again, in monotonic nanoseconds.
    next_ns: AtomicU64,
    held_back: AtomicU64,
}

/// Nanoseconds between two warnings of one place.
const INTERVAL_NS: u64 = 1_000_000_000;

impl WarnSite {
    /// A place that has not warned yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { next_ns: AtomicU64::new(0), held_back: AtomicU64::new(0) }
    }

    /// Whether this place may warn now; then, how many times it was held back since it last did.
    pub fn pass(&self) -> Option<u64> {
        self.pass_at(monotonic_ns())
    }

    fn pass_at(&self, now_ns: u64) -> Option<u64> {
        let next_ns = self.next_ns.load(Ordering::Relaxed);
        let mine = now_ns >= next_ns
            && self
                .next_ns
                .compare_exchange(
                    next_ns,
                    now_ns.saturating_add(INTERVAL_NS),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if mine {
            return Some(self.held_back.swap(0, Ordering::Relaxed));
        }
        self.held_back.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl Default for WarnSite {
    fn default() -> Self {
        Self::new()
    }
}

/// Like `tracing::warn!`, at most once a second for each place in the code; `held_back` says how
/// many were swallowed in between.
#[macro_export]
macro_rules! warn_rarely {
    ($($arg:tt)*) => {{
        static SITE: $crate::telemetry::WarnSite = $crate::telemetry::WarnSite::new();
        if let Some(held_back) = SITE.pass() {
            ::tracing::warn!(held_back, $($arg)*);
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_speaks_once_a_second_and_counts_what_it_held_back() {
        let site = WarnSite::new();
        assert_eq!(site.pass_at(1), Some(0));
        assert_eq!((1..1_000).filter_map(|ms| site.pass_at(ms * 1_000_000)).count(), 0);
        assert_eq!(site.pass_at(1_000_000_001), Some(999));
        assert_eq!(site.pass_at(1_500_000_000), None);
    }
}
