//! What a process says about itself: logs to standard error, and counters, which its health answer
//! and its metrics present.
//!
//! Invariants: standard output is never written to; a place in the code warns at most once a
//! second through [`warn_rarely!`](crate::warn_rarely); standard error that cannot be written, for
//! it may be a file on a full disk, stops nobody.

mod counters;
mod histogram;
mod logging;
pub mod metrics;
mod warn;

pub use counters::{Counter, Counters, OwnCounters};
pub use histogram::{Counted, Histogram};
pub(crate) use logging::log_tick;
pub use logging::{LogFormat, init_logging, log_as};
pub use warn::WarnSite;
