//! What goes out to everybody around, in the SyncBuild phase.

use super::{Around, whereabouts};
use crate::cell::Cell;
use crate::ghosts::{Handed, Refusal};
use bytes::Bytes;
use marchland_common::journal::Event;
use marchland_common::msg::{CellToBase, CellToCell, Signal, WitnessState};
use marchland_common::order::{EntityId, Seq, SignalWindow};
use marchland_common::world::KindDef;

/// The real that was found there changed: `dirty` says which of its properties, by bit.
pub fn touch(cell: &mut Cell, at: usize, kind: &KindDef, dirty: u32) {
    let real = cell.reals.row(at);
    if real.is_active() {
        let Around { haunts, looks, .. } = &mut cell.around;
        haunts.touch(real.id, kind, &real.state.place, (&real.state.props, dirty), looks);
    }
}

/// A real signals somebody.
pub fn show(cell: &mut Cell, source: EntityId, to: EntityId, payload: Bytes) {
    let Some(epoch) = cell.reals.get(source).map(|real| real.epoch) else { return };
    let Around { mirrors, signals, signal_out, .. } = &mut cell.around;
    let at = whereabouts(&cell.reals, mirrors, to);
    signals.send((source, epoch), (to, at), payload, cell.tick, signal_out);
}

/// Tells hosts and clients what this tick changed. All reals that changed were touched before.
pub fn watch(cell: &mut Cell) {
    let Around { looks, haunts, witnesses, ghost_out, view_out, watches, .. } = &mut cell.around;
    for (entity, session, radius) in std::mem::take(watches) {
        match radius {
            Some(radius) => witnesses.attach(entity, session, radius, view_out),
            None => witnesses.detach(entity, session, view_out),
        }
    }
    haunts.flush(cell.tick, looks, ghost_out);
    let mut events = std::mem::take(&mut view_out.events);
    witnesses.run(cell.tick, looks, &mut cell.views, view_out);
    let fresh = view_out.views.iter().filter(|view| view.fresh);
    events.extend(fresh.map(|view| {
        let (witness, session) = (view.entity, view.session);
        Event::ViewRestarted { witness, session }
    }));
    events.append(&mut view_out.events);
    view_out.events = events;
}

/// Everything around a real that is handed over, for its offload.
pub struct Departure {
    pub ghosts: Handed,
    pub witnesses: Vec<WitnessState>,
    pub signals: SignalWindow<Signal>,
}

/// Stops everything around a real whose handoff begins. Called after the last of this tick was
/// told.
pub fn depart(cell: &mut Cell, entity: EntityId) -> Option<Departure> {
    let (now, world) = (cell.tick, cell.world.clone());
    let epoch = cell.reals.get(entity)?.epoch;
    let Around { looks, haunts, witnesses, signals, .. } = &mut cell.around;
    let nothing = Handed { ghost_seq: Seq(1), ghost_since: epoch, hosts: Vec::new() };
    let ghosts = haunts.freeze(entity, looks).unwrap_or(nothing);
    let witnesses = witnesses.freeze(entity);
    let signals = signals.window(entity);
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.from_real(entity, epoch, cx));
    Some(Departure { ghosts, witnesses, signals })
}

/// Gives what these rooms produced to the bundles and the journal: ghosts first, then signals, so
/// that nobody hears of an entity before it is shown.
pub fn post(cell: &mut Cell) {
    let ghosts = std::mem::take(&mut cell.around.ghost_out);
    let signals = std::mem::take(&mut cell.around.signal_out);
    let views = std::mem::take(&mut cell.around.view_out);
    cell.out.events.extend(ghosts.events);
    cell.out.events.extend(signals.events);
    cell.out.events.extend(views.events);
    cell.out.stats.deltas += ghosts.deltas;
    let refused = ghosts.refusals.into_iter().chain(signals.refusals);
    for Refusal { reason, from, entity, count } in refused {
        cell.refusals.add_many(reason, from, entity, count);
    }
    for (to, what) in ghosts.mail {
        cell.tell_cell(to, None, what);
    }
    for (to, signal) in signals.mail {
        cell.tell_cell(to, Some(signal.to), CellToCell::Signal(signal));
    }
    for view in views.views {
        cell.tell_base(view.entity, CellToBase::View(view));
    }
}
