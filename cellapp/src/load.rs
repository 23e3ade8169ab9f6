//! A load that is declared, for measurements alone: each tick takes at least a share of its step.
//!
//! The thread sleeps through what is missing, so that a machine with few cores can show a cluster
//! of processes that all have much to do. It stands in for work: nothing else waits in a tick.

use marchland_runtime::tick::monotonic_ns;
use std::time::Duration;

/// How long a tick takes at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredLoad {
    least_ns: u64,
}

impl DeclaredLoad {
    /// So many percent of a step. 0 adds nothing.
    pub(crate) const fn new(percent: u8, step_ns: u64) -> Self {
        Self { least_ns: step_ns / 100 * percent as u64 }
    }

    /// Fills a tick that began then.
    pub(crate) fn fill(self, begun_ns: u64) {
        let spent_ns = monotonic_ns().saturating_sub(begun_ns);
        if spent_ns < self.least_ns {
            std::thread::sleep(Duration::from_nanos(self.least_ns - spent_ns));
        }
    }
}
