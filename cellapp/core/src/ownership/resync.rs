//! What a base has made durable of our steps, and what it is told again when it lacks some.

use crate::cell::Cell;
use marchland_common::journal::Refused;
use marchland_common::msg::{CellToBase, Msg, Step, StepBody};
use marchland_common::order::{EntityId, Epoch, Node, Seq};

/// Steps up to this one are durable.
pub fn acked(cell: &mut Cell, from: Node, entity: EntityId, epoch: Epoch, seq: Seq) {
    let Some(real) = cell.reals.get_mut(entity).filter(|real| real.epoch == epoch) else {
        // The last acks of a handed-over entity pass its release; they say nothing new.
        return;
    };
    if seq > real.seq {
        cell.refuse(Refused::StepGap, from, entity);
        return;
    }
    while real.unacked.front().is_some_and(|unacked| unacked.step.seq <= seq) {
        real.unacked.pop_front();
    }
    if seq == real.seq && cell.reals.ended().contains(&entity) {
        super::handoff::end(cell, entity);
    }
}

/// The base cannot follow our increments and wants the whole state.
pub fn need_snapshot(cell: &mut Cell, from: Node, entity: EntityId, epoch: Epoch) {
    let step_us = cell.config.step_us;
    let Some(real) = cell.reals.get_mut(entity).filter(|real| real.epoch == epoch) else {
        cell.refuse(Refused::NotHere, from, entity);
        return;
    };
    real.unacked.clear();
    if real.is_active() {
        real.snapshot_wanted = true;
        cell.reals.mark_dirty(entity);
        return;
    }
    // A frozen or ended copy makes no further step: its last one is sent again, whole.
    let step = Step {
        entity,
        epoch,
        seq: real.seq,
        prev_digest: real.digest,
        digest: real.digest,
        time: real.time(0, step_us),
        first_tick: real.first_tick,
        body: StepBody::Snapshot(Box::new(real.state.clone())),
    };
    cell.tell_base(entity, CellToBase::Step(step));
}

/// A base asks what stands here. It repeats the question until it hears the answer, which is on
/// its way if the question is known.
pub fn asked(cell: &mut Cell, from: Node, question: u64) {
    if let Some(link) = cell.bases.link_mut(from)
        && question > link.question
    {
        (link.question, link.resync) = (question, true);
    }
}

/// Tells bases that asked, or whose link began anew, what stands here: each real, and the steps
/// that may be missing, and at last that this was all. Who was told once is told of each slot that
/// it keeps from now on.
pub fn answer(cell: &mut Cell) {
    let tick = cell.tick;
    let mut joined = cell.closed.take_joined();
    let asked: Vec<(Node, u64)> = cell
        .bases
        .links()
        .filter(|link| link.resync)
        .map(|link| (link.base, link.question))
        .collect();
    for (base, question) in asked {
        if let Some(link) = cell.bases.link_mut(base) {
            (link.resync, link.told) = (false, true);
        }
        let keeps = |slot| cell.bases.keeper(slot) == Some(base);
        joined.retain(|slot| !keeps(*slot));
        for entity in cell.reals.ids_where(|real| keeps(real.id.slot())) {
            tell(cell, entity);
        }
        cell.peers.send(base, Msg::CellToBase(CellToBase::Listed { question }), tick);
    }
    if !joined.is_empty() {
        for entity in cell.reals.ids_where(|real| joined.contains(&real.id.slot())) {
            tell(cell, entity);
        }
    }
}

fn tell(cell: &mut Cell, entity: EntityId) {
    let tick = cell.tick;
    let Some(real) = cell.reals.get_mut(entity) else { return };
    let (epoch, seq, digest) = (real.epoch, real.seq, real.digest);
    // They leave again, so they are durable no earlier than this tick's bundle.
    real.unacked.iter_mut().for_each(|unacked| unacked.tick = tick);
    let steps: Vec<Step> = real.unacked.iter().map(|unacked| unacked.step.clone()).collect();
    cell.tell_base(entity, CellToBase::Holding { entity, epoch, seq, digest });
    for step in steps {
        cell.tell_base(entity, CellToBase::Step(step));
    }
}

/// Forgets ended entities whose last step is durable.
pub fn forget_ended(cell: &mut Cell) {
    let ended: Vec<EntityId> = cell.reals.ended().iter().copied().collect();
    for entity in ended {
        let durable = cell.bases.of(entity).and_then(|link| link.durable);
        let last = cell.reals.get(entity).and_then(|real| real.unacked.back());
        if last.is_none_or(|last| Some(last.tick) <= durable) {
            super::handoff::end(cell, entity);
        }
    }
}
