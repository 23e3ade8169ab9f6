//! What a process says about itself: logs to standard error, counters for its health answer.
//!
//! Invariants: standard output is never written to; a place in the code warns at most once a
//! second through [`warn_rarely!`](crate::warn_rarely); standard error that cannot be written, for
//! it may be a file on a full disk, stops nobody.

mod counters;
mod warn;

pub use counters::{Counter, Counters};
pub use warn::WarnSite;

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error: readable on a terminal, one JSON object a line elsewhere.
/// `filter` is what to show (`info`, `marchland_runtime=debug`); the environment's `MARCH_LOG`
/// comes before it. Returns false when the process logs already.
pub fn init_logging(filter: &str) -> bool {
    let from_env = std::env::var("MARCH_LOG").ok();
    let wanted = from_env.as_deref().unwrap_or(filter);
    let filter = EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would say so on standard error, and panic because it cannot.
        .log_internal_errors(false)
        .with_target(false);
    match std::io::stderr().is_terminal() {
        true => builder.compact().try_init().is_ok(),
        false => builder.json().flatten_event(true).try_init().is_ok(),
    }
}
