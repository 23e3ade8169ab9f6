//! The keeper's side: its cellapps let the entities stand still, it freezes the slot, and sends
//! what it has until the next keeper holds it.

use super::{Closing, Give, Terms};
use crate::core::BaseCore;
use crate::gate::Held;
use crate::io::{BaseBug, ClientFrame, MoveStage, SlotMove, ToClient};
use crate::log::{CHUNKS_MAX, Image, LogRecord};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToBase, BaseToCell, HandoffRefusal, Msg};
use marchland_common::order::{EntityId, Lsn, Node, NodeKind, NodeName, SessionId, SlotId, Term};
use std::collections::BTreeSet;

/// After how many ticks a cellapp that does not answer is asked again.
const ASK_AGAIN: u64 = 8;
/// After how many ticks without a word of the next keeper pieces are sent again.
const SEND_AGAIN: u64 = 10;
/// Most pieces that leave in a tick: a bundle must stay far below what a link takes.
const CHUNKS_A_TICK: u32 = 16;

impl BaseCore {
    /// An order to give slots away. Repeating it changes nothing; what this base does not keep
    /// under the term that the order names is counted and left alone.
    pub(crate) fn order_give(&mut self, slots: &[(SlotId, Term)], to: NodeName) {
        for (slot, term) in slots.iter().copied() {
            let known = self.gives.get(&slot).is_some_and(|g| (g.term, g.to) == (term, to));
            if known {
                continue;
            }
            let can_keep = to.kind == NodeKind::Base && to != self.config.node.name;
            let mine = self.kept_under(slot) == Some(term) && !self.gives.contains_key(&slot);
            if can_keep && mine {
                self.gives.insert(slot, Give::begin(term, to));
            } else {
                self.refusals.add(Refused::SlotMoving, None, None);
            }
        }
    }

    /// Brings every move one tick further.
    pub(crate) fn move_slots(&mut self) {
        if self.gives.is_empty() || self.is_frozen() {
            return;
        }
        let cells = self.cells_to_close();
        self.ask_to_close(&cells);
        self.freeze_closed(&cells);
        self.send_chunks();
    }

    /// Everybody who may run an entity of these slots: every cellapp that is there, and owners
    /// that the registry forgot. Who was declared dead, or has a successor, runs nothing that
    /// counts.
    fn cells_to_close(&self) -> BTreeSet<Node> {
        let entities = self.store.entities.iter();
        let moving = entities.filter(|(id, _)| self.gives.contains_key(&id.slot()));
        let owners = moving.map(|(_, lineage)| lineage.owner);
        let all = owners.chain(self.live_cells());
        all.filter(|node| !self.map.is_dead(*node) && !self.is_outlived(*node)).collect()
    }

    fn ask_to_close(&mut self, cells: &BTreeSet<Node>) {
        let ran = self.ran;
        for node in cells {
            let peer = self.peers.at(*node);
            let mut ask = Terms::new();
            for (slot, give) in &self.gives {
                let due = peer
                    .closing
                    .get(slot)
                    .is_none_or(|c| c.term != give.term || !c.done && ran >= c.asked + ASK_AGAIN);
                if due {
                    ask.push((*slot, give.term));
                    let closing = Closing { term: give.term, asked: ran, done: false };
                    peer.closing.insert(*slot, closing);
                }
            }
            if !ask.is_empty() {
                peer.out.push(Msg::BaseToCell(BaseToCell::CloseSlots(ask)));
            }
        }
    }

    /// A cellapp lets the entities of slots stand still. All that it has to say of them came
    /// before. If the slot is no more on its way, it may run them again; so it may if an earlier
    /// life asked for that and never froze the slot.
    pub(crate) fn on_slots_closed(&mut self, from: Node, slots: &[(SlotId, Term)]) {
        let mut open = Terms::new();
        for (slot, term) in slots.iter().copied() {
            let closing = self.peers.at(from).closing.get_mut(&slot);
            if let Some(closing) = closing.filter(|c| c.term == term) {
                closing.done = true;
            } else if let Some(own) = self.kept_under(slot) {
                let stays = own == term && !self.gives.contains_key(&slot);
                if own > term || stays {
                    open.push((slot, own));
                }
            }
        }
        if !open.is_empty() {
            self.open_slots(from, open);
        }
    }

    fn freeze_closed(&mut self, cells: &BTreeSet<Node>) {
        let running = self.gives.iter().filter(|(_, give)| give.frozen.is_none());
        let still = running.filter(|(slot, give)| {
            cells.iter().all(|cell| {
                self.peers.get(*cell).is_some_and(|peer| peer.has_closed(**slot, give.term))
            })
        });
        let still: Vec<(SlotId, Term, NodeName)> =
            still.map(|(slot, give)| (*slot, give.term, give.to)).collect();
        for (slot, term, to) in still {
            let lsn = self.write(&LogRecord::SlotFrozen { slot, term, to });
            self.event(Event::SlotFrozen { slot, term, to, lsn });
            if let Some(give) = self.gives.get_mut(&slot) {
                give.frozen = Some(lsn);
            }
            for entity in self.entities_of(slot) {
                self.end_orders_of(entity, HandoffRefusal::InProgress);
            }
        }
    }

    /// Sends the next pieces of what is frozen durably, and again what was not heard of.
    fn send_chunks(&mut self) {
        let mut budget = CHUNKS_A_TICK;
        for (slot, give) in &mut self.gives {
            let is_durable = give.frozen.is_some_and(|lsn| self.gate.is_durable(lsn));
            let to = self.map.member(give.to).map(|m| m.node);
            let Some(to) = to.filter(|to| is_durable && !self.map.is_dead(*to)) else { continue };
            match give.held {
                Some(life) if life == to => continue,
                Some(_) => give.send_anew(),
                None => {}
            }
            let image = give.image.get_or_insert_with(|| Image::new(self.store.slot_image(*slot)));
            let count = image.count();
            if count > CHUNKS_MAX {
                self.refusals.add(Refused::QueueFull, None, None);
                continue;
            }
            if self.ran >= give.sent + SEND_AGAIN {
                // The last one is answered with what is held, so it may be that answer that is
                // missing.
                give.unsent = give.next.min(count - 1);
            }
            while budget > 0 && give.unsent < count {
                let chunk = image.piece(*slot, give.term, give.unsent);
                let out = &mut self.peers.at(to).out;
                out.push(Msg::BaseToBase(BaseToBase::SlotChunk(chunk)));
                (give.unsent, give.sent) = (give.unsent + 1, self.ran);
                budget -= 1;
            }
        }
    }

    /// How far the next keeper is.
    pub(crate) fn on_slot_got(&mut self, from: Node, slot: SlotId, term: Term, next: u32) {
        let ran = self.ran;
        let Some(give) = self.give_to(from, slot, term) else { return };
        if next < give.next {
            // It came back without some of them.
            give.unsent = next;
        }
        (give.next, give.sent) = (next, ran);
    }

    /// This life of the next keeper has it all.
    pub(crate) fn on_slot_held(&mut self, from: Node, slot: SlotId, term: Term, digest: u64) {
        let Some(give) = self.give_to(from, slot, term) else { return };
        if give.image.as_ref().is_some_and(|image| image.digest == digest) {
            give.held = Some(from);
        }
    }

    /// The life of the next keeper that has it all: it is the present one, and not given up.
    fn holder(&self, give: &Give) -> Option<Node> {
        give.held.filter(|life| self.map.is_live(*life) && !self.is_outlived(*life))
    }

    fn give_to(&mut self, from: Node, slot: SlotId, term: Term) -> Option<&mut Give> {
        let give = self.gives.get_mut(&slot);
        let give = give.filter(|give| (give.to, give.term) == (from.name, term));
        if give.is_none() {
            self.refusals.add(Refused::SlotMoving, Some(from), None);
        }
        give
    }

    /// Whether a cellapp may run entities of a frozen slot: this base confirms nothing to it.
    pub(crate) fn may_run_frozen(&self, cell: Node) -> bool {
        let mut leaving = self.store.leaving.iter();
        leaving.any(|(slot, leave)| {
            !self.peers.get(cell).is_some_and(|peer| peer.has_closed(*slot, leave.term))
        })
    }

    /// What another base keeps now under a higher term: what was frozen for it, and what it took
    /// over from this base's log, while this base was away.
    pub(crate) fn give_away(&mut self) {
        let me = self.config.node.name;
        let rows = self.store.slots.iter();
        let given = rows.filter_map(|(slot, row)| {
            let owner = self.map.slot(*slot)?;
            (owner.base != me && owner.term > row.term).then_some((*slot, owner.term))
        });
        for (slot, term) in given.collect::<Terms>() {
            if self.has_bug(BaseBug::KeepsGiven) {
                self.store.leaving.remove(&slot);
                self.end_give(slot);
            } else {
                self.slot_is_given(slot, term);
            }
        }
    }

    fn slot_is_given(&mut self, slot: SlotId, term: Term) {
        let entities = self.entities_of(slot);
        let lsn = self.write(&LogRecord::SlotGiven { slot, term });
        self.event(Event::SlotGiven { slot, term, lsn });
        self.end_give(slot);
        self.send_clients_on(slot, lsn);
        for entity in entities {
            self.forget_now(entity);
        }
        // Who is to be fenced hears it from the next keeper as soon as it acts.
        for (_, peer) in self.peers.iter_mut() {
            peer.fences.retain(|entity, _| entity.slot() != slot);
        }
        self.counters.remove(&slot);
    }

    /// The clients of a slot find its keeper by themselves; what they said meanwhile they say
    /// again.
    fn send_clients_on(&mut self, slot: SlotId, lsn: Lsn) {
        let sessions = self.streams.keys().copied().filter(|session| session.slot() == slot);
        for session in sessions.collect::<Vec<SessionId>>() {
            let open = self.streams.remove(&session).is_some_and(|stream| stream.open);
            self.announced.remove(&session);
            if open {
                let what = ClientFrame::Moved;
                self.leave(lsn, Held::Client(ToClient { session, what }));
            }
        }
        self.refuse_held_clients(slot);
    }

    /// Everything volatile of an entity that has no record here any more.
    fn forget_now(&mut self, entity: EntityId) {
        if let Some(at) = self.now.remove(&entity).and_then(|now| now.retry) {
            self.retries.remove(&(at, entity));
        }
        self.granting.remove(&entity);
        self.orphans.remove(&entity);
        self.queues.remove(&entity);
        self.posts.remove(&entity);
        self.playing.remove(&entity);
        self.unborn.retain(|(source, _), _| *source != entity);
        self.ahead.remove(&entity);
        self.end_orders_of(entity, HandoffRefusal::InProgress);
    }

    /// A slot is on its way no more.
    pub(crate) fn end_give(&mut self, slot: SlotId) {
        self.gives.remove(&slot);
        for (_, peer) in self.peers.iter_mut() {
            peer.closing.remove(&slot);
        }
    }

    pub(crate) fn entities_of(&self, slot: SlotId) -> Vec<EntityId> {
        self.store.entities.keys().copied().filter(|id| id.slot() == slot).collect()
    }

    /// The slots that are on their way from here, and how far each is.
    pub(crate) fn slot_moves(&self) -> Vec<SlotMove> {
        let stage = |give: &Give| match (self.holder(give), give.frozen) {
            (Some(life), _) => MoveStage::Held(life.incarnation),
            (None, Some(_)) => MoveStage::Copying,
            (None, None) => MoveStage::Closing,
        };
        let moves = self.gives.iter();
        moves
            .map(|(slot, give)| SlotMove {
                slot: *slot,
                term: give.term,
                to: give.to,
                stage: stage(give),
            })
            .collect()
    }
}
