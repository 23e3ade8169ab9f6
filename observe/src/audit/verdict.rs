//! What an audit says.

use crate::merge::At;
use crate::order::Line;
use marchland_common::order::EntityId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Everything was checked and nothing is violated.
    Pass,
    /// Something is violated, whatever else is missing.
    Fail,
    /// Nothing is violated as far as one can see, and one cannot see enough.
    Incomplete,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Incomplete => "incomplete",
        })
    }
}

/// How often an invariant was checked, and how often it was violated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvariantCount {
    /// Checks.
    pub checked: u64,
    /// Violations.
    pub violations: u64,
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant, by name.
    pub invariant: String,
    /// The entity, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entity: Option<u64>,
    /// What is wrong, for people.
    pub text: String,
    /// The fewest events that show it, in the merged order.
    pub witness: Vec<Line>,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// In one word.
    pub verdict: Outcome,
    /// Every invariant of the table, by name.
    pub invariants: BTreeMap<String, InvariantCount>,
    /// The first violations of each invariant.
    pub violations: Vec<Violation>,
    /// Why the verdict is not complete, for people.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub incomplete: Vec<String>,
    /// Invariants that had nothing to check, by name, and what the journals prove to have not
    /// happened. They do not keep a verdict from being complete.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub not_applicable: BTreeMap<String, String>,
}

impl Verdict {
    /// The names of the violated invariants, in their order.
    #[must_use]
    pub fn violated(&self) -> Vec<&str> {
        let violated = self.invariants.iter().filter(|(_, count)| count.violations > 0);
        violated.map(|(name, _)| name.as_str()).collect()
    }
}

/// What one rule found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Checks made.
    pub checked: u64,
    /// Violations found.
    pub violations: u64,
    /// The first of them.
    pub told: Vec<Found>,
    told_max: usize,
}

/// A violation before its witness is written out.
#[derive(Debug)]
pub(crate) struct Found {
    pub entity: Option<EntityId>,
    pub text: String,
    pub witness: Vec<At>,
}

impl Findings {
    pub fn new(told_max: usize) -> Self {
        Self { told_max, ..Self::default() }
    }

    /// Notes a check; violated unless `holds`. The text is made only when it is told.
    pub fn check(
        &mut self,
        holds: bool,
        entity: impl Into<Option<EntityId>>,
        witness: &[Option<At>],
        text: impl FnOnce() -> String,
    ) {
        self.checked += 1;
        if !holds {
            self.accuse(entity, witness, text);
        }
    }

    /// Notes a violation that a check found on its side.
    pub fn accuse(
        &mut self,
        entity: impl Into<Option<EntityId>>,
        witness: &[Option<At>],
        text: impl FnOnce() -> String,
    ) {
        self.violations += 1;
        if self.told.len() < self.told_max {
            let witness = witness.iter().flatten().copied().collect();
            self.told.push(Found { entity: entity.into(), text: text(), witness });
        }
    }
}
