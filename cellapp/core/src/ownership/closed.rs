//! Slots whose entities stand still because their base is about to give them to another one.
//!
//! Invariant: a slot that was closed under a term is opened by the word of a base that keeps it
//! under a higher one, and only once the map says the same; or by a new life of the base that
//! closed it, which knows nothing of that. The map alone opens nothing: a base that does not know
//! yet that it keeps the slot would let its entities run on without confirming a step.

use crate::cell::Cell;
use crate::traffic::ingress;
use marchland_common::cluster::SlotOwner;
use marchland_common::journal::Refused;
use marchland_common::msg::{CellToBase, Msg};
use marchland_common::order::{Node, SlotId, Term, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Every how many ticks it is said again that a slot is closed.
const SAY_AGAIN: u64 = 8;

/// One slot that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Closed {
    /// Who asked for it.
    by: Node,
    /// The term that is to end.
    term: Term,
    /// The base that opens it, and under which term.
    opened: Option<(Node, Term)>,
    /// When a base was told last.
    said: Option<Tick>,
}

/// All slots that are closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedSlots {
    rows: BTreeMap<SlotId, Closed>,
    /// Slots that became a base's in this tick, which is to be told what stands here of them.
    joined: BTreeSet<SlotId>,
}

impl ClosedSlots {
    /// How many are closed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Who had a slot closed.
    #[must_use]
    pub fn closer(&self, slot: SlotId) -> Option<Node> {
        self.rows.get(&slot).map(|row| row.by)
    }

    /// Whether entities of a slot may run for this keeper. If they may, it is closed no more.
    pub fn lets(&mut self, owner: SlotOwner, keeper: Node) -> bool {
        let Some(row) = self.rows.get(&owner.slot) else { return true };
        let opened =
            row.opened.is_some_and(|(by, term)| (by.name, term) == (owner.base, owner.term));
        let reborn = keeper.name == row.by.name && keeper > row.by && owner.term <= row.term;
        if opened || reborn {
            self.rows.remove(&owner.slot);
            self.joined.insert(owner.slot);
        }
        opened || reborn
    }

    /// A base that knows what stands here keeps one more slot from now on.
    pub fn join(&mut self, slot: SlotId) {
        self.joined.insert(slot);
    }

    /// The slots whose bases are to be told what stands here of them.
    pub fn take_joined(&mut self) -> BTreeSet<SlotId> {
        std::mem::take(&mut self.joined)
    }
}

/// A base is about to give slots away.
pub fn close(cell: &mut Cell, from: Node, slots: &[(SlotId, Term)]) {
    for (slot, term) in slots.iter().copied() {
        let keeps = cell.bases.keeper(slot) == Some(from);
        let known = cell.closed.rows.get(&slot);
        let again = known.is_some_and(|row| (row.by, row.term) == (from, term));
        let newer = known.is_some_and(|row| row.term < term);
        let over = cell.map.slot(slot).is_some_and(|owner| owner.term > term);
        if over || !(keeps || again || newer) {
            cell.refusals.add(Refused::WrongBase, Some(from), None);
            continue;
        }
        cell.closed.rows.insert(slot, Closed { by: from, term, opened: None, said: None });
        if keeps {
            ingress::move_slot(cell, slot, None);
        }
    }
}

/// A base keeps slots from now on.
pub fn open(cell: &mut Cell, from: Node, slots: &[(SlotId, Term)]) {
    for (slot, term) in slots.iter().copied() {
        if let Some(row) = cell.closed.rows.get_mut(&slot)
            && term > row.term
            && row.opened.is_none_or(|(_, known)| known < term)
        {
            row.opened = Some((from, term));
        }
    }
    ingress::follow_bases(cell);
}

/// Says which slots are closed, to whoever keeps them by now.
pub fn say(cell: &mut Cell) {
    let tick = cell.tick;
    let mut said: BTreeMap<Node, Vec<(SlotId, Term)>> = BTreeMap::new();
    for (slot, row) in &mut cell.closed.rows {
        let due = row.said.is_none_or(|last| tick.0 >= last.0.saturating_add(SAY_AGAIN));
        let keeper = cell.map.slot(*slot).and_then(|owner| cell.peers.newest(owner.base));
        if let Some(keeper) = keeper.filter(|_| due) {
            row.said = Some(tick);
            said.entry(keeper).or_default().push((*slot, row.term));
        }
    }
    for (to, slots) in said {
        if !cell.peers.send(to, Msg::CellToBase(CellToBase::SlotsClosed(slots)), tick) {
            cell.refusals.add(Refused::PeerGone, Some(to), None);
        }
    }
}
