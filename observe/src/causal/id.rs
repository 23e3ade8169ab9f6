//! The names of events: `cell-2@7:9911` is the fact with the number 9911 in the journal of that
//! life; `cell-2:9911` means the only life of the name, or the newest.
//!
//! A journal's numbers count from 0 over all its records, and in each record first the bundles that
//! it took in, then its events, then the bundles that it sent. So messages have names too.

use crate::journals::Journals;
use marchland_common::order::{Incarnation, Node, NodeName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name of a fact: whose it is, and its number in that journal, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// The life.
    pub node: Node,
    /// The number.
    pub n: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.n)
    }
}

/// Why a text names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEvent {
    /// It is not of the form of a name.
    #[error("`{0}` is not the name of an event: expected NAME:NUMBER, like cell-2:9911")]
    Malformed(String),
    /// There is no journal of that process.
    #[error("there is no journal of {0}")]
    NoJournal(String),
    /// The journal has no fact of that number.
    #[error("the journal of {node} has no event {n}: its numbers are {from} to {to}")]
    NoSuchNumber {
        /// Whose journal.
        node: Node,
        /// The number.
        n: u64,
        /// The first number that it has.
        from: u64,
        /// The last number that it has.
        to: u64,
    },
}

/// How the lives of some journals are called.
#[derive(Clone, Debug, Default)]
pub struct Names {
    lives: BTreeMap<NodeName, Vec<Incarnation>>,
}

impl Names {
    /// For the lives of these journals.
    #[must_use]
    pub fn of(journals: &Journals) -> Self {
        let mut names = Self::default();
        journals.processes().iter().for_each(|process| names.add(process.node()));
        names
    }

    /// Adds a life.
    pub fn add(&mut self, node: Node) {
        let lives = self.lives.entry(node.name).or_default();
        if let Err(at) = lives.binary_search(&node.incarnation) {
            lives.insert(at, node.incarnation);
        }
    }

    /// A life: by its name alone, where no other one has it.
    #[must_use]
    pub fn node(&self, node: Node) -> String {
        match self.lives.get(&node.name).map_or(0, Vec::len) {
            0 | 1 => node.name.to_string(),
            _ => node.to_string(),
        }
    }

    /// A fact.
    #[must_use]
    pub fn event(&self, id: EventId) -> String {
        format!("{}:{}", self.node(id.node), id.n)
    }

    /// The fact that a text names.
    ///
    /// # Errors
    /// [`NoEvent`] when the text is no name, or names a life that is not here.
    pub fn parse(&self, text: &str) -> Result<EventId, NoEvent> {
        let malformed = || NoEvent::Malformed(text.to_owned());
        let (life, n) = text.trim().rsplit_once(':').ok_or_else(malformed)?;
        let n = n.parse().map_err(|_| malformed())?;
        let (name, incarnation) = match life.split_once('@') {
            Some((name, incarnation)) => (name, Some(incarnation)),
            None => (life, None),
        };
        let name: NodeName = name.parse().map_err(|_| malformed())?;
        let no_journal = || NoEvent::NoJournal(life.to_owned());
        let lives = self.lives.get(&name).ok_or_else(no_journal)?;
        let incarnation = match incarnation {
            Some(text) => {
                let wanted = text.parse().map_err(|_| malformed())?;
                *lives.iter().find(|life| **life == wanted).ok_or_else(no_journal)?
            }
            None => *lives.last().ok_or_else(no_journal)?,
        };
        Ok(EventId { node: Node { name, incarnation }, n })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::order::NodeKind;

    #[test]
    fn a_name_is_as_short_as_it_is_clear_and_reads_back() {
        let (old, new) = (Node::new(NodeKind::Base, 1, 5), Node::new(NodeKind::Base, 1, 9));
        let cell = Node::new(NodeKind::Cell, 2, 7);
        let mut names = Names::default();
        [new, old, cell, new].into_iter().for_each(|node| names.add(node));
        assert_eq!(names.event(EventId { node: cell, n: 3 }), "cell-2:3");
        assert_eq!(names.event(EventId { node: old, n: 3 }), "base-1@5:3");
        for node in [old, new, cell] {
            let id = EventId { node, n: 12 };
            assert_eq!(names.parse(&names.event(id)), Ok(id));
            assert_eq!(names.parse(&id.to_string()), Ok(id));
        }
        assert_eq!(names.parse("base-1:4"), Ok(EventId { node: new, n: 4 }), "the newest life");
        for (wrong, why) in [
            ("cell-2", "is not the name"),
            ("cell-2:x", "is not the name"),
            ("cell-2@:4", "is not the name"),
            ("cel-2:4", "is not the name"),
            ("cell-3:4", "no journal of cell-3"),
            ("cell-2@8:4", "no journal of cell-2@8"),
        ] {
            let told = names.parse(wrong).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
    }
}
