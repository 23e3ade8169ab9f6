//! Who was real where: the spans of ticks in which each life simulated an entity.

use super::catalog::{Catalog, Place};
use super::id::EventId;
use super::span::Span;
use crate::journals::Journals;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Tick};

/// One life simulates an entity under one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSpan {
    /// The life.
    pub node: Node,
    /// The epoch.
    pub epoch: Epoch,
    /// The first tick.
    pub from: Tick,
    /// The last tick; none while it goes on, or if the journal does not say.
    pub to: Option<Tick>,
    /// The event that began it; none if it began before what was read.
    pub began: Option<EventId>,
    /// The event that ended it.
    pub ended: Option<EventId>,
    /// How it ended: `frozen` for a handoff, `released`, `fenced`, `replaced`, `destroyed`.
    pub why: Option<&'static str>,
}

/// A span that is not over.
struct Open {
    epoch: Epoch,
    span: OwnerSpan,
    frozen: bool,
}

/// Who owned an entity in a span of ticks, by first tick. Only what the journals of this span tell:
/// an owner that was silent in all of it is not seen.
#[must_use]
pub fn ownership(
    journals: &Journals,
    catalog: &Catalog,
    entity: EntityId,
    span: Span,
) -> Vec<OwnerSpan> {
    let mut out = Vec::new();
    for (proc, process) in journals.processes().iter().enumerate() {
        if process.kind() == NodeKind::Cell {
            one_life(journals, catalog, proc as u32, entity, span, &mut out);
        }
    }
    out.sort_by_key(|span| (span.from, span.epoch, span.node));
    out
}

fn one_life(
    journals: &Journals,
    catalog: &Catalog,
    proc: u32,
    entity: EntityId,
    span: Span,
    out: &mut Vec<OwnerSpan>,
) {
    let mut open: Option<Open> = None;
    for record in catalog.records(proc, span.from, span.to) {
        let Some(moment) = catalog.moment(journals, proc, record) else { continue };
        for (at, event) in moment.events.iter().enumerate() {
            let Some((epoch, change)) = change_of(event, entity) else { continue };
            let fact = (moment.received.len() + at) as u32;
            let id = catalog.id(Place { proc, record: record as u32, fact });
            let tick = moment.tick;
            match change {
                Change::Begin | Change::Acts => {
                    let same = open.as_ref().is_some_and(|open| open.epoch == epoch);
                    if !same {
                        out.extend(open.take().map(|open| open.span));
                        let began = (change == Change::Begin).then_some(id);
                        open = Some(begin(id, epoch, tick, began));
                    }
                }
                Change::End(why) => {
                    let mut last = open.take().filter(|open| open.epoch == epoch);
                    let last = last.get_or_insert_with(|| begin(id, epoch, span.from, None));
                    if !last.frozen {
                        (last.span.to, last.span.ended) = (Some(tick), Some(id));
                        last.span.why = Some(why);
                    }
                    if why == "frozen" {
                        last.frozen = true;
                        open = Some(Open { epoch, span: last.span.clone(), frozen: true });
                    } else {
                        out.push(last.span.clone());
                    }
                }
                Change::Resumes => {
                    if let Some(open) = open.as_mut().filter(|open| open.epoch == epoch) {
                        open.frozen = false;
                        (open.span.to, open.span.ended, open.span.why) = (None, None, None);
                    }
                }
            }
        }
    }
    out.extend(open.map(|open| open.span));
}

fn begin(id: EventId, epoch: Epoch, from: Tick, began: Option<EventId>) -> Open {
    let span = OwnerSpan { node: id.node, epoch, from, to: None, began, ended: None, why: None };
    Open { epoch, span, frozen: false }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Begin,
    /// Only an owner does it.
    Acts,
    End(&'static str),
    Resumes,
}

fn change_of(event: &Event, wanted: EntityId) -> Option<(Epoch, Change)> {
    use marchland_common::journal::EndWhy;
    let (entity, epoch, change) = match *event {
        Event::Activated { entity, epoch, .. } => (entity, epoch, Change::Begin),
        Event::Stepped { entity, epoch, .. }
        | Event::GhostFlushed { entity, epoch, .. }
        | Event::CommandRun { entity, epoch, .. }
        | Event::MessageRun { entity, epoch, .. } => (entity, epoch, Change::Acts),
        Event::Frozen { entity, epoch, .. } => (entity, epoch, Change::End("frozen")),
        Event::Unfrozen { entity, epoch, .. } => (entity, epoch, Change::Resumes),
        Event::Deactivated { entity, epoch, why, .. } => {
            let why = match why {
                EndWhy::Released => "released",
                EndWhy::Fenced => "fenced",
                EndWhy::Replaced => "replaced",
                EndWhy::Destroyed => "destroyed",
            };
            (entity, epoch, Change::End(why))
        }
        _ => return None,
    };
    (entity == wanted).then_some((epoch, change))
}
