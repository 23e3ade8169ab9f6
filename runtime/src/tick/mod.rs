//! The tick thread: absolute deadlines on the monotonic clock, one owner of the core.

mod time;

pub use time::{Monotonic, SharedClock, boottime_ns, calendar_ms, monotonic_ns};
