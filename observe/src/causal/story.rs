//! The facts that tell something about a question, out of a span: the commands, messages and signals
//! that it is about, who owned the entity, and what held them back.

use super::catalog::{Catalog, Place};
use super::fact::Fact;
use super::graph::{At, Graph};
use super::subject::{Subject, Weight, rests_on};
use crate::facts::{self, Kind};
use crate::journals::Journals;
use marchland_common::journal::{Event, TickRecord};
use marchland_common::order::{EntityId, Lsn, NodeKind, NodeName};

/// Most facts that are weighed.
pub(super) const TOLD_MAX: usize = 4_096;

/// A fact of the story.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub at: At,
    pub fact: Fact,
    pub weight: Weight,
}

/// What is known while one life is read.
#[derive(Default)]
struct Follows {
    /// Records whose becoming durable is awaited.
    lsn: Option<Lsn>,
    /// Entities that did something whose step is awaited.
    steps: Vec<EntityId>,
}

/// Gathers the facts of a span that tell something, life by life in their order. True beside them if
/// there were more than are weighed.
pub(super) fn gather(
    journals: &Journals,
    catalog: &Catalog,
    graph: &Graph,
    subject: &mut Subject,
    ends: [&Fact; 2],
) -> (Vec<Told>, bool) {
    let mut told = Vec::new();
    for (proc, process) in journals.processes().iter().enumerate() {
        let mut follows = Follows::default();
        for record in catalog.records(proc as u32, graph.span().from, graph.span().to) {
            let Some(moment) = catalog.moment(journals, proc as u32, record) else { continue };
            if process.kind() == NodeKind::Base {
                note_base(subject, process.node().name, &moment);
            }
            let first = Place { proc: proc as u32, record: record as u32, fact: 0 };
            take(catalog, graph, subject, &mut follows, (first, &moment, ends), &mut told);
            if told.len() >= TOLD_MAX {
                return (told, true);
            }
        }
    }
    (told, false)
}

fn note_base(subject: &mut Subject, base: NodeName, moment: &TickRecord) {
    let speaks = moment
        .events
        .iter()
        .any(|event| facts::about(event).entity.is_some_and(|entity| subject.is_about(entity)));
    if speaks {
        subject.note_base(base);
    }
}

fn take(
    catalog: &Catalog,
    graph: &Graph,
    subject: &mut Subject,
    follows: &mut Follows,
    (first, moment, ends): (Place, &TickRecord, [&Fact; 2]),
    told: &mut Vec<Told>,
) {
    let received = moment.received.len();
    for (at, event) in moment.events.iter().enumerate() {
        let place = Place { fact: (received + at) as u32, ..first };
        let id = catalog.id(place);
        let is_end = ends.iter().any(|end| end.id == id);
        let weight = match follows.weigh(subject, event) {
            Some(weight) => Some(weight),
            None if is_end => Some(Weight::ITSELF),
            None => subject.weight(id.node, event),
        };
        let Some((weight, at)) = weight.zip(graph.at(id)) else { continue };
        if let Some(fact) = catalog.fact_of(place, moment) {
            follows.note(subject, event);
            told.push(Told { at, fact, weight });
        }
    }
    for end in ends.iter().filter(|end| end.event().is_none()) {
        // A bundle that the question names.
        let place = catalog.find(end.id);
        let here = |place: Place| (place.proc, place.record) == (first.proc, first.record);
        let inside = place.is_ok_and(here);
        if let Some(at) = graph.at(end.id).filter(|_| inside) {
            told.push(Told { at, fact: (*end).clone(), weight: Weight::ITSELF });
        }
    }
}

impl Follows {
    /// What counts because of what the story told before in the same life.
    fn weigh(&mut self, subject: &mut Subject, event: &Event) -> Option<Weight> {
        match *event {
            Event::Durable { lsn } if self.lsn.is_some_and(|awaited| lsn >= awaited) => {
                self.lsn = None;
                Some(Weight::HOLD)
            }
            Event::Stepped { entity, seq, .. } if self.steps.contains(&entity) => {
                self.steps.retain(|waits| *waits != entity);
                subject.note_carried(entity, seq);
                Some(Weight::STEP)
            }
            _ => None,
        }
    }

    fn note(&mut self, subject: &Subject, event: &Event) {
        if let Some(lsn) = rests_on(event) {
            self.lsn = Some(self.lsn.map_or(lsn, |awaited| awaited.max(lsn)));
        }
        let about = facts::about(event);
        let runs = matches!(Kind::of(event), Kind::CommandRun | Kind::MessageRun);
        if let Some(entity) = about.entity.filter(|_| runs && subject.is_itself(&about)) {
            self.steps.push(entity);
        }
    }
}
