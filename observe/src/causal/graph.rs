//! What could have caused what: the facts of a span, the order of each life's own journal, and an
//! edge from the sending of each bundle to where it was taken in.
//!
//! Invariants: the relation is a partial order; it holds the order of every journal and every edge,
//! and nothing that does not follow from these; no clock takes part. Edges that would close a circle
//! are left out and told.
//!
//! Between clients and bases, whose streams have no bundles, commands and their answers are edges
//! by their numbers. What a client sees has none: it is ordered by the client's journal alone.

use super::catalog::Catalog;
use super::holes::{Gap, Holes};
use super::id::EventId;
use super::span::{Read, Span};
use crate::journals::Journals;
use marchland_common::order::{Node, SessionId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most units of a span. With twenty processes their clocks take sixteen megabytes.
pub const UNITS_MAX: usize = 200_000;

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

/// What carries an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// A bundle, by its number.
    Bundle(u64),
    /// A client's command.
    Command(SessionId, u64),
    /// The answer to one.
    Answer(SessionId, u64),
    /// A base's log, from one life to the next.
    Log,
}

/// A fact of a span: whose, and how many of that life's facts lie before it in the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct At {
    pub life: u32,
    pub fact: u32,
}

/// From a sending to where it was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub from: At,
    pub to: At,
    pub via: Via,
}

/// Facts of one life that come after the same messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub first: u32,
    pub facts: u32,
    pub tick: Tick,
}

/// One life in a span.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub node: Node,
    /// The number of its first fact in the span.
    pub base: u64,
    pub facts: u32,
    pub units: Vec<Unit>,
    /// Edges into it, by the fact that they lead to.
    pub incoming: Vec<Edge>,
    /// Where its units begin among all.
    pub row: usize,
}

impl Default for Life {
    fn default() -> Self {
        let node = Node::new(marchland_common::order::NodeKind::Client, 0, 0);
        Self { node, base: 0, facts: 0, units: Vec::new(), incoming: Vec::new(), row: 0 }
    }
}

impl Life {
    /// The unit that a fact is part of.
    pub fn unit_of(&self, fact: u32) -> usize {
        self.units.partition_point(|unit| unit.first <= fact).saturating_sub(1)
    }

    /// The fact after the last one of a unit.
    pub fn end_of(&self, unit: usize) -> u32 {
        self.units.get(unit).map_or(self.facts, |unit| unit.first + unit.facts)
    }

    /// The edges into facts of a unit.
    pub fn edges_into(&self, unit: usize) -> &[Edge] {
        let (first, end) = (self.units[unit].first, self.end_of(unit));
        let from = self.incoming.partition_point(|edge| edge.to.fact < first);
        let to = self.incoming.partition_point(|edge| edge.to.fact < end);
        &self.incoming[from..to]
    }
}

/// A message, or what stands for one, between two facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// Where it was sent.
    pub from: EventId,
    /// Where it was taken in.
    pub to: EventId,
    /// What carried it.
    pub via: Via,
}

/// The causal order of a span. See the module.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) lives: Vec<Life>,
    /// For each unit and life: how many facts of that life the unit's last fact comes after.
    pub(super) rows: Vec<u32>,
    /// For each unit: when its turn came in an order that no cause contradicts.
    pub(super) turns: Vec<u32>,
    /// The edges between two lives, by the fact that they lead from, each with the place of the one
    /// of all later ones that arrives first.
    pub(super) channels: BTreeMap<(u32, u32), Vec<(Edge, u32)>>,
    span: Span,
    holes: Holes,
}

impl Graph {
    /// Reads a span. What the bounds left out is told by [`Graph::left_out`].
    #[must_use]
    pub fn of(journals: &Journals, catalog: &Catalog, span: Span) -> Self {
        Self::within(journals, catalog, span, UNITS_MAX)
    }

    /// The same with another bound on units.
    #[must_use]
    pub fn within(journals: &Journals, catalog: &Catalog, span: Span, max: usize) -> Self {
        let mut read = Read::span(journals, catalog, span, max);
        read.edges();
        let Read { lives, holes, .. } = read;
        super::rows::build(lives, holes, span)
    }

    pub(super) fn new(lives: Vec<Life>, holes: Holes, span: Span) -> Self {
        let (rows, turns, channels) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { lives, rows, turns, channels, span, holes }
    }

    pub(super) fn holes_mut(&mut self) -> &mut Holes {
        &mut self.holes
    }

    /// The span.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// What is missing in the journals or was beyond a bound, for people.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.holes.told()
    }

    /// The ticks of which a journal says that it could not keep them.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        self.holes.gaps()
    }

    pub(super) fn at(&self, id: EventId) -> Option<At> {
        let life = self.lives.iter().position(|life| life.node == id.node)?;
        let fact = u32::try_from(id.n.checked_sub(self.lives[life].base)?).ok()?;
        (fact < self.lives[life].facts).then_some(At { life: life as u32, fact })
    }

    pub(super) fn id(&self, at: At) -> EventId {
        let life = &self.lives[at.life as usize];
        EventId { node: life.node, n: life.base + u64::from(at.fact) }
    }

    /// Whether a fact lies in the span, as far as that was read.
    #[must_use]
    pub fn holds(&self, id: EventId) -> bool {
        self.at(id).is_some()
    }

    /// How two facts are to each other; none where one is not in the span.
    #[must_use]
    pub fn relation(&self, a: EventId, b: EventId) -> Option<Relation> {
        let (a, b) = (self.at(a)?, self.at(b)?);
        Some(match () {
            () if a == b => Relation::Same,
            () if self.before(a, b) => Relation::Before,
            () if self.before(b, a) => Relation::After,
            () => Relation::Concurrent,
        })
    }

    pub(super) fn before(&self, a: At, b: At) -> bool {
        match a.life == b.life {
            true => a.fact < b.fact,
            false => self.known(b)[a.life as usize] > a.fact,
        }
    }

    /// What sorts facts into an order that no cause contradicts.
    pub(super) fn turn(&self, at: At) -> (u32, u32) {
        let life = &self.lives[at.life as usize];
        (self.turns[life.row + life.unit_of(at.fact)], at.fact)
    }

    /// The past of a fact, exactly: of each life the newest fact that could have caused it, itself
    /// included. A life that is not named has none in the span.
    #[must_use]
    pub fn past_through(&self, id: EventId) -> BTreeMap<Node, u64> {
        let Some(at) = self.at(id) else { return BTreeMap::new() };
        let known = self.known(at);
        let lives = self.lives.iter().zip(known).filter(|(_, known)| *known > 0);
        lives.map(|(life, known)| (life.node, life.base + u64::from(known) - 1)).collect()
    }

    /// The future of a fact, exactly: of each life the first fact that it could have caused, itself
    /// included.
    #[must_use]
    pub fn future_from(&self, id: EventId) -> BTreeMap<Node, u64> {
        let Some(at) = self.at(id) else { return BTreeMap::new() };
        let first = self.reach(at, usize::MAX).pop().unwrap_or_default();
        let lives = self.lives.iter().zip(first);
        lives
            .filter_map(|(life, first)| Some((life.node, life.base + u64::from(first?.fact))))
            .collect()
    }
}
