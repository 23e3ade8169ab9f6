//! The figures of a run.

mod figures;
mod intervals;
#[cfg(test)]
mod tests;

pub(crate) use figures::Figures;

use crate::audit::{AuditOptions, judge};
use crate::journals::Journals;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run did, as far as its journals tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Cluster ticks from the first to the last that a cellapp ran.
    pub ticks: u64,
    /// Entities that live at the end.
    pub entities: u64,
    /// Handoffs.
    pub handoffs: HandoffFigures,
    /// Over all committed handoffs: ticks between the last of the old owner in the final lineage
    /// and the first of the new one, in which nobody simulated the entity.
    pub ticks_missed: u64,
    /// Over all committed handoffs: ticks that both owners simulated and that are in the final
    /// lineage. Never more than 0 in a sound run.
    pub ticks_doubled: u64,
    /// Over all entities: ticks in which an owner ran and let the entity stand still, because too
    /// much was not durable.
    pub ticks_frozen: u64,
    /// Steps that owners made and that are not in the final lineage.
    pub ticks_rolled_back: u64,
    /// Over all servers: ticks that were left out.
    pub ticks_dropped: u64,
    /// Over all entities: ticks that two lives simulated at all, whatever became of it.
    pub speculative_doubled: u64,
    /// Commands of clients.
    pub commands: CommandFigures,
    /// Committed handoffs by gap: the first tick of the new owner less the last of the old one. 1
    /// loses nothing.
    pub handoff_gaps: BTreeMap<i64, u64>,
}

/// Counts of handoffs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffFigures {
    /// Ownership changed by a record of the base.
    pub committed: u64,
    /// The owner had frozen the entity and went on with it.
    pub aborted: u64,
    /// Of the committed ones, those that an operator ordered.
    pub ordered: u64,
}

/// Counts of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFigures {
    /// Sent by clients.
    pub sent: u64,
    /// Answered: the method ran.
    pub applied: u64,
    /// Answered: it had no effect.
    pub rejected: u64,
    /// Answered: its deadline had passed.
    pub expired: u64,
    /// Not answered by the end.
    pub unanswered: u64,
}

/// The figures of a run. [`judge`] gives them together with the verdict.
#[must_use]
pub fn summary(journals: &Journals) -> Summary {
    judge(journals, &AuditOptions::default()).1
}
