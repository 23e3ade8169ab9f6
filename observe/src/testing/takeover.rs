//! A base of the model that is lost: the other one goes on from its log in the next tick, and when it
//! comes back it gives up what it had.

use super::{CELLS, Cluster};
use marchland_common::journal::Event;
use marchland_common::order::{Lsn, Node, SlotId, Term};

/// A base that is lost, and what its log keeps.
pub struct Lost {
    node: Node,
    through: Lsn,
    slots: Vec<(SlotId, Term)>,
    /// Under which terms the other one has the slots.
    pub taken: Vec<(SlotId, Term)>,
    /// The other one takes them in this tick.
    takes: bool,
    /// It is back, and has not said anything.
    pub returns: bool,
}

impl Cluster {
    pub fn is_lost(&self, base: usize) -> bool {
        base == 0 && self.lost.as_ref().is_some_and(|lost| !lost.returns)
    }

    /// The first base is killed: what it did not sync never happened, and comes to the other one.
    pub fn lose_base(&mut self) {
        let node = self.node(CELLS);
        let (through, slots) = self.bases[0].fall_back();
        for (slot, _) in &slots {
            let slot = usize::from(slot.0);
            let part = self.bases[0].take_out(slot);
            self.bases[1].put_in(part);
            self.keys.keepers[slot] = 1;
        }
        let input = std::mem::take(&mut self.bases[0].input);
        self.bases[1].input.extend(input);
        self.writer.restart(CELLS);
        let taken = Vec::new();
        self.lost = Some(Lost { node, through, slots, taken, takes: true, returns: false });
    }

    /// Its next life begins.
    pub fn bring_back(&mut self) {
        let tick = self.tick.0;
        if self.plan.lost.is_some_and(|(_, back)| back == tick)
            && let Some(lost) = &mut self.lost
        {
            lost.returns = true;
        }
        if self.lost.as_ref().is_some_and(|lost| lost.takes) {
            let slots = self.lost.iter().flat_map(|lost| &lost.slots);
            self.keys.followed.extend(slots.map(|(slot, _)| usize::from(slot.0)));
        }
    }

    /// What a base writes of slots that were lost before anything else.
    pub fn follow_loss(&mut self, base: usize, events: &mut Vec<Event>) {
        let Some(mut lost) = self.lost.take() else { return };
        if base == 1 && std::mem::take(&mut lost.takes) {
            for (slot, _) in &lost.slots {
                let (slot, term, lsn) = (*slot, self.keys.next_term(), self.lsn(base));
                self.bases[base].keep(slot, term);
                let (from, through) = (lost.node, lost.through);
                events.push(Event::SlotAdopted { slot, term, from, through });
                events.push(Event::SlotTaken { slot, term, lsn });
                lost.taken.push((slot, term));
            }
        }
        if base == 0 && lost.returns {
            events.push(Event::Recovered { lsn: lost.through });
            for (slot, term) in &lost.slots {
                events.push(Event::SlotKept { slot: *slot, term: *term, frozen_for: None });
            }
            for (slot, term) in &lost.taken {
                let lsn = self.lsn(base);
                events.push(Event::SlotGiven { slot: *slot, term: *term, lsn });
            }
            events.extend((0..CELLS).map(|cell| Event::Listed { cell: self.node(cell) }));
            return;
        }
        self.lost = Some(lost);
    }
}
