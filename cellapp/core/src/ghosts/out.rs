//! What the ghosts' rooms produce in a tick.

use marchland_common::journal::{Event, Refused};
use marchland_common::msg::CellToCell;
use marchland_common::order::{EntityId, Node};

/// Something that had no effect, and why: to be counted and journalled by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Refused,
    /// Whose it was, if a peer's.
    pub from: Option<Node>,
    /// About whom, if about one.
    pub entity: Option<EntityId>,
    /// How often, at least once.
    pub count: u32,
}

/// What a tick's work on ghosts leads to. One is kept for a whole tick and emptied at its flush.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GhostOut {
    /// Messages, in the order in which each receiver must get them.
    pub mail: Vec<(Node, CellToCell)>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What was refused.
    pub refusals: Vec<Refusal>,
    /// Ghost deltas sent, over all hosts.
    pub deltas: usize,
}

impl GhostOut {
    pub(super) fn send(&mut self, to: Node, message: CellToCell) {
        self.mail.push((to, message));
    }

    pub(super) fn refuse(
        &mut self,
        reason: Refused,
        from: Option<Node>,
        entity: Option<EntityId>,
        count: u32,
    ) {
        if count > 0 {
            self.refusals.push(Refusal { reason, from, entity, count });
        }
    }
}
