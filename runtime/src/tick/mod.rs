//! The tick thread: a plain thread with absolute deadlines on the monotonic clock, the one owner
//! of a core.
//!
//! ```text
//!  wait for peers or the key -> [ due ticks -> idle: wake moments, at most 3 -> deadline ] -> stop
//! ```
//!
//! Invariants:
//! - Tick numbers only grow; each is run once or lies in exactly one record of dropped ticks.
//! - The deadline of tick n is origin + n steps + phase, whatever was late before it: nothing
//!   drifts, nothing bursts. What may not be caught up is dropped, by the pure clock's policy.
//! - The thread waits in one place, [`Waker`], until a deadline, a wake or the stop.
//! - Between two ticks it is woken for at most three moments; further wakes wait for the next.

mod align;
mod figures;
mod run;
mod time;
mod waker;

pub use align::{Origin, SuspendWatch, origin_of_calendar};
pub use figures::{Figures, Spans};
pub use run::{TickConfig, TickError, TickLoop, TickNow, TickProcess, TickSummary};
pub use time::{Monotonic, SharedClock, boottime_ns, calendar_ms, monotonic_ns};
pub use waker::Waker;
