//! What came in for ghosts and signals, in the Network phase.

use super::whereabouts;
use crate::cell::Cell;
use crate::effects::queue::QUEUE_MAX;
use crate::ghosts::Reach;
use marchland_common::cluster::MapChange;
use marchland_common::journal::Refused;
use marchland_common::msg::CellToCell;
use marchland_common::order::{EntityId, Node, SpaceId};

/// Follows the map: where ghosts are needed, and how far spaces reach.
pub fn follow_map(cell: &mut Cell, gone: &[SpaceId]) {
    cell.around.haunts.set_reach(Reach::new(cell.config.node, &cell.map));
    for layout in cell.map.layouts() {
        cell.around.looks.open_space(layout.space, layout.bounds);
    }
    for space in gone {
        cell.around.looks.close_space(*space);
    }
}

/// The spaces that a list of changes ends.
pub fn bridge(changes: &[MapChange]) -> Vec<SpaceId> {
    let gone = changes.iter().filter_map(|change| match change {
        MapChange::SpaceGone(space) => Some(*space),
        _ => None,
    });
    gone.collect()
}

/// A life is over: it holds no ghosts, and nobody speaks for those that followed it.
pub fn forget(cell: &mut Cell, node: Node) {
    cell.around.haunts.forget_host(node);
    let (now, world) = (cell.tick, cell.world.clone());
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.forget_owner(node, cx));
}

/// Messages between this process and a life that goes on were lost: what hangs on their order
/// begins anew on both sides.
pub fn reset(cell: &mut Cell, node: Node) {
    cell.around.haunts.restart_host(node);
    let (now, world) = (cell.tick, cell.world.clone());
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.forget_owner(node, cx));
}

/// A bundle of another cellapp is about to be read.
pub fn hear(cell: &mut Cell, from: Node) {
    let (now, world) = (cell.tick, cell.world.clone());
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.heard(from, cx));
}

/// Takes a message about a ghost, or a signal.
pub fn take(cell: &mut Cell, from: Node, msg: CellToCell) {
    match msg {
        CellToCell::Signal(signal) => cell.around.arrived.push(signal),
        CellToCell::GhostNeedSnapshot { entity, epoch } => {
            let super::Around { haunts, ghost_out, .. } = &mut cell.around;
            haunts.need_snapshot(from, entity, epoch, ghost_out);
        }
        msg => {
            let (now, world) = (cell.tick, cell.world.clone());
            cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.apply(from, &msg, cx));
        }
    }
}

/// Ends the ingress: ages ghosts, and brings signals to the reals that they are for.
pub fn settle(cell: &mut Cell) {
    let (now, world) = (cell.tick, cell.world.clone());
    cell.around.mirrors(now, world.kinds(), |mirrors, cx| mirrors.tick(cx));
    let reals = &cell.reals;
    let super::Around { mirrors, signals, signal_out, arrived, .. } = &mut cell.around;
    signals.receive_own(|entity| whereabouts(reals, mirrors, entity), now, signal_out);
    for signal in std::mem::take(arrived) {
        let at = whereabouts(reals, mirrors, signal.to);
        signals.receive(signal, at, now, signal_out);
    }
    signals.tick(now, signal_out);
    for signal in std::mem::take(&mut signal_out.ready) {
        let to: EntityId = signal.to;
        let room = cell.reals.get_mut(to).filter(|real| real.signals.len() < QUEUE_MAX);
        let Some(real) = room else {
            cell.refusals.add(Refused::QueueFull, None, Some(to));
            continue;
        };
        real.signals.push_back(signal);
        cell.reals.wait_for(to);
    }
    super::post(cell);
}
