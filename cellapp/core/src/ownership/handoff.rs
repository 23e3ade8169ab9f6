//! Giving an entity away, and what comes back.
//!
//! ```text
//!  owner                          base                         next owner
//!    | last step, Prepare          |                             |
//!    |---------------------------->|   Offload (parked)          |
//!    |------------------------------------------------------------>|
//!    | frozen; Prepare each tick   | one record: step + new owner |
//!    |                             |---- Grant ----------------->| real
//!    |                             |<--- first step -------------|
//!    |<-------- Release -----------|                             |
//!    | gone                        |                             |
//! ```
//! Instead of the record the base may say Abort: the owner runs on under the same epoch. Whoever
//! acts under an ended epoch is told Fenced and drops its copy at once.

use crate::around;
use crate::cell::Cell;
use crate::entities::{Frozen, Leaving, Phase};
use crate::io::CellBug;
use marchland_common::journal::{EndWhy, Event, Refused};
use marchland_common::msg::{CellToBase, CellToCell, HandoffRefusal, HandoffWhy, Offload, Prepare};
use marchland_common::order::{EntityId, Epoch, Node, Seq};
use marchland_common::world::Change;

/// Begins the handoffs of this tick, and asks again for those that are not answered.
pub fn carry_out(cell: &mut Cell) {
    for (entity, leaving) in std::mem::take(&mut cell.departures) {
        begin(cell, entity, leaving);
    }
    repeat(cell);
}

/// Begins a handoff: the step before it was the last of this epoch, and everybody around was told
/// of it.
fn begin(cell: &mut Cell, entity: EntityId, leaving: Leaving) {
    let tick = cell.tick;
    let Some(departure) = around::depart(cell, entity) else { return };
    let Some(real) = cell.reals.get(entity) else { return };
    let place = real.state.place;
    let layout_version = cell.map.layout(place.space).map_or(0, |layout| layout.version);
    let (epoch, seq, digest) = (real.epoch, real.seq, real.digest);
    let Leaving { target, why, .. } = leaving;
    let prepare =
        Prepare { entity, epoch, seq, digest, target, why, last_tick: tick, layout_version };
    let offload = Offload {
        entity,
        epoch,
        seq,
        digest,
        state: real.state.clone(),
        ghost_seq: departure.ghosts.ghost_seq,
        ghost_since: departure.ghosts.ghost_since,
        hosts: departure.ghosts.hosts,
        witnesses: departure.witnesses,
        signals: departure.signals,
        scratch: Vec::new(),
    };
    crate::effects::timers::unlist(cell, entity);
    cell.borders.forget(entity);
    cell.tell_base(entity, CellToBase::Prepare(prepare.clone()));
    cell.tell_cell(target, Some(entity), CellToCell::Offload(Box::new(offload)));
    cell.reals.set_phase(entity, Phase::Frozen(Box::new(Frozen { prepare, since: tick })));
    cell.event(Event::Frozen { entity, epoch, seq, target, why });
}

fn repeat(cell: &mut Cell) {
    let waiting: Vec<EntityId> = cell.reals.frozen().iter().copied().collect();
    for entity in waiting {
        if cell.closed.closer(entity.slot()).is_some() {
            // Its base takes nothing more; the next one is asked.
            continue;
        }
        let Some(frozen) = cell.reals.get(entity).and_then(|real| real.frozen()) else { continue };
        if frozen.since < cell.tick {
            let prepare = frozen.prepare.clone();
            cell.tell_base(entity, CellToBase::Prepare(prepare));
        }
    }
}

/// The handoff is called off: if the entity still stands at that very step, it runs on.
pub fn abort(
    cell: &mut Cell,
    from: Node,
    entity: EntityId,
    at: (Epoch, Seq),
    reason: HandoffRefusal,
) {
    let Some(real) = cell.reals.get(entity) else {
        cell.refuse(Refused::NotHere, from, entity);
        return;
    };
    let Some(frozen) = real.frozen().filter(|_| (real.epoch, real.seq) == at) else {
        // An abort that is repeated, or of a handoff before this one.
        cell.refuse(Refused::StaleEpoch, from, entity);
        return;
    };
    let was_ordered = matches!(frozen.prepare.why, HandoffWhy::Order(_));
    let (epoch, seq) = at;
    cell.reals.set_phase(entity, Phase::Active);
    let steps = cell.bases.steps_of(entity);
    let not_before = cell.tick.0 + cell.config.dwell;
    if let Some(real) = cell.reals.get_mut(entity) {
        real.mark = steps;
        real.stays_until.0 = not_before;
        if was_ordered && real.state.pin.take().is_some() {
            real.pending.changes.push(Change::Pinned(None));
        }
    }
    cell.reals.touch(entity);
    crate::effects::timers::list(cell, entity);
    cell.borders.look_at([entity]);
    around::thaw(cell, entity);
    cell.event(Event::Unfrozen { entity, epoch, seq, reason });
}

/// The next owner reported.
pub fn release(cell: &mut Cell, from: Node, entity: EntityId, epoch: Epoch) {
    let Some(real) = cell.reals.get(entity).filter(|real| real.epoch == epoch) else {
        // Repeated until the base is sure; the copy went with the first one.
        return;
    };
    if real.frozen().is_none() {
        cell.refuse(Refused::StaleEpoch, from, entity);
        return;
    }
    let seq = real.seq;
    around::released(cell, entity);
    end(cell, entity);
    cell.event(Event::Deactivated { entity, epoch, seq, why: EndWhy::Released });
}

/// Another epoch holds: the copy is gone in this tick.
pub fn fenced(cell: &mut Cell, from: Node, entity: EntityId, epoch: Epoch, current: Epoch) {
    let Some(real) = cell.reals.get(entity) else {
        cell.seen.note(entity, current);
        return;
    };
    if real.epoch > epoch || real.epoch >= current {
        cell.refuse(Refused::StaleEpoch, from, entity);
        return;
    }
    if cell.has_bug(CellBug::IgnoreFence) {
        return;
    }
    let (epoch, seq) = (real.epoch, real.seq);
    around::fenced(cell, entity);
    end(cell, entity);
    cell.seen.note(entity, current);
    cell.event(Event::Deactivated { entity, epoch, seq, why: EndWhy::Fenced });
}

/// This very life was declared dead: others own, or will own, everything that stands here.
pub fn end_of_life(cell: &mut Cell) {
    cell.accepting = false;
    for entity in cell.reals.ids_where(|_| true) {
        let Some(real) = cell.reals.get(entity) else { continue };
        let (epoch, seq) = (real.epoch, real.seq);
        around::fenced(cell, entity);
        end(cell, entity);
        cell.event(Event::Deactivated { entity, epoch, seq, why: EndWhy::Fenced });
    }
}

/// The entity ended with its last step: the copy stays until that step is durable.
pub fn retire(cell: &mut Cell, entity: EntityId) {
    crate::effects::timers::unlist(cell, entity);
    cell.borders.forget(entity);
    if let Some(order) = cell.orders.forget(entity) {
        super::orders::refuse(cell, order, HandoffRefusal::NoSuchEntity);
    }
    around::ended(cell, entity);
    cell.reals.set_phase(entity, Phase::Ended);
}

/// Removes a real and everything that hangs on it. What waited for its behaviour is counted; its
/// base sends it again to the next owner.
pub fn end(cell: &mut Cell, entity: EntityId) {
    crate::effects::timers::unlist(cell, entity);
    cell.borders.forget(entity);
    let Some(real) = cell.reals.remove(entity) else { return };
    if let Some(first) = real.held_until {
        cell.held.remove(&(first, entity));
    }
    let base = cell.bases.keeper(entity.slot());
    let inputs = real.queue.len() + usize::from(real.input.is_some());
    cell.refusals.add_many(Refused::NotHere, base, Some(entity), inputs as u32);
    let lost = real.completed.len() as u32;
    cell.refusals.add_many(Refused::CompletionLost, None, Some(entity), lost);
    let unheard = real.signals.len() as u32;
    cell.refusals.add_many(Refused::SignalLost, None, Some(entity), unheard);
    if let Some(order) = cell.orders.forget(entity) {
        super::orders::refuse(cell, order, HandoffRefusal::NotOwned);
    }
}
