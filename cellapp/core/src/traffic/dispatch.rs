//! Each message to the room that it is for.

use crate::around;
use crate::cell::Cell;
use crate::effects::queue;
use crate::ownership::{closed, grants, handoff, orders, resync};
use marchland_common::journal::Refused;
use marchland_common::msg::{BaseToCell, CellToCell, Msg};
use marchland_common::order::{EntityId, Node, NodeKind};

/// Takes one message of a peer.
pub fn take(cell: &mut Cell, from: Node, msg: Msg) {
    match msg {
        Msg::BaseToCell(msg) if from.name.kind == NodeKind::Base => from_base(cell, from, msg),
        Msg::CellToCell(msg) if from.name.kind == NodeKind::Cell => from_cell(cell, from, msg),
        Msg::BaseToCell(_) | Msg::CellToCell(_) | Msg::CellToBase(_) | Msg::BaseToBase(_) => {
            cell.refusals.add(Refused::WrongDirection, Some(from), None);
        }
    }
}

fn from_base(cell: &mut Cell, from: Node, msg: BaseToCell) {
    if let Some(entity) = entity_of(&msg)
        && cell.bases.keeper(entity.slot()) != Some(from)
        // What its base still has to say before it gives a slot away.
        && cell.closed.closer(entity.slot()) != Some(from)
    {
        cell.refuse(Refused::WrongBase, from, entity);
        return;
    }
    match msg {
        BaseToCell::Ack { entity, epoch, seq } => resync::acked(cell, from, entity, epoch, seq),
        BaseToCell::Grant(grant) => grants::take(cell, from, grant),
        BaseToCell::Abort { entity, epoch, seq, reason } => {
            handoff::abort(cell, from, entity, (epoch, seq), reason);
        }
        BaseToCell::Release { entity, epoch } => handoff::release(cell, from, entity, epoch),
        BaseToCell::Fenced { entity, epoch, current } => {
            handoff::fenced(cell, from, entity, epoch, current);
        }
        BaseToCell::NeedSnapshot { entity, epoch, .. } => {
            resync::need_snapshot(cell, from, entity, epoch);
        }
        BaseToCell::Order(order) => orders::take(cell, order),
        BaseToCell::Resync { question } => resync::asked(cell, from, question),
        BaseToCell::CloseSlots(slots) => closed::close(cell, from, &slots),
        BaseToCell::OpenSlots(slots) => closed::open(cell, from, &slots),
        BaseToCell::Input { entity, session, payload } => {
            queue::put_input(cell, from, entity, session, payload);
        }
        waits @ (BaseToCell::Command(_)
        | BaseToCell::Inbox(_)
        | BaseToCell::Answer { .. }
        | BaseToCell::Settled { .. }
        | BaseToCell::Attach { .. }
        | BaseToCell::Detach { .. }
        | BaseToCell::Destroy { .. }) => queue::put(cell, from, waits),
    }
}

fn from_cell(cell: &mut Cell, from: Node, msg: CellToCell) {
    match msg {
        CellToCell::Offload(offload) => grants::park(cell, from, *offload),
        ghost_or_signal => {
            around::take(cell, from, ghost_or_signal);
            // In the order in which it happened: a grant of the same tick may end the ghost.
            let happened = std::mem::take(&mut cell.around.ghost_out.events);
            cell.out.events.extend(happened);
        }
    }
}

/// The entity that a base speaks of.
pub const fn entity_of(msg: &BaseToCell) -> Option<EntityId> {
    match msg {
        BaseToCell::Ack { entity, .. }
        | BaseToCell::Abort { entity, .. }
        | BaseToCell::Release { entity, .. }
        | BaseToCell::Fenced { entity, .. }
        | BaseToCell::NeedSnapshot { entity, .. }
        | BaseToCell::Input { entity, .. }
        | BaseToCell::Answer { entity, .. }
        | BaseToCell::Settled { entity, .. }
        | BaseToCell::Attach { entity, .. }
        | BaseToCell::Detach { entity, .. }
        | BaseToCell::Destroy { entity } => Some(*entity),
        BaseToCell::Grant(grant) => Some(grant.entity),
        BaseToCell::Command(command) => Some(command.entity),
        BaseToCell::Inbox(message) => Some(message.entity),
        BaseToCell::Order(order) => Some(order.entity),
        BaseToCell::Resync { .. } | BaseToCell::CloseSlots(_) | BaseToCell::OpenSlots(_) => None,
    }
}
