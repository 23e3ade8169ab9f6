//! Entities that lost their owners, as their bases tell.

use super::of_kind;
use crate::drill::bound::{Figure, Figures};
use marchland_common::journal::{Event, OwnerWhy};
use marchland_common::order::{EntityId, Node, NodeKind, Tick};
use marchland_observe::Journals;
use std::collections::{BTreeMap, BTreeSet};

/// What became of them.
#[derive(Default)]
pub(super) struct Losses {
    owners: BTreeMap<EntityId, Node>,
    /// Whoever lost an entity by a verdict or because it never reported.
    lost: BTreeSet<(EntityId, Node)>,
    /// The last tick before the loss of those that did not go on yet.
    waiting: BTreeMap<EntityId, Option<Tick>>,
    gaps: Vec<u64>,
    restored: u64,
    late_steps: u64,
}

impl Losses {
    /// Since a tick.
    pub(super) fn of(journals: &Journals, began: Tick) -> Self {
        let mut losses = Self::default();
        for base in of_kind(journals, NodeKind::Base) {
            for record in (0..base.len()).filter_map(|i| base.record(i)) {
                let of_drill = record.tick >= began;
                record.events.iter().for_each(|event| losses.on(event, of_drill));
            }
        }
        losses
    }

    /// Who owned what before the drill has to be known, and is not counted.
    fn on(&mut self, event: &Event, of_drill: bool) {
        match *event {
            Event::OwnerChanged { entity, from, to, why, last_tick, .. } => {
                self.owners.insert(entity, to);
                let verdict = why == OwnerWhy::Verdict;
                if let Some(from) =
                    from.filter(|_| of_drill && (verdict || why == OwnerWhy::GrantDeadline))
                {
                    self.lost.insert((entity, from));
                    self.waiting.entry(entity).or_insert(last_tick);
                    self.restored += u64::from(verdict);
                }
            }
            Event::FirstStep { entity, first_tick, .. } => {
                let last = self.waiting.remove(&entity).flatten();
                self.gaps.extend(last.map(|last| first_tick.0.saturating_sub(last.0)));
            }
            Event::Accepted { entity, owner, .. } => {
                // It may have been given the entity again meanwhile: then it is no late step.
                let given_up = self.lost.contains(&(entity, owner));
                let again = self.owners.get(&entity) == Some(&owner);
                self.late_steps += u64::from(given_up && !again);
            }
            Event::Destroyed { entity, .. } => {
                self.owners.remove(&entity);
                self.waiting.remove(&entity);
            }
            _ => {}
        }
    }

    pub(super) fn tell(&self, victim: Option<Node>, figures: &mut Figures) {
        let left_behind = self.owners.values().filter(|owner| Some(**owner) == victim).count();
        figures.insert(Figure::Restored, self.restored);
        figures.insert(Figure::Stranded, (left_behind + self.waiting.len()) as u64);
        figures.insert(Figure::LateSteps, self.late_steps);
        if let Some(worst) = self.gaps.iter().max() {
            figures.insert(Figure::TicksToGoOn, *worst);
        }
    }
}
