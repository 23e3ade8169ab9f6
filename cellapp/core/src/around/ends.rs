//! What the beginning and the end of a real here mean to everybody around it.

use super::Around;
use crate::cell::Cell;
use crate::ghosts::{Beginning, NewReal};
use marchland_common::msg::{GrantWhy, Offload};
use marchland_common::order::{EntityId, Node, SessionId};

/// Where a real that begins here comes from.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Why it was granted.
    pub why: GrantWhy,
    /// What its last owner sent of it, and who that was.
    pub offload: Option<&'a (Node, Offload)>,
    /// Its sessions and how far they see, in millimetres.
    pub sessions: &'a [(SessionId, i32)],
}

/// A real begins: its ghost here ends, hosts are told who owns it now, and its clients go on.
pub fn begin(cell: &mut Cell, entity: EntityId, arrival: &Arrival<'_>) {
    let (now, world) = (cell.tick, cell.world.clone());
    let Some(real) = cell.reals.get(entity) else { return };
    let Some(kind) = world.kinds().get(real.state.kind) else { return };
    let (place, props) = (real.state.place, &real.state.props[..]);
    let new = NewReal { entity, epoch: real.epoch, kind, place, props };
    let from = match (arrival.offload, arrival.why) {
        (Some((from, offload)), _) => Beginning::Handoff {
            from: *from,
            ghost_seq: offload.ghost_seq,
            ghost_since: offload.ghost_since,
            hosts: &offload.hosts,
        },
        (None, GrantWhy::Birth) => Beginning::Birth,
        (None, GrantWhy::Handoff | GrantWhy::Restore) => Beginning::Restore,
    };
    let Around { looks, haunts, mirrors, witnesses, signals, ghost_out, .. } = &mut cell.around;
    mirrors.take_over(entity, ghost_out);
    haunts.begin(&new, from, now, looks, ghost_out);
    let states = arrival.offload.map_or(&[][..], |(_, offload)| &offload.witnesses);
    witnesses.resume(entity, arrival.sessions, states);
    if let Some((_, offload)) = arrival.offload {
        signals.adopt(entity, offload.signals.clone());
    }
}

/// A copy that stood here is replaced by a grant: its ghosts wait for the next word.
pub fn disown(cell: &mut Cell, entity: EntityId) {
    let Around { haunts, witnesses, signals, ghost_out, .. } = &mut cell.around;
    haunts.disown(entity, ghost_out);
    witnesses.forget(entity);
    signals.end(entity);
}

/// A frozen copy is gone because the next owner reported, or a base said so.
pub fn released(cell: &mut Cell, entity: EntityId) {
    disown(cell, entity);
    let (now, world) = (cell.tick, cell.world.clone());
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.released(entity, cx));
}

/// A real that ran is gone: it is shown as a ghost, so that nobody sees it go and come.
pub fn fenced(cell: &mut Cell, entity: EntityId) {
    let (now, world) = (cell.tick, cell.world.clone());
    if let Some(real) = cell.reals.get(entity).filter(|real| real.is_active()) {
        let epoch = real.epoch;
        cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.from_real(entity, epoch, cx));
    }
    released(cell, entity);
}

/// A frozen real goes on.
pub fn thaw(cell: &mut Cell, entity: EntityId) {
    let Around { looks, haunts, mirrors, witnesses, .. } = &mut cell.around;
    if mirrors.take_back(entity, looks) {
        haunts.thaw(entity);
        witnesses.thaw(entity);
        return;
    }
    // Another owner claimed the ghost meanwhile, against the word of the base: the real is shown
    // from nothing.
    let sessions = witnesses.sessions(entity);
    let arrival = Arrival { why: GrantWhy::Restore, offload: None, sessions: &sessions };
    disown(cell, entity);
    begin(cell, entity, &arrival);
}

/// The entity ended here for good.
pub fn ended(cell: &mut Cell, entity: EntityId) {
    let Some(epoch) = cell.reals.get(entity).map(|real| real.epoch) else { return };
    let now = cell.tick;
    let Around { looks, haunts, mirrors, witnesses, signals, ghost_out, view_out, .. } =
        &mut cell.around;
    haunts.destroy(entity, looks, ghost_out);
    mirrors.bury(entity, epoch, true, now);
    witnesses.end(entity, view_out);
    signals.end(entity);
}
