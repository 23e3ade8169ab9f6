//! The past and the future of a fact, for whoever draws them.

use super::catalog::{Catalog, Place};
use super::graph::{At, Graph, Leap, Via};
use super::id::{EventId, NoEvent};
use super::span::Span;
use crate::facts;
use crate::journals::Journals;
use marchland_common::order::{EntityId, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// How many ticks before and after a fact are read.
pub const AROUND: u64 = 40;

/// The past and the future of a fact. The cuts are exact, for the ticks that were read; the lists
/// hold what is told of the fact's entity, or of its process if it has none, the nearest first to be
/// kept, and the messages between these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The fact.
    pub event: EventId,
    /// The ticks that were read.
    pub span: Span,
    /// Of each life the number of the newest fact in the past, itself included.
    pub past_through: BTreeMap<Node, u64>,
    /// Of each life the number of the first fact in the future, itself included.
    pub future_from: BTreeMap<Node, u64>,
    /// Facts of the past.
    pub past: Vec<EventId>,
    /// Facts of the future.
    pub future: Vec<EventId>,
    /// Edges between those that are listed and the messages between them. An edge within one life
    /// leads to the next one that is listed.
    pub edges: Vec<PastEdge>,
    /// Whether more would be listed.
    pub truncated: bool,
    /// What is missing in the journals or was beyond a bound.
    pub left_out: Vec<String>,
}

/// An edge of the past or the future of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastEdge {
    /// From here.
    pub from: EventId,
    /// To here.
    pub to: EventId,
    /// What carried it from one life to another; none within one.
    pub via: Option<Via>,
}

/// The past and the future of a fact within some ticks, with at most so many facts in each list.
///
/// # Errors
/// [`NoEvent`] when it is not there.
pub fn past(
    journals: &Journals,
    catalog: &Catalog,
    id: EventId,
    around: u64,
    limit: usize,
) -> Result<Past, NoEvent> {
    let fact = catalog.fact(journals, id)?;
    let span = Span::around(fact.tick, fact.tick, around);
    let graph = Graph::of(journals, catalog, span);
    let about = fact.about();
    let wanted: BTreeSet<EntityId> = about.entity.into_iter().chain(about.other).collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    if let Some(me) = graph.at(id) {
        for at in facts_about(journals, catalog, &graph, &wanted, id) {
            match () {
                () if graph.before(at, me) => before.push(at),
                () if graph.before(me, at) => after.push(at),
                () => {}
            }
        }
    }
    before.sort_by_key(|at| std::cmp::Reverse(graph.turn(*at)));
    after.sort_by_key(|at| graph.turn(*at));
    let truncated = before.len() > limit || after.len() > limit;
    before.truncate(limit);
    after.truncate(limit);
    before.reverse();
    let mut shown: BTreeSet<At> = before.iter().chain(&after).copied().collect();
    shown.extend(graph.at(id));
    let messages = links(&graph, &shown);
    let name = |at: &At| graph.id(*at);
    Ok(Past {
        event: id,
        span,
        past_through: graph.past_through(id),
        future_from: graph.future_from(id),
        past: before.iter().map(name).collect(),
        future: after.iter().map(name).collect(),
        edges: edges(&graph, &shown, &messages),
        truncated,
        left_out: graph.left_out(),
    })
}

/// The facts about some entities; of a life if there are none.
fn facts_about(
    journals: &Journals,
    catalog: &Catalog,
    graph: &Graph,
    wanted: &BTreeSet<EntityId>,
    id: EventId,
) -> Vec<At> {
    let mut out = Vec::new();
    for (proc, process) in journals.processes().iter().enumerate() {
        if wanted.is_empty() && process.node() != id.node {
            continue;
        }
        for record in catalog.records(proc as u32, graph.span().from, graph.span().to) {
            let Some(moment) = catalog.moment(journals, proc as u32, record) else { continue };
            for (at, event) in moment.events.iter().enumerate() {
                let about = facts::about(event);
                let concerns = wanted.iter().any(|entity| about.concerns(*entity));
                let own = wanted.is_empty() && process.kind() != NodeKind::Client;
                if concerns || own {
                    let fact = (moment.received.len() + at) as u32;
                    let place = Place { proc: proc as u32, record: record as u32, fact };
                    out.extend(graph.at(catalog.id(place)));
                }
            }
        }
    }
    out
}

/// The messages by which facts of different lives follow from each other: for each fact and each
/// other life the way from the newest fact there that came before it, unless another one tells it.
fn links(graph: &Graph, shown: &BTreeSet<At>) -> Vec<Leap> {
    let mut out: Vec<Leap> = Vec::new();
    for to in shown {
        let known = graph.known(*to);
        let newest = (0..known.len() as u32).filter(|life| *life != to.life).filter_map(|life| {
            let upto = At { life, fact: known[life as usize] };
            shown.range(At { life, fact: 0 }..upto).next_back().copied()
        });
        let newest: Vec<At> = newest.collect();
        let own = shown.range(At { life: to.life, fact: 0 }..*to).next_back();
        let is_known = |at: &At| {
            let others = newest.iter().chain(own).filter(|other| *other != at);
            others.into_iter().any(|other| graph.before(*at, *other))
        };
        for from in newest.iter().filter(|at| !is_known(at)) {
            out.extend(graph.path(graph.id(*from), graph.id(*to)).unwrap_or_default());
        }
    }
    out.sort_by_key(|leap| (leap.from, leap.to));
    out.dedup();
    out
}

fn edges(graph: &Graph, shown: &BTreeSet<At>, messages: &[Leap]) -> Vec<PastEdge> {
    let mut all = shown.clone();
    for leap in messages {
        all.extend([leap.from, leap.to].into_iter().filter_map(|id| graph.at(id)));
    }
    let mut out = Vec::new();
    let mut last: Option<At> = None;
    for at in &all {
        if let Some(last) = last.filter(|last| last.life == at.life) {
            out.push(PastEdge { from: graph.id(last), to: graph.id(*at), via: None });
        }
        last = Some(*at);
    }
    let crossing = |leap: &Leap| PastEdge { from: leap.from, to: leap.to, via: Some(leap.via) };
    out.extend(messages.iter().map(crossing));
    out
}
