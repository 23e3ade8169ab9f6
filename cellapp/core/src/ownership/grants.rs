//! Becoming real: offloads are parked, and only a grant makes an entity real.
//!
//! A grant counts only for the life that it names and only under an epoch higher than any seen of
//! the entity. What it activates is the parked offload when that is the very step of the grant of
//! its handoff, for it is fresher in what does not last; else the base's image.

use crate::around::{self, Arrival};
use crate::cell::Cell;
use crate::entities::Real;
use crate::io::CellBug;
use marchland_common::journal::{EndWhy, Event, Refused};
use marchland_common::msg::{CellToBase, Grant, GrantWhy, Offload};
use marchland_common::order::{
    CommandDedup, EntityId, Epoch, Node, NodeKind, SESSIONS_MAX, Seq, Tick,
};
use marchland_common::world::{EntityState, NUMBER_MAX};

/// Parks an offload of another cellapp.
pub fn park(cell: &mut Cell, from: Node, offload: Offload) {
    let entity = offload.entity;
    if !is_plausible_offload(&offload) || !is_sound(cell, entity, &offload.state) {
        cell.refuse(Refused::Malformed, from, entity);
        return;
    }
    if cell.seen.epoch(entity) > offload.epoch || holds(cell, entity, offload.epoch.next_grant()) {
        cell.refuse(Refused::StaleEpoch, from, entity);
        return;
    }
    if cell.has_bug(CellBug::ActivateOnOffload) {
        activate_at_once(cell, from, offload);
    } else if cell.dawdles(8) || !cell.parked.put(cell.tick, from, offload) {
        cell.refuse(Refused::QueueFull, from, entity);
    }
}

/// Takes a base's grant.
pub fn take(cell: &mut Cell, from: Node, grant: Grant) {
    let entity = grant.entity;
    if grant.to != cell.config.node && !cell.has_bug(CellBug::IgnoreIncarnation) {
        cell.refuse(Refused::NotForMe, from, entity);
        return;
    }
    if holds(cell, entity, grant.epoch) {
        // The grant is sent again until our first step is in; nothing is wrong with it.
        return;
    }
    let known = known_epoch(cell, entity);
    if grant.epoch <= known {
        cell.refuse(Refused::GrantStale, from, entity);
        cell.tell_base(entity, CellToBase::GrantStale { entity, epoch: grant.epoch, known });
        return;
    }
    if !cell.accepting || cell.map.is_dead(cell.config.node) || cell.dawdles(8) {
        cell.refuse(Refused::NotAccepting, from, entity);
        return;
    }
    if !is_plausible(grant.epoch, grant.seq) || !is_sound(cell, entity, &grant.state) {
        cell.refuse(Refused::Malformed, from, entity);
        return;
    }
    let parked = cell.parked.take(entity);
    let offload = parked.filter(|(_, offload)| is_for(offload, &grant));
    if offload.is_none() && durable_digest(cell, &grant.state) != Some(grant.digest) {
        cell.refuse(Refused::DigestMismatch, from, entity);
        return;
    }
    activate(cell, from, grant, offload);
}

/// Whether the offload is the very step that the grant goes on from. After a restore it never is:
/// the handoff that it belongs to was called off, and its owner went on, if only in what its
/// clients see and in time.
fn is_for(offload: &Offload, grant: &Grant) -> bool {
    grant.why == GrantWhy::Handoff
        && offload.epoch.next_grant() == grant.epoch
        && (offload.seq, offload.digest) == (grant.seq, grant.digest)
}

/// Whether the entity is real here under exactly this epoch.
fn holds(cell: &Cell, entity: EntityId, epoch: Epoch) -> bool {
    cell.reals.get(entity).is_some_and(|real| real.epoch == epoch)
}

/// The highest epoch that this process knows of an entity.
fn known_epoch(cell: &Cell, entity: EntityId) -> Epoch {
    let real = cell.reals.get(entity).map_or(Epoch::NONE, |real| real.epoch);
    let ghost = cell.around.mirrors.epoch_of(entity).unwrap_or(Epoch::NONE);
    real.max(cell.seen.epoch(entity)).max(ghost)
}

fn durable_digest(cell: &Cell, state: &EntityState) -> Option<u64> {
    cell.world.kinds().get(state.kind).map(|kind| state.durable_digest(kind))
}

fn activate(cell: &mut Cell, from: Node, grant: Grant, offload: Option<(Node, Offload)>) {
    let (entity, epoch, why) = (grant.entity, grant.epoch, grant.why);
    if let Some(old) = cell.reals.get(entity) {
        let (epoch, seq) = (old.epoch, old.seq);
        around::disown(cell, entity);
        super::handoff::end(cell, entity);
        cell.event(Event::Deactivated { entity, epoch, seq, why: EndWhy::Replaced });
    }
    let state = match &offload {
        Some((_, offload)) => offload.state.clone(),
        None => *grant.state,
    };
    let mut real = Real::new(entity, epoch, grant.seq, grant.digest, state);
    if cell.has_bug(CellBug::DedupStays) {
        real.state.commands = CommandDedup::default();
    }
    real.birth = (why == GrantWhy::Birth).then_some(grant.argument);
    real.reported = cell.tick;
    // A process that is catching up may be behind the owner before: it holds the entity still until
    // it comes to a tick that nobody ran.
    real.held_until = grant.last_tick.map(after).filter(|first| *first > cell.tick);
    cell.held.extend(real.held_until.map(|first| (first, entity)));
    real.mark = cell.bases.steps_of(entity);
    // The newest are last; an entity has no more.
    let surplus = grant.sessions.len().saturating_sub(SESSIONS_MAX);
    let sessions = &grant.sessions[surplus..];
    real.sessions_due = sessions.iter().map(|(session, _)| *session).collect();
    let event =
        Event::Activated { entity, epoch, seq: grant.seq, digest: grant.digest, base: from, why };
    cell.seen.note(entity, epoch);
    cell.reals.insert(real);
    crate::effects::timers::list(cell, entity);
    cell.borders.look_at([entity]);
    cell.event(event);
    let arrival = Arrival { why, offload: offload.as_ref(), sessions };
    around::begin(cell, entity, &arrival);
}

const fn after(tick: Tick) -> Tick {
    Tick(tick.0.saturating_add(1))
}

/// Lets the reals run whose first tick this is.
pub fn let_run(cell: &mut Cell) {
    while let Some((first, entity)) = cell.held.first().copied()
        && first <= cell.tick
    {
        cell.held.pop_first();
        let steps = cell.bases.steps_of(entity);
        if let Some(real) = cell.reals.get_mut(entity).filter(|r| r.held_until == Some(first)) {
            (real.held_until, real.mark) = (None, steps);
            crate::effects::timers::list(cell, entity);
        }
    }
}

/// The fault of activating without the base.
fn activate_at_once(cell: &mut Cell, from: Node, offload: Offload) {
    let grant = Grant {
        entity: offload.entity,
        epoch: offload.epoch.next_grant(),
        to: cell.config.node,
        seq: offload.seq,
        digest: offload.digest,
        why: GrantWhy::Handoff,
        state: Box::new(offload.state.clone()),
        sessions: Vec::new(),
        argument: bytes::Bytes::new(),
        last_tick: None,
    };
    let base = cell.bases.keeper(offload.entity.slot()).unwrap_or(from);
    activate(cell, base, grant, Some((from, offload)));
}

/// Whether a state that came from elsewhere may be a real here.
fn is_sound(cell: &Cell, entity: EntityId, state: &EntityState) -> bool {
    let kind = cell.world.kinds().get(state.kind);
    entity.counter() > 0 && kind.is_some_and(|kind| state.is_sound(kind))
}

fn is_plausible(epoch: Epoch, seq: Seq) -> bool {
    (1..NUMBER_MAX).contains(&epoch.0) && seq.0 < NUMBER_MAX
}

/// Most hosts that an offload may name: a cluster has far fewer cellapps.
const HOSTS_MAX: usize = 512;

fn is_plausible_offload(offload: &Offload) -> bool {
    is_plausible(offload.epoch, offload.seq)
        && offload.ghost_seq.0 < NUMBER_MAX
        && offload.ghost_since <= offload.epoch
        && offload.hosts.len() <= HOSTS_MAX
        && offload.hosts.iter().all(|host| host.name.kind == NodeKind::Cell)
        && offload.witnesses.len() <= SESSIONS_MAX
}
