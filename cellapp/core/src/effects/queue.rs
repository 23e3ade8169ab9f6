//! What waits at an entity until its behaviour may run.

use crate::cell::Cell;
use crate::traffic::dispatch::entity_of;
use bytes::Bytes;
use marchland_common::journal::Refused;
use marchland_common::msg::BaseToCell;
use marchland_common::order::{EntityId, Node, SessionId};

/// Most that waits at one entity. A base has at most 256 commands and messages open for one, so
/// that this bound is met only when a base is at fault.
pub const QUEUE_MAX: usize = 1_024;

/// Queues what a base sends for a real; for anything else the base sends it again with the next
/// grant, so that nothing is forwarded from here.
pub fn put(cell: &mut Cell, from: Node, msg: BaseToCell) {
    let Some(entity) = entity_of(&msg) else { return };
    let Some(real) = cell.reals.get_mut(entity) else {
        cell.refuse(Refused::NotHere, from, entity);
        return;
    };
    if real.refuses || real.queue.len() >= QUEUE_MAX {
        // One that is let in after a lost one would hide it: all wait for the next grant.
        real.refuses = true;
        cell.refuse(Refused::QueueFull, from, entity);
        return;
    }
    real.queue.push_back(msg);
    cell.reals.wait_for(entity);
}

/// Keeps the newest input of an entity's client.
pub fn put_input(cell: &mut Cell, from: Node, entity: EntityId, session: SessionId, input: Bytes) {
    let Some(real) = cell.reals.get_mut(entity) else {
        cell.refuse(Refused::NotHere, from, entity);
        return;
    };
    if real.input.replace((session, input)).is_some() {
        cell.refuse(Refused::InputReplaced, from, entity);
    }
    cell.reals.wait_for(entity);
}
