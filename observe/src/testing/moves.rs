//! Slots of the model that move from one base to the other: their entities stand still for two ticks,
//! in the first of which the keeper freezes the slot and in the second the other one takes it.

use super::base::slot_of;
use super::{BASES, CELLS, Cluster};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, SlotId, Term};
use std::collections::BTreeSet;

/// What the store says of slots, and how far a move is.
pub struct Keys {
    pub keepers: [usize; BASES],
    term: u64,
    /// Slots whose entities stand still.
    pub closed: BTreeSet<usize>,
    /// The slot that is frozen in this tick, or taken.
    freezes: Option<usize>,
    takes: Option<(usize, usize)>,
    /// What cells are to say in this tick.
    pub followed: Vec<usize>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            keepers: std::array::from_fn(|base| base),
            term: 1_000,
            closed: BTreeSet::new(),
            freezes: None,
            takes: None,
            followed: Vec::new(),
        }
    }
}

impl Keys {
    pub const fn next_term(&mut self) -> Term {
        self.term += 1;
        Term(self.term)
    }
}

const fn slot_id(slot: usize) -> SlotId {
    SlotId(slot as u8)
}

impl Cluster {
    /// Brings moves one tick further, before anybody runs.
    pub fn move_slots(&mut self) {
        self.keys.followed = if self.tick.0 == 1 { (0..BASES).collect() } else { Vec::new() };
        if let Some((slot, _)) = self.keys.takes.take() {
            self.keys.closed.remove(&slot);
            self.keys.followed.push(slot);
        }
        if let Some(slot) = self.keys.freezes.take() {
            self.carry_over(slot);
        }
        let tick = self.tick.0;
        let calm =
            self.plan.restart_at.is_none_or(|at| !(tick.saturating_sub(1)..tick + 3).contains(&at));
        let due = self.plan.moves.iter().find(|(at, _)| *at == tick && calm);
        if let Some((_, slot)) = due {
            self.keys.freezes = Some(*slot);
            self.keys.closed.insert(*slot);
            self.keys.followed.push(*slot);
        }
    }

    /// The other base has everything about a frozen slot.
    fn carry_over(&mut self, slot: usize) {
        let from = self.keys.keepers[slot];
        let to = (from + 1) % BASES;
        let part = self.bases[from].take_out(slot);
        self.bases[to].put_in(part);
        let input = std::mem::take(&mut self.bases[from].input);
        let (moved, stay) = input.into_iter().partition(|input| slot_of(input) == slot);
        self.bases[from].input = stay;
        let moved: Vec<_> = moved;
        self.bases[to].input.extend(moved);
        self.keys.keepers[slot] = to;
        self.keys.takes = Some((slot, from));
    }

    /// What a cell says of the slots in this tick.
    pub fn tell_followed(&self, events: &mut Vec<Event>) {
        for slot in &self.keys.followed {
            let keeper = self.node(CELLS + self.keys.keepers[*slot]);
            let base = (!self.keys.closed.contains(slot)).then_some(keeper);
            events.push(Event::SlotFollowed { slot: slot_id(*slot), base });
        }
    }

    /// Whether an entity stands still.
    pub fn is_closed(&self, entity: EntityId) -> bool {
        self.keys.closed.contains(&usize::from(entity.slot().0))
    }

    /// What a base writes of slots before anything else.
    pub fn follow_keys(&mut self, base: usize, events: &mut Vec<Event>) {
        if self.tick.0 == 1 {
            self.take_slot(base, base, events);
        }
        let Some((slot, from)) = self.keys.takes else { return };
        if base == from {
            let lsn = self.lsn(base);
            // The other one writes its record under the next term.
            let term = Term(self.keys.term + 1 - u64::from(from > self.keys.keepers[slot]));
            events.push(Event::SlotGiven { slot: slot_id(slot), term, lsn });
        } else {
            self.take_slot(base, slot, events);
        }
    }

    fn take_slot(&mut self, base: usize, slot: usize, events: &mut Vec<Event>) {
        let (slot, term, lsn) = (slot_id(slot), self.keys.next_term(), self.lsn(base));
        self.bases[base].keep(slot, term);
        events.push(Event::SlotTaken { slot, term, lsn });
    }

    /// The keeper freezes a slot after everything else of a tick.
    pub fn freeze_slot(&mut self, base: usize, events: &mut Vec<Event>) {
        let Some(slot) = self.keys.freezes.filter(|slot| self.keys.keepers[*slot] == base) else {
            return;
        };
        let to = self.node(CELLS + (base + 1) % BASES).name;
        let (slot, lsn) = (slot_id(slot), self.lsn(base));
        let term = self.bases[base].term_of(slot);
        events.push(Event::SlotFrozen { slot, term, to, lsn });
    }
}
