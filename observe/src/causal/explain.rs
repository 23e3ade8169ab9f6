//! Why one fact comes after another: the chain of causes between them, hop by hop, with the rule
//! that held something back; or why neither comes first.

use super::catalog::Catalog;
use super::chain::chain;
use super::fact::Fact;
use super::graph::{At, Graph, Leap, Relation, Via};
use super::holds::Holds;
use super::id::{EventId, Names, NoEvent};
use super::span::Span;
use super::story::{Told, gather};
use super::subject::{Subject, rests_on};
use crate::journals::Journals;
use marchland_common::journal::Event;
use serde::Serialize;

/// How many ticks before the first fact and after the last one are read, for the messages that were
/// under way. A process catches up at most four ticks at once.
const SLACK: u64 = 8;

/// How a hop leads to its fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HopVia {
    /// It is the first.
    Start,
    /// Within one life.
    Program,
    /// By messages.
    Message,
    /// It is beside the path, and says what held something back.
    Hold,
}

/// One hop of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Where it leads.
    pub fact: Fact,
    /// How.
    pub via: HopVia,
    /// Why it came here, and what held it.
    pub rule: String,
    /// Ticks since the hop before it.
    pub ticks: u64,
    /// False for what happened beside the path.
    pub on_path: bool,
}

/// The answer to why one fact comes after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// How the first is to the second.
    pub relation: Relation,
    /// The first fact that was asked about.
    pub a: Fact,
    /// The second.
    pub b: Fact,
    /// The answer in one line, for people.
    pub rule: String,
    /// The chain from the cause to what it caused; empty if neither comes first.
    pub hops: Vec<Hop>,
    /// Ticks from the first hop to the last.
    pub ticks: u64,
    /// What is missing in the journals or was beyond a bound, and therefore cannot be said.
    pub left_out: Vec<String>,
}

/// Why no answer can be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// A fact is not there.
    #[error(transparent)]
    NoEvent(#[from] NoEvent),
    /// Too much lies between the two.
    #[error("{0} and {1} are too far apart: too many moments lie between them")]
    TooFar(String, String),
}

/// Explains how two facts are to each other.
///
/// # Errors
/// [`ExplainError`] when one of them is not there, or too much lies between them.
pub fn explain(
    journals: &Journals,
    catalog: &Catalog,
    a: EventId,
    b: EventId,
) -> Result<Explanation, ExplainError> {
    let (fact_a, fact_b) = (catalog.fact(journals, a)?, catalog.fact(journals, b)?);
    let span = Span::around(fact_a.tick, fact_b.tick, SLACK);
    let graph = Graph::of(journals, catalog, span);
    let names = catalog.names();
    let far = || ExplainError::TooFar(names.event(a), names.event(b));
    let relation = graph.relation(a, b).ok_or_else(far)?;
    let (from, to) = match relation {
        Relation::After => (&fact_b, &fact_a),
        _ => (&fact_a, &fact_b),
    };
    let mut left_out = graph.left_out();
    let (hops, rule) = match relation {
        Relation::Concurrent => (Vec::new(), super::concurrent::rule(&graph, names, [from, to])),
        Relation::Same => (Vec::new(), "they are the same event".to_owned()),
        Relation::Before | Relation::After => {
            let mut subject = Subject::of(from, to);
            let (mut told, more) = gather(journals, catalog, &graph, &mut subject, [from, to]);
            if more {
                left_out
                    .push("more is told of it than is weighed here: the rest is left out".into());
            }
            told.sort_by_key(|told| (told.at.life, told.at.fact));
            let teller = Teller { graph: &graph, names, told: &told };
            (teller.hops([from.id, to.id]), sentence(relation, [from, to], names))
        }
    };
    let ticks = to.tick.0.saturating_sub(from.tick.0);
    let (a, b) = (fact_a, fact_b);
    Ok(Explanation { relation, a, b, rule, hops, ticks, left_out })
}

fn sentence(relation: Relation, [from, to]: [&Fact; 2], names: &Names) -> String {
    let ticks = to.tick.0.saturating_sub(from.tick.0);
    let (first, second) = (names.event(from.id), names.event(to.id));
    let turned = if relation == Relation::After { " (the second one came first)" } else { "" };
    format!(
        "{first} comes before {second}, {ticks} ticks apart: one could have caused the other{turned}"
    )
}

/// Writes the chain.
struct Teller<'a> {
    graph: &'a Graph,
    names: &'a Names,
    told: &'a [Told],
}

impl Teller<'_> {
    fn hops(&self, [from, to]: [EventId; 2]) -> Vec<Hop> {
        let (Some(from), Some(to)) = (self.graph.at(from), self.graph.at(to)) else {
            return Vec::new();
        };
        let Some(links) = chain(self.graph, self.told, from, to) else { return Vec::new() };
        let holds = Holds::of(self.told, self.names);
        let beside = self.beside(&links, &holds);
        let mut hops = Vec::new();
        let mut last: Option<&Told> = None;
        for link in &links {
            let told = &self.told[*link];
            match last {
                None => hops.push(Self::hop(told, HopVia::Start, String::new(), 0)),
                Some(before) => self.step(before, told, &holds, &mut hops),
            }
            for at in beside.iter().filter(|(after, _)| after == link).map(|(_, at)| *at) {
                let told = &self.told[at];
                let rule = holds.named(told.at, &told.fact, self.names).unwrap_or_default();
                let ticks = told.fact.tick.0.saturating_sub(self.told[*link].fact.tick.0);
                hops.push(Hop { on_path: false, ..Self::hop(told, HopVia::Hold, rule, ticks) });
            }
            last = Some(told);
        }
        hops
    }

    fn hop(told: &Told, via: HopVia, rule: String, ticks: u64) -> Hop {
        Hop { fact: told.fact.clone(), via, rule, ticks, on_path: true }
    }

    /// What happened beside the path, each with the link that it follows: where what is asked about
    /// was held, forwarded or dropped.
    fn beside(&self, links: &[usize], holds: &Holds) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let end = links.last().map(|end| self.told[*end].at);
        for (at, told) in self.told.iter().enumerate() {
            let is_over = end.is_some_and(|end| self.graph.before(end, told.at));
            if is_over
                || links.contains(&at)
                || holds.named(told.at, &told.fact, self.names).is_none()
            {
                continue;
            }
            let before = |link: &&usize| self.graph.before(self.told[**link].at, told.at);
            if let Some(after) = links.iter().rev().find(before) {
                out.push((*after, at));
            }
        }
        out.sort_by_key(|(_, at)| self.graph.turn(self.told[*at].at));
        out
    }

    /// From one link to the next.
    fn step(&self, before: &Told, told: &Told, holds: &Holds, hops: &mut Vec<Hop>) {
        let leaps = self.graph.path(before.fact.id, told.fact.id).unwrap_or_default();
        let ticks = told.fact.tick.0.saturating_sub(before.fact.tick.0);
        let named = holds.named(told.at, &told.fact, self.names);
        if leaps.is_empty() {
            let rule = named.unwrap_or_else(|| self.within(before, told, ticks, holds));
            hops.push(Self::hop(told, HopVia::Program, rule, ticks));
            return;
        }
        let mut rule: Vec<String> = leaps.iter().map(|leap| self.leap(leap)).collect();
        let arrived = leaps.last().and_then(|leap| self.graph.at(leap.to));
        let left = leaps.first().and_then(|leap| self.graph.at(leap.from));
        let held = left
            .and_then(|left| holds.between(before.at.life, before.at.fact, left.fact))
            .filter(|_| before.fact.tick < self.graph.tick(left))
            .or_else(|| {
                let arrived = arrived.filter(|_| self.graph.tick(arrived) < told.fact.tick)?;
                holds.between(told.at.life, arrived.fact, told.at.fact)
            });
        rule.extend(named.or_else(|| held.map(str::to_owned)));
        hops.push(Self::hop(told, HopVia::Message, rule.join("; "), ticks));
    }

    /// Why the next fact of the same life came then.
    fn within(&self, before: &Told, told: &Told, ticks: u64, holds: &Holds) -> String {
        let node = self.names.node(told.fact.id.node);
        match (before.fact.event(), told.fact.event()) {
            (Some(first), Some(Event::Durable { lsn })) if rests_on(first).is_some() => {
                let record = rests_on(first).unwrap_or(*lsn);
                return format!(
                    "waited for record {record} to be durable: nothing leaves a base before"
                );
            }
            (Some(Event::TicksDropped(dropped)), _) => {
                return format!(
                    "{node} did not run ticks {} to {}",
                    dropped.from,
                    dropped.to.0 - 1
                );
            }
            _ => {}
        }
        let held = holds.between(told.at.life, before.at.fact, told.at.fact);
        match held.filter(|_| ticks > 0) {
            Some(rule) => rule.to_owned(),
            None => format!("order of {node}'s own journal"),
        }
    }

    fn leap(&self, leap: &Leap) -> String {
        let (from, to) = (leap.from.node, leap.to.node);
        let (from, to) = (self.names.node(from), self.names.node(to));
        let ticks = |id| self.graph.tick(self.graph.at(id));
        let (left, came) = (ticks(leap.from), ticks(leap.to));
        match leap.via {
            Via::Bundle(n) => {
                format!(
                    "bundle {n} from {from} to {to}, sent in tick {left}, taken in in tick {came}"
                )
            }
            Via::Command(session, n) => format!("command {n} of session {session}, on its stream"),
            Via::Answer(session, n) => {
                format!("the answer to command {n} of session {session}, on its stream")
            }
            Via::Log => format!("the log of {from}, from which {to} goes on"),
        }
    }
}

impl Graph {
    /// The tick of a fact.
    pub(super) fn tick(&self, at: Option<At>) -> marchland_common::order::Tick {
        let unit = at.and_then(|at| {
            let life = &self.lives[at.life as usize];
            life.units.get(life.unit_of(at.fact))
        });
        unit.map_or(marchland_common::order::Tick(0), |unit| unit.tick)
    }
}
