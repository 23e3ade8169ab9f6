//! Watching over the members while this manager leads: everybody is asked again and again, what
//! they know of each other is put together, and who is lost is given up.

mod bench;
mod board;
mod prober;
mod roster;

pub(crate) use bench::{Bench, Findings};
pub(crate) use roster::Roster;

/// Milliseconds of this machine's monotonic clock.
fn now_ms() -> u64 {
    marchland_runtime::tick::monotonic_ns() / 1_000_000
}
