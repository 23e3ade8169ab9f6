//! Where monotonic nanoseconds come from. A shell implements [`TimeSource`] over the operating
//! system's clock and reads it in one place; tests and the simulator use [`FakeTime`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of monotonic nanoseconds, counted from any fixed moment.
pub trait TimeSource {
    /// Nanoseconds since the source's own zero. Meant never to decrease; readers must survive it
    /// when it does.
    fn now_ns(&self) -> u64;
}

/// Time that moves only when told to. Clones share one hand, so that a test keeps one and gives the
/// other away.
#[derive(Clone, Debug, Default)]
pub struct FakeTime {
    now_ns: Arc<AtomicU64>,
}

impl FakeTime {
    /// A clock that shows `start_ns`.
    #[must_use]
    pub fn new(start_ns: u64) -> Self {
        Self { now_ns: Arc::new(AtomicU64::new(start_ns)) }
    }

    /// Moves the hand forward; it stops at the largest value.
    pub fn advance(&self, by_ns: u64) {
        self.set(self.now_ns().saturating_add(by_ns));
    }

    /// Moves the hand back, as a broken clock would; it stops at zero.
    pub fn rewind(&self, by_ns: u64) {
        self.set(self.now_ns().saturating_sub(by_ns));
    }

    /// Puts the hand anywhere.
    pub fn set(&self, now_ns: u64) {
        self.now_ns.store(now_ns, Ordering::Relaxed);
    }
}

impl TimeSource for FakeTime {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }
}
