//! The SyncBuild phase: what changed in each real becomes at most one step to its base.
//!
//! A step is due when something durable changed, when a place or volatile property has waited for
//! its turn, as the first of an epoch even if nothing happened, as the last before a handoff, and
//! when the base asked for the whole state. Nothing else is sent, and idle reals are not visited.

use crate::around;
use crate::behaviour::Pending;
use crate::cell::Cell;
use crate::effects::outcomes;
use crate::entities::{Leaving, Real, UnackedStep};
use crate::io::CellBug;
use crate::ownership::handoff;
use marchland_common::journal::{EndWhy, Event};
use marchland_common::msg::{CellToBase, HandoffWhy, Step, StepBody};
use marchland_common::order::{EntityId, Tick};
use marchland_common::world::{Change, KindDef, Kinds, Lasting, Pin};
use std::collections::BTreeSet;

/// Which reals have told their base less than they know, and when they do.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    due: BTreeSet<(Tick, EntityId)>,
}

impl Reports {
    /// Lists a real. It says itself when its report is due.
    pub fn list(&mut self, due: Tick, entity: EntityId) {
        self.due.insert((due, entity));
    }

    /// Takes out everything that is due.
    fn take(&mut self, tick: Tick) -> Vec<EntityId> {
        let later = self.due.split_off(&(tick.next(), EntityId(0)));
        std::mem::replace(&mut self.due, later).into_iter().map(|(_, entity)| entity).collect()
    }
}

/// Builds the steps of this tick, and begins the handoffs that were decided in it.
pub fn build(cell: &mut Cell) {
    let mut ids = cell.reals.take_dirty();
    ids.extend(cell.reports.take(cell.tick));
    ids.sort_unstable();
    ids.dedup();
    let world = cell.world.clone();
    for entity in ids {
        let Some(at) = cell.reals.find(entity) else { continue };
        cell.reals.unlist(at);
        if cell.bases.is_open(entity) && cell.is_up(cell.reals.row(at)) {
            build_one(cell, world.kinds(), at);
        } else {
            put_off(cell, entity);
        }
    }
}

/// Its base does not let it run: what it has to say waits.
fn put_off(cell: &mut Cell, entity: EntityId) {
    let Some(real) = cell.reals.get_mut(entity).filter(|real| real.is_active()) else { return };
    if real.report_due.is_some() {
        let next = cell.tick.next();
        real.report_due = Some(next);
        cell.reports.list(next, entity);
    }
    cell.reals.touch(entity);
}

fn build_one(cell: &mut Cell, kinds: &Kinds, at: usize) {
    let entity = cell.reals.row(at).id;
    outcomes::carry_out(cell, at);
    let tick = cell.tick;
    let (steps, step_us) = (cell.bases.steps_of(entity), cell.config.step_us);
    let real = cell.reals.at(at);
    let Some(kind) = kinds.get(real.state.kind) else { return };
    real.settle(steps, step_us);
    let leaving = real.leaving.take().filter(|_| !real.state.destroyed);
    if let Some(leaving) = leaving {
        note_pin(real, leaving, tick);
    }
    let pending = std::mem::take(&mut real.pending);
    let (moved, timers, awake) = (pending.moved, pending.timers, pending.awake);
    let dirty = pending.dirty_props;
    let step = next_step(real, kind, pending, tick, leaving.is_some());
    if let Some(due) = report_due(real, tick, cell.config.volatile_every) {
        cell.reports.list(due, entity);
    }
    let is_inside = cell.territory.holds(real.state.place, cell.config.border_margin);
    if moved && (!is_inside || cell.borders.watches(entity)) {
        cell.borders.look_at([entity]);
    }
    if timers {
        crate::effects::timers::relist(cell, entity);
    }
    if let Some(awake) = awake {
        cell.reals.set_awake(entity, awake);
    }
    if moved || dirty != 0 {
        around::touch(cell, at, kind, dirty);
    }
    if let Some(step) = step {
        send(cell, at, step);
    }
    finish(cell, at, leaving);
    cell.reals.touch_at(at);
}

/// An operator's hold begins with the step that hands the entity over.
fn note_pin(real: &mut Real, leaving: Leaving, tick: Tick) {
    if !matches!(leaving.why, HandoffWhy::Order(_)) {
        return;
    }
    let until = Tick(tick.0.saturating_add(u64::from(leaving.hold)));
    let pin = (leaving.hold > 0).then_some(Pin { node: leaving.target, until });
    if pin != real.state.pin {
        real.state.pin = pin;
        real.pending.changes.push(Change::Pinned(pin));
    }
}

/// The step that is due now, if one is.
fn next_step(
    real: &mut Real,
    kind: &KindDef,
    pending: Pending,
    tick: Tick,
    is_last: bool,
) -> Option<Step> {
    let durable = durable_mask(kind);
    let is_durable = pending.is_durable(kind);
    real.stale_place |= pending.moved;
    real.stale_props |= pending.dirty_props & !durable;
    let is_first = real.first_tick.is_none();
    let is_whole = std::mem::take(&mut real.snapshot_wanted);
    let reports = is_last || is_whole || real.report_due.is_some_and(|due| due <= tick);
    if !(is_durable || reports || is_first) {
        return None;
    }
    let mut changes = pending.changes;
    let mut props = pending.dirty_props & durable;
    let mut moved = false;
    if reports {
        props |= std::mem::take(&mut real.stale_props);
        moved = std::mem::take(&mut real.stale_place);
        (real.reported, real.report_due) = (tick, None);
    }
    changes.extend(values(real, props));
    if pending.timers {
        changes.push(Change::Timers(real.state.timers.clone()));
    }
    if moved {
        changes.push(Change::Moved(real.state.place, real.state.rng));
    }
    let prev_digest = real.digest;
    if is_durable {
        real.digest = real.state.durable_digest(kind);
    }
    real.seq = real.seq.next();
    let first_tick = *real.first_tick.get_or_insert(tick);
    Some(Step {
        entity: real.id,
        epoch: real.epoch,
        seq: real.seq,
        prev_digest,
        digest: real.digest,
        time: real.state.time,
        first_tick: (is_first || is_whole).then_some(first_tick),
        body: match is_whole {
            true => StepBody::Snapshot(Box::new(real.state.clone())),
            false => StepBody::Delta(changes),
        },
    })
}

/// The newest values of the properties in a mask.
fn values(real: &Real, mask: u32) -> impl Iterator<Item = Change> {
    let values = real.state.props.iter().enumerate();
    values
        .filter(move |(index, _)| mask & (1 << index) != 0)
        .map(|(index, value)| Change::Prop(index as u8, value.clone()))
}

fn durable_mask(kind: &KindDef) -> u32 {
    let durable = kind.props.iter().enumerate().filter(|(_, p)| p.lasting == Lasting::Durable);
    durable.fold(0, |mask, (index, _)| mask | 1 << index)
}

/// When a report becomes due that was not asked for before.
fn report_due(real: &mut Real, tick: Tick, every: u64) -> Option<Tick> {
    let is_stale = real.stale_place || real.stale_props != 0;
    if !is_stale || real.report_due.is_some() {
        return None;
    }
    let due = Tick(real.reported.0.saturating_add(every)).max(tick.next());
    real.report_due = Some(due);
    real.report_due
}

/// Gives a step to the base's bundle, and keeps it until it is known to be durable.
fn send(cell: &mut Cell, at: usize, mut step: Step) {
    let entity = step.entity;
    if cell.has_bug(CellBug::DoubleTick)
        && let Some(first) = &mut step.first_tick
    {
        first.0 = first.0.saturating_sub(1);
    }
    let Step { epoch, seq, prev_digest, digest, .. } = step;
    let (tick, durable) = (cell.tick, cell.bases.of(entity).and_then(|link| link.durable));
    let unacked = &mut cell.reals.at(at).unacked;
    while unacked.front().is_some_and(|unacked| Some(unacked.tick) <= durable) {
        unacked.pop_front();
    }
    unacked.push_back(UnackedStep { tick, step: step.clone() });
    cell.out.stats.steps += 1;
    cell.event(Event::Stepped { entity, epoch, seq, prev_digest, digest });
    cell.tell_base(entity, CellToBase::Step(step));
}

/// Ends the entity, or lets it leave, after its last step.
fn finish(cell: &mut Cell, at: usize, leaving: Option<Leaving>) {
    let real = cell.reals.row(at);
    let entity = real.id;
    if real.state.destroyed {
        let (epoch, seq) = (real.epoch, real.seq);
        handoff::retire(cell, entity);
        cell.event(Event::Deactivated { entity, epoch, seq, why: EndWhy::Destroyed });
    } else if let Some(leaving) = leaving {
        cell.departures.push((entity, leaving));
    }
}
