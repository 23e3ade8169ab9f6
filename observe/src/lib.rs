//! What happened in a cluster, from the journals of its processes and the logs of its bases: the
//! merged order of events, what could have caused what, a verdict on the invariants that the product
//! promises, and the figures of a run.
//!
//! Everything here is a pure function of journals and logs; only [`load`] touches a disk. No clock is
//! trusted: the order is that of each process and that of bundles between processes, and two
//! events that neither connects are concurrent.

mod audit;
pub mod causal;
pub mod diff;
pub mod facts;
mod journals;
mod merge;
mod order;
mod summary;
#[cfg(test)]
mod testing;
pub mod trace;

pub use audit::{
    AuditOptions, Invariant, InvariantCount, Outcome, Verdict, Violation, audit, invariants, judge,
};
pub use journals::{BaseLog, Break, Follow, Journals, LoadError, Process, Start, load};
pub use order::{
    Columns, ExcerptLine, Line, Lines, Live, ORDER_RULES, OrderFilter, columns, excerpt, order,
};
pub use summary::{CommandFigures, HandoffFigures, Summary, summary};
