//! Whose a slot is: what the store says becomes this base's own on the record, or leaves it.

use super::Terms;
use crate::core::BaseCore;
use crate::gate::Held;
use crate::io::BaseBug;
use crate::log::LogRecord;
use marchland_common::journal::Event;
use marchland_common::msg::BaseToCell;
use marchland_common::order::{EntityId, Node, NodeKind, SlotId, Term};

impl BaseCore {
    /// Follows the keys of the slots: each term of this base's own is written down once, and what
    /// it froze for another base leaves once the key names that base.
    pub(crate) fn follow_slots(&mut self) {
        if self.is_frozen() {
            return;
        }
        self.end_adoptions();
        self.give_away();
        self.drop_void_imports();
        self.take_slots();
    }

    /// Tells which slots this life goes on with: an audit need not have seen how they came.
    pub(crate) fn tell_kept(&mut self) {
        let rows: Terms = self.store.slots.iter().map(|(slot, row)| (*slot, row.term)).collect();
        for (slot, term) in rows {
            self.tell_adopted(slot, term);
            let frozen_for = self.store.leaving.get(&slot).map(|leave| leave.to);
            self.event(Event::SlotKept { slot, term, frozen_for });
        }
    }

    /// Tells where what this base keeps of a slot comes from, if that is another one's log.
    fn tell_adopted(&mut self, slot: SlotId, term: Term) {
        if let Some((from, through)) = self.store.adopted.get(&slot).copied() {
            self.event(Event::SlotAdopted { slot, term, from, through });
        }
    }

    fn take_slots(&mut self) {
        let new: Vec<_> = self
            .map
            .slots_of(self.config.node.name)
            .filter(|s| self.store.slots.get(&s.slot).is_none_or(|row| row.term < s.term))
            .filter(|s| self.store.imports.get(&s.slot).is_none_or(crate::log::Import::is_whole))
            .collect();
        let mut opened = Terms::new();
        for owner in new {
            let (slot, term) = (owner.slot, owner.term);
            let is_new = self.store.imports.contains_key(&slot);
            let went_on = self.store.slots.contains_key(&slot);
            let lsn = self.write(&LogRecord::SlotTaken { slot, term });
            self.tell_adopted(slot, term);
            self.event(Event::SlotTaken { slot, term, lsn });
            self.end_give(slot);
            if is_new {
                self.take_up_slot(slot, lsn);
            } else if !went_on {
                self.begin_ids(slot);
            }
            if is_new || went_on {
                opened.push((slot, term));
            }
        }
        if !opened.is_empty() {
            for cell in self.live_cells() {
                self.open_slots(cell, opened.clone());
            }
        }
    }

    /// Nobody has a record of this slot: its ids begin where none ever were.
    fn begin_ids(&mut self, slot: SlotId) {
        let upto = self.config.ids_from;
        if upto > 0 {
            self.write(&LogRecord::IdsReserved { slot, upto });
            self.counters.insert(slot, upto);
        }
    }

    /// Tells a cellapp that entities of these slots may run.
    pub(crate) fn open_slots(&mut self, to: Node, slots: Terms) {
        self.leave(self.gate.last, Held::Cell(to, BaseToCell::OpenSlots(slots)));
    }

    /// The cellapps that are registered and not declared dead.
    pub(crate) fn live_cells(&self) -> Vec<Node> {
        let members = self.map.members().iter().map(|m| m.node);
        members.filter(|n| n.name.kind == NodeKind::Cell && !self.map.is_dead(*n)).collect()
    }

    /// Whether this base keeps a slot and may write about it.
    pub(crate) fn keeps(&self, slot: SlotId) -> bool {
        let here = self.map.slot(slot).is_some_and(|s| s.base == self.config.node.name);
        here && !self.is_away(slot) && self.store.slots.contains_key(&slot)
    }

    /// Whether a slot is another base's, or on its way to or from one: nothing is accepted for it.
    pub(crate) fn is_away(&self, slot: SlotId) -> bool {
        if self.store.leaving.contains_key(&slot) {
            return true;
        }
        if self.has_bug(BaseBug::KeepsGiven) && self.store.slots.contains_key(&slot) {
            return false;
        }
        let Some(owner) = self.map.slot(slot) else { return false };
        let taken = self.store.slots.get(&slot).is_some_and(|row| row.term >= owner.term);
        owner.base != self.config.node.name || !taken
    }

    /// Whether the entity belongs to such a slot.
    pub(crate) fn is_elsewhere(&self, entity: EntityId) -> bool {
        self.is_away(entity.slot())
    }

    /// The slots under this base's own term.
    pub(crate) fn kept_under(&self, slot: SlotId) -> Option<Term> {
        let row = self.store.slots.get(&slot).filter(|_| self.keeps(slot))?;
        Some(row.term)
    }
}
