//! The Flush phase: one bundle to every peer, empty or not, and the figures of the tick.

use crate::around;
use crate::cell::Cell;
use marchland_common::journal::Refused;
use marchland_common::msg::{Bundle, Header, Moment, Outgoing, SCHEMA};
use marchland_common::order::{Node, NodeKind};

/// Ends what has waited too long.
pub fn expire(cell: &mut Cell) {
    for entity in cell.parked.expire(cell.tick, cell.config.offload_ttl) {
        cell.refusals.add(Refused::OffloadExpired, None, Some(entity));
    }
}

/// Makes the bundles.
pub fn send(cell: &mut Cell) {
    let live = cell.peers.live(cell.tick);
    for (node, lost) in cell.peers.drop_unreachable(&live) {
        cell.refusals.add_many(Refused::PeerGone, Some(node), None, lost);
        around::reset(cell, node);
    }
    let has_room = cell.reals.len() < cell.config.reals_max;
    let accepting = cell.accepting && !cell.halted && !cell.drain.is_on() && has_room;
    for to in live {
        // A bundle that takes one message leaves the rest for the next tick, in order.
        let bytes_max = if cell.dawdles(40) { 0 } else { cell.config.bundle_bytes_max };
        let taken = cell.peers.take_bundle(to, bytes_max);
        let Some((n, msgs)) = taken else { continue };
        let header = header_for(cell, to, accepting);
        let (src_tick, moment) = (cell.tick, Moment::Flush);
        let bundle = Bundle { n, src_tick, moment, phase_us: 0, header, msgs };
        cell.out.bundles.push(Outgoing { to, bundle });
    }
}

fn header_for(cell: &Cell, to: Node, accepting: bool) -> Header {
    match to.name.kind {
        NodeKind::Base => {
            let steps = cell.bases.link(to).map_or(0, |link| link.steps);
            Header::CellToBase { steps, accepting, schema: SCHEMA }
        }
        NodeKind::Cell | NodeKind::Manager | NodeKind::Client => Header::Peer,
    }
}

/// Writes down what the tick was.
pub fn report(cell: &mut Cell) {
    let refused = cell.refusals.take();
    cell.out.events.extend(refused);
    let stats = &mut cell.out.stats;
    stats.reals = cell.reals.len();
    stats.frozen = cell.reals.frozen().len();
    stats.ghosts = cell.around.mirrors.len();
    stats.ghosts_stale = cell.around.mirrors.stale();
    stats.witnesses = cell.around.witnesses.len();
    stats.signals_held = cell.around.signals.held();
    stats.parked = cell.parked.len();
    stats.held_back = cell.peers.waiting();
    stats.waiting = cell.bases.closed_slots().map(|slot| cell.reals.count_of(slot)).sum();
}
