//! Slots whose entities stand still because their base is about to give them to another one.
//!
//! Invariant: a slot that was closed is opened by the word of a base that keeps it, and only once
//! the map says the same: under a higher term, or under the same one by a later life of the base
//! that closed it, which nobody's order binds any more. The map alone opens nothing, nor does that
//! such a life is there: a base that does not know yet that it keeps the slot, or has given it away
//! while the map here is old, would let its entities run on and answer nothing that they say, not
//! even that somebody else owns them by now. So a slot that another base keeps all at once, because
//! its own was lost, is closed as well.

use crate::cell::Cell;
use crate::traffic::ingress;
use marchland_common::cluster::SlotOwner;
use marchland_common::journal::Refused;
use marchland_common::msg::{CellToBase, Msg};
use marchland_common::order::{Incarnation, Node, SlotId, Term, Tick};
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
    /// Which base was told last, and when.
    said: Option<(Node, Tick)>,
}

impl Closed {
    /// Whether the word of a base that keeps the slot under this term counts.
    fn is_opened_by(&self, base: Node, term: Term) -> bool {
        let later_life = base.name == self.by.name && base > self.by;
        term > self.term || term == self.term && later_life
    }

    /// Whether it is opened for this keeper, as the map names it. Another life than the one that
    /// spoke may have given the slot away, but under a higher term only after it closed it anew.
    fn lets(&self, owner: SlotOwner, keeper: Node) -> bool {
        self.opened.is_some_and(|(by, term)| {
            (by.name, term) == (owner.base, owner.term) && (term > self.term || by == keeper)
        })
    }
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
        let opened = row.lets(owner, keeper);
        if opened {
            self.rows.remove(&owner.slot);
            self.joined.insert(owner.slot);
        }
        opened
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

/// These slots have these keepers from now on; the map says still who had them before. Whoever keeps
/// one that nobody closed has it from a log, and may not have heard of it yet.
pub fn follow_keys(cell: &mut Cell, slots: &[SlotOwner]) {
    for owner in slots {
        let before = cell.map.slot(owner.slot);
        let Some(before) = before.filter(|b| b.base != owner.base && b.term < owner.term) else {
            continue;
        };
        let lost = Node { name: before.base, incarnation: Incarnation(0) };
        let by = cell.bases.keeper(owner.slot).unwrap_or(lost);
        let closed = Closed { by, term: before.term, opened: None, said: None };
        cell.closed.rows.entry(owner.slot).or_insert(closed);
    }
}

/// A base is about to give slots away.
pub fn close(cell: &mut Cell, from: Node, slots: &[(SlotId, Term)]) {
    for (slot, term) in slots.iter().copied() {
        let keeps = cell.bases.keeper(slot) == Some(from);
        let known = cell.closed.rows.get(&slot);
        let again =
            known.is_some_and(|row| row.term == term && row.by.name == from.name && row.by <= from);
        let newer = known.is_some_and(|row| row.term < term);
        let over = cell.map.slot(slot).is_some_and(|owner| owner.term > term);
        if over || !(keeps || again || newer) {
            cell.refusals.add(Refused::WrongBase, Some(from), None);
            continue;
        }
        let opened = known.and_then(|row| row.opened).filter(|(_, opened)| *opened > term);
        cell.closed.rows.insert(slot, Closed { by: from, term, opened, said: None });
        if keeps {
            ingress::move_slot(cell, slot, None);
        }
    }
}

/// A base keeps slots from now on.
pub fn open(cell: &mut Cell, from: Node, slots: &[(SlotId, Term)]) {
    for (slot, term) in slots.iter().copied() {
        if let Some(row) = cell.closed.rows.get_mut(&slot)
            && row.is_opened_by(from, term)
            && row.opened.is_none_or(|(by, known)| (known, by) < (term, from))
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
        let is_due = |keeper: &Node| {
            row.said.is_none_or(|(told, last)| {
                told != *keeper || tick.0 >= last.0.saturating_add(SAY_AGAIN)
            })
        };
        let keeper = cell.map.slot(*slot).and_then(|owner| cell.peers.newest(owner.base));
        if let Some(keeper) = keeper.filter(is_due) {
            row.said = Some((keeper, tick));
            said.entry(keeper).or_default().push((*slot, row.term));
        }
    }
    for (to, slots) in said {
        if !cell.peers.send(to, Msg::CellToBase(CellToBase::SlotsClosed(slots)), tick) {
            cell.refusals.add(Refused::PeerGone, Some(to), None);
        }
    }
}
