//! The verdict on a run: a pure function from journals, and the logs beside them, to the invariants
//! that hold in them.
//!
//! One pass over the merged order feeds every event to the rules that want it. A rule accuses only
//! with facts in hand: the absence of something counts only where the journal that should hold it
//! is whole. Whatever keeps the verdict from being a verdict makes it `incomplete`, never `pass`.

mod completeness;
mod lineage;
mod options;
mod pass;
mod rules;
mod state;
#[cfg(test)]
mod tests;
mod verdict;

pub use options::AuditOptions;
pub use rules::{Invariant, invariants};
pub use verdict::{InvariantCount, Outcome, Verdict, Violation};

pub(crate) use lineage::{Accepted, Cut, CutWhat, FIRST, Grown, Line, Mark, Ownership, What};
pub(crate) use pass::{Cx, Here, Moments, Watch};
pub(crate) use verdict::Findings;

use crate::journals::Journals;
use crate::summary::Summary;

/// Checks every invariant of the table.
#[must_use]
pub fn audit(journals: &Journals, options: &AuditOptions) -> Verdict {
    judge(journals, options).0
}

/// The verdict and the figures of a run, in one pass.
#[must_use]
pub fn judge(journals: &Journals, options: &AuditOptions) -> (Verdict, Summary) {
    pass::run(journals, options)
}
