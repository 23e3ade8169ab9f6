//! What a question about two facts is about: which entities, commands, messages, signals and steps.

use super::fact::Fact;
use crate::facts::{self, About, Kind};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Lsn, Node, NodeName, Seq, SlotId};
use std::collections::BTreeSet;

/// How much a fact tells about the subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Weight(pub u32);

impl Weight {
    /// About the very command, message or signal.
    pub const ITSELF: Self = Self(100);
    /// A step that carries it.
    pub const STEP: Self = Self(30);
    /// Who owns the entity.
    pub const OWNER: Self = Self(20);
    /// Who keeps its slot.
    pub const SLOT: Self = Self(8);
    /// What holds something back for many.
    pub const HOLD: Self = Self(5);
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    entities: BTreeSet<EntityId>,
    things: BTreeSet<String>,
    /// Steps of the entities that the question names, or that carry what it names.
    steps: BTreeSet<(EntityId, Seq)>,
    bases: BTreeSet<NodeName>,
}

impl Subject {
    /// What two facts have in common; if that is nothing, all that either is about.
    pub fn of(a: &Fact, b: &Fact) -> Self {
        let (of_a, of_b) = (a.about(), b.about());
        let entities = |about: &About| -> BTreeSet<EntityId> {
            about.entity.into_iter().chain(about.other).collect()
        };
        let (in_a, in_b) = (entities(&of_a), entities(&of_b));
        let mut both: BTreeSet<EntityId> = in_a.intersection(&in_b).copied().collect();
        if both.is_empty() {
            both = in_a.union(&in_b).copied().collect();
        }
        let mut subject = Self { entities: both, ..Self::default() };
        for about in [&of_a, &of_b] {
            subject.things.extend(about.msg.clone());
        }
        for fact in [a, b] {
            subject.note_step(fact);
        }
        subject
    }

    fn note_step(&mut self, fact: &Fact) {
        if let Some(
            Event::Stepped { entity, seq, .. }
            | Event::Accepted { entity, seq, .. }
            | Event::CommandConfirmed { entity, seq, .. },
        ) = fact.event()
        {
            self.steps.insert((*entity, *seq));
        }
    }

    fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.entities.iter().map(|entity| entity.slot())
    }

    /// Whether it is about an entity.
    pub fn is_about(&self, entity: EntityId) -> bool {
        self.entities.contains(&entity)
    }

    /// Notes which bases speak for the entities.
    pub fn note_base(&mut self, base: NodeName) {
        self.bases.insert(base);
    }

    /// Notes that a step carries what the question names.
    pub fn note_carried(&mut self, entity: EntityId, seq: Seq) {
        self.steps.insert((entity, seq));
    }

    /// Whether an event is about the very command, message or signal.
    pub fn is_itself(&self, about: &About) -> bool {
        about.msg.as_ref().is_some_and(|msg| self.things.contains(msg))
    }

    /// How much an event of a life tells; none if nothing.
    pub fn weight(&self, node: Node, event: &Event) -> Option<Weight> {
        let about = facts::about(event);
        if self.is_itself(&about) {
            return Some(Weight::ITSELF);
        }
        let ours = about.entity.is_some_and(|entity| self.is_about(entity));
        match (Kind::of(event), event) {
            (
                Kind::Activated
                | Kind::Frozen
                | Kind::Unfrozen
                | Kind::Deactivated
                | Kind::OwnerChanged
                | Kind::FirstStep
                | Kind::HandoffRefused
                | Kind::FencedSent
                | Kind::Created
                | Kind::Destroyed,
                _,
            ) => ours.then_some(Weight::OWNER),
            (_, Event::Stepped { entity, seq, .. } | Event::Accepted { entity, seq, .. }) => {
                self.steps.contains(&(*entity, *seq)).then_some(Weight::STEP)
            }
            (
                _,
                Event::SlotTaken { slot, .. }
                | Event::SlotFrozen { slot, .. }
                | Event::SlotGiven { slot, .. }
                | Event::SlotFollowed { slot, .. },
            ) => self.slots().any(|ours| ours == *slot).then_some(Weight::SLOT),
            (_, Event::WindowClosed { base, .. } | Event::WindowOpened { base }) => {
                self.bases.contains(&base.name).then_some(Weight::HOLD)
            }
            (Kind::Listed, _) => self.bases.contains(&node.name).then_some(Weight::HOLD),
            (Kind::TicksDropped | Kind::Recovered, _) => Some(Weight::HOLD),
            _ => None,
        }
    }
}

/// The record of a base's log that a fact rests on.
pub(super) const fn rests_on(event: &Event) -> Option<Lsn> {
    match event {
        Event::Created { lsn, .. }
        | Event::Accepted { lsn, .. }
        | Event::OwnerChanged { lsn, .. }
        | Event::Destroyed { lsn, .. }
        | Event::SlotTaken { lsn, .. }
        | Event::SlotFrozen { lsn, .. } => Some(*lsn),
        _ => None,
    }
}
