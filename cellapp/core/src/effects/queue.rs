//! What waits at an entity until its behaviour may run.

use crate::cell::Cell;
use crate::traffic::dispatch::entity_of;
use bytes::Bytes;
use marchland_common::journal::Refused;
use marchland_common::msg::BaseToCell;
use marchland_common::order::{EntityId, Node, SessionId};

/// Most that waits at one entity. A base has at most 256 commands and messages open for one, and
/// what it sends again does not wait twice, so that this bound is met only when a base is at fault.
pub const QUEUE_MAX: usize = 1_024;

/// Queues what a base sends for a real; for anything else the base sends it again with the next
/// grant, so that nothing is forwarded from here.
pub fn put(cell: &mut Cell, from: Node, msg: BaseToCell) {
    let Some(entity) = entity_of(&msg) else { return };
    let Some(real) = cell.reals.get_mut(entity) else {
        cell.refuse(Refused::NotHere, from, entity);
        return;
    };
    if let Some(waiting) = real.queue.iter_mut().find(|waiting| says_the_same(waiting, &msg)) {
        let reason = repeated(&msg);
        *waiting = newer(waiting, msg);
        cell.refuse(reason, from, entity);
        return;
    }
    if real.refuses || real.queue.len() >= QUEUE_MAX {
        // One that is let in after a lost one would hide it: all wait for the next grant.
        real.refuses = true;
        cell.refuse(Refused::QueueFull, from, entity);
        return;
    }
    real.queue.push_back(msg);
    cell.reals.wait_for(entity);
}

/// Whether two messages for one entity are the same one, sent twice.
fn says_the_same(one: &BaseToCell, other: &BaseToCell) -> bool {
    use BaseToCell::{Answer, Attach, Command, Destroy, Detach, Inbox, Settled};
    match (one, other) {
        (Command(a), Command(b)) => (a.session, a.n) == (b.session, b.n),
        (Inbox(a), Inbox(b)) => (a.source, a.out_seq) == (b.source, b.out_seq),
        (Answer { out_seq: a, .. }, Answer { out_seq: b, .. }) => a == b,
        (Settled { source: a, .. }, Settled { source: b, .. }) => a == b,
        (Attach { session: a, .. }, Attach { session: b, .. })
        | (Detach { session: a, .. }, Detach { session: b, .. }) => a == b,
        (Destroy { .. }, Destroy { .. }) => true,
        _ => false,
    }
}

/// Which of two sendings of the same counts: the newer one, which never says less.
fn newer(old: &BaseToCell, new: BaseToCell) -> BaseToCell {
    match (old, new) {
        (
            BaseToCell::Settled { through: known, .. },
            BaseToCell::Settled { entity, source, through },
        ) => BaseToCell::Settled { entity, source, through: through.max(*known) },
        (_, new) => new,
    }
}

const fn repeated(msg: &BaseToCell) -> Refused {
    match msg {
        BaseToCell::Command(_) => Refused::DuplicateCommand,
        BaseToCell::Answer { .. } => Refused::DuplicateAnswer,
        _ => Refused::DuplicateMessage,
    }
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
