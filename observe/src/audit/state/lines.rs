//! What a base's events do to the lineages.

use super::State;
use crate::audit::lineage::{Accepted, Line, Mark, Ownership};
use crate::audit::pass::Here;
use marchland_common::journal::Event;
use marchland_common::order::EntityId;

impl State {
    /// Takes in an event of a base. Returns the entity whose lineage grew by a step, and what it
    /// held before.
    pub(super) fn apply_log(&mut self, here: &Here<'_>) -> Option<(EntityId, Option<i64>)> {
        match here.event {
            Event::Durable { lsn } => {
                self.logs.entry(here.node.name).or_default().report(*lsn, here.at);
            }
            Event::Created { entity, value, .. } => {
                let line = self.lines.entry(*entity).or_default();
                line.born = mark(here);
                line.held = Some(*value);
            }
            Event::Destroyed { entity, .. } => {
                let line = self.lines.entry(*entity).or_default();
                line.ended = mark(here);
                line.held = Some(0);
            }
            Event::OwnerChanged { entity, .. } => {
                let line = self.lines.entry(*entity).or_default();
                line.owners.extend(ownership(here));
            }
            Event::FirstStep { entity, epoch, first_tick, .. } => {
                let line = self.lines.entry(*entity).or_default();
                let owner = line.owners.iter_mut().rev().find(|owner| owner.epoch == *epoch);
                if let Some(owner) = owner {
                    owner.first.get_or_insert((*first_tick, here.at));
                }
            }
            Event::Accepted { entity, .. } => return self.accept(here, *entity),
            _ => {}
        }
        None
    }

    fn accept(&mut self, here: &Here<'_>, entity: EntityId) -> Option<(EntityId, Option<i64>)> {
        let Event::Accepted { epoch, seq, owner, digest, flow, lsn, .. } = *here.event else {
            return None;
        };
        let effects = self.take_effects(owner, entity, epoch, seq);
        let line: &mut Line = self.lines.entry(entity).or_default();
        let (before, _) = line.tail();
        let held_before = line.held;
        if let Some(flow) = flow {
            line.held = Some(flow.after);
        }
        line.steps.push(Accepted {
            epoch,
            owner,
            before,
            seq,
            digest,
            lsn,
            at: here.at,
            log: here.node.name,
            flow: flow.map(Box::new),
            effects,
        });
        Some((entity, held_before))
    }
}

fn mark(here: &Here<'_>) -> Option<Mark> {
    let (value, lsn, source) = match *here.event {
        Event::Created { value, lsn, source, .. } => (value, lsn, source),
        Event::Destroyed { value, lsn, .. } => (value, lsn, None),
        _ => return None,
    };
    Some(Mark { at: here.at, tick: here.tick, lsn, log: here.node.name, value, source })
}

fn ownership(here: &Here<'_>) -> Option<Ownership> {
    let Event::OwnerChanged { epoch, seq, to, why, last_tick, lsn, .. } = *here.event else {
        return None;
    };
    Some(Ownership {
        epoch,
        to,
        seq,
        why,
        last_tick,
        tick: here.tick,
        lsn,
        at: here.at,
        log: here.node.name,
        first: None,
    })
}
