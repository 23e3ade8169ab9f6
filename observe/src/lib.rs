//! What happened in a cluster, from the journals of its processes and the logs of its bases: the
//! merged order of events, what could have caused what, a verdict on the invariants that the product
//! promises, and the figures of a run.
//!
//! Everything here is a pure function of journals and logs; only [`load`] touches a disk. No clock is
//! trusted: the order is that of each process and that of bundles between processes, and two
//! events that neither connects are concurrent.

mod audit;
pub mod causal;
pub mod facts;
mod journals;
mod merge;
mod order;
mod summary;
#[cfg(test)]
mod testing;

pub use audit::{
    AuditOptions, Invariant, InvariantCount, Outcome, Verdict, Violation, audit, invariants, judge,
};
pub use journals::{BaseLog, Break, Journals, LoadError, Process, Start, load};
pub use order::{Line, Lines, OrderFilter, columns, order};
pub use summary::{CommandFigures, HandoffFigures, Summary, summary};
