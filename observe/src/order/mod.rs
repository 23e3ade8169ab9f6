//! Which of two events came first: before, after, or neither.

mod columns;
mod lines;
#[cfg(test)]
mod tests;

pub use columns::columns;
pub use lines::{Line, Lines, OrderFilter, order};
pub(crate) use lines::{line_at, moment_line};

use crate::journals::Journals;
use crate::merge::{At, Clocks, Numbers, Walk};
use marchland_common::order::Node;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of an event: whose it is, and its number in that journal, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// The life.
    pub node: Node,
    /// The number.
    pub n: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.n)
    }
}

/// How two events are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// The same event.
    Same,
    /// The first could have caused the second.
    Before,
    /// The second could have caused the first.
    After,
    /// Neither; they may show up in either order.
    Concurrent,
}

/// The order of all events of some journals.
#[derive(Debug)]
pub struct Order<'a> {
    journals: &'a Journals,
    clocks: Clocks,
    numbers: Numbers,
}

impl<'a> Order<'a> {
    /// Reads all journals once.
    #[must_use]
    pub fn of(journals: &'a Journals) -> Self {
        let mut walk = Walk::new(journals);
        let mut numbers = Numbers::new(journals.processes().len());
        walk.by_ref().for_each(|step| numbers.note(&step));
        Self { journals, clocks: walk.into_clocks(), numbers }
    }

    /// How two events are to each other; none if one of them is not in the journals.
    #[must_use]
    pub fn relation(&self, a: EventId, b: EventId) -> Option<Relation> {
        let (at_a, at_b) = (self.find(a)?, self.find(b)?);
        Some(match () {
            () if at_a == at_b => Relation::Same,
            () if self.clocks.before(at_a, at_b) => Relation::Before,
            () if self.clocks.before(at_b, at_a) => Relation::After,
            () => Relation::Concurrent,
        })
    }

    fn find(&self, event: EventId) -> Option<At> {
        let processes = self.journals.processes();
        let proc = processes.iter().position(|process| process.node() == event.node)?;
        self.numbers.find(proc as u32, event.n)
    }
}
