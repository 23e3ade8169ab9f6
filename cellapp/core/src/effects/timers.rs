//! The Timer phase: timers are due in entity time, and an entity with nothing due is not looked at.

use super::turn::{Turn, take_turn};
use crate::cell::Cell;
use marchland_common::journal::Event;
use marchland_common::order::EntityId;

/// Lists the next timer of a real. The time in its state must be right at its mark.
pub fn list(cell: &mut Cell, entity: EntityId) {
    let step_us = cell.config.step_us.max(1);
    let Some(real) = cell.reals.get_mut(entity).filter(|real| real.is_stepped()) else { return };
    let wait = |due: u64| due.saturating_sub(real.state.time.0).div_ceil(step_us);
    let due = real.state.timers.next_deadline().map(|due| real.mark.saturating_add(wait(due.0)));
    real.timer_due = due;
    if let (Some(due), Some(link)) = (due, cell.bases.of_mut(entity)) {
        link.timers.insert((due, entity));
    }
}

/// Takes a real's timer off the list.
pub fn unlist(cell: &mut Cell, entity: EntityId) {
    let due = cell.reals.get_mut(entity).and_then(|real| real.timer_due.take());
    if let (Some(due), Some(link)) = (due, cell.bases.of_mut(entity)) {
        link.timers.remove(&(due, entity));
    }
}

/// Lists the next timer of a real whose timers changed.
pub fn relist(cell: &mut Cell, entity: EntityId) {
    unlist(cell, entity);
    list(cell, entity);
}

/// Fires what is due.
pub fn fire(cell: &mut Cell) {
    let mut due = Vec::new();
    for link in cell.bases.links_mut().filter(|link| link.open) {
        let later = link.timers.split_off(&(link.steps + 1, EntityId(0)));
        due.extend(std::mem::replace(&mut link.timers, later).into_iter().map(|(_, id)| id));
    }
    due.sort_unstable();
    for entity in due {
        take_turn(cell, entity, fire_one);
        relist(cell, entity);
    }
}

fn fire_one(turn: &mut Turn<'_>) {
    let (entity, epoch) = (turn.real.id, turn.real.epoch);
    let at = turn.real.state.time;
    let batch = turn.real.state.timers.due(at);
    turn.real.pending.timers |= !batch.fires.is_empty();
    for late in batch.decisions {
        let (timer, policy) = (late.id, late.policy);
        let (from, to) = (late.from_k, late.to_k);
        turn.events.push(Event::TimerLate { entity, epoch, timer, policy, from, to });
    }
    for fire in batch.fires {
        if turn.is_over() {
            return;
        }
        let (timer, occurrence, due) = (fire.id, fire.k, fire.due);
        turn.events.push(Event::TimerFired { entity, epoch, timer, occurrence, due, at });
        turn.call(|behaviour, me, sight| behaviour.timer(me, sight, &fire));
    }
}
