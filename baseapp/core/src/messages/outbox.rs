//! The sender's side: messages leave, answers come back, and the receiver is told what is closed.

use super::OpenAnswer;
use crate::core::BaseCore;
use crate::gate::Held;
use crate::log::LogRecord;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToBase, BaseToCell};
use marchland_common::order::{EntityId, Lsn, Node};
use marchland_common::world::{Address, MessageOutcome};

impl BaseCore {
    /// Messages of a durable step leave, in their order.
    pub(crate) fn release_messages(&mut self, source: EntityId, sent: &[u64]) {
        for out_seq in sent {
            let Some(lineage) = self.store.entities.get(&source) else { return };
            let Some(message) = lineage.state.outbox.open.get(out_seq) else { continue };
            let to = match message.to {
                Address::Entity(to) => Some(to),
                Address::Spawn { .. } => None,
            };
            let value = message.value;
            let seq = lineage.origins.get(out_seq).map_or(lineage.seq, |origin| origin.seq);
            self.event(Event::MessageReleased { source, out_seq: *out_seq, to, value, seq });
            let post = self.posts.entry(source).or_default();
            post.released = post.released.max(*out_seq);
            self.deliver(source, *out_seq);
            self.schedule(source);
        }
    }

    /// Sends one open message to the base of its receiver.
    fn deliver(&mut self, source: EntityId, out_seq: u64) {
        let Some(lineage) = self.store.entities.get(&source) else { return };
        let Some(message) = lineage.state.outbox.open.get(&out_seq) else { return };
        let Address::Entity(to) = message.to else { return };
        let Some(origin) = lineage.origins.get(&out_seq).copied() else { return };
        let before = lineage.open_to(to).take_while(|n| *n < out_seq).last();
        let msg = BaseToBase::Deliver {
            to,
            source,
            out_seq,
            payload: message.payload.clone().into(),
            value: message.value,
            origin,
            settled: self.settled_to(source, to, out_seq.saturating_sub(1)),
            after: before.unwrap_or(0),
        };
        self.send_base(to.slot(), msg);
    }

    /// Up to which number all messages of a source to a receiver are closed, durably; `newest` if
    /// none is open.
    fn settled_to(&self, source: EntityId, to: EntityId, newest: u64) -> u64 {
        let lineage = self.store.entities.get(&source);
        let open = lineage.and_then(|l| l.lowest_open_to(to));
        let closing = self.posts.get(&source).and_then(|post| {
            post.closing.iter().find(|(_, receiver)| **receiver == to).map(|(n, _)| *n)
        });
        let first = [open, closing].into_iter().flatten().min();
        first.map_or(newest, |first| first.saturating_sub(1))
    }

    /// The answer to a message of one of our entities.
    pub(crate) fn on_delivered(
        &mut self,
        from: Node,
        source: EntityId,
        (out_seq, to): (u64, EntityId),
        outcome: MessageOutcome,
    ) {
        if self.is_elsewhere(source) {
            return self.refuse(Refused::WrongBase, from, source);
        }
        let Some(lineage) = self.store.entities.get(&source) else {
            // It ended, and everything that it sent is closed.
            let settled = BaseToBase::Settled { source, to, through: out_seq };
            return self.leave(self.gate.last, Held::Base(to.slot(), settled));
        };
        let Some(message) = lineage.state.outbox.open.get(&out_seq) else {
            return self.answer_to_closed(from, source, (out_seq, to));
        };
        if message.to != Address::Entity(to) {
            return self.refuse(Refused::DuplicateAnswer, from, source);
        }
        if lineage.state.destroyed {
            return self.close_for_the_dead(source, out_seq, &outcome);
        }
        let is_valuable = message.value != 0;
        let address = message.to.clone();
        if self.outcome_of(source, out_seq, &address).is_some() {
            return self.refuse(Refused::DuplicateAnswer, from, source);
        }
        let lsn = match is_valuable {
            true => {
                let answer = outcome.clone();
                let entity = source;
                self.write(&LogRecord::Outcome { entity, out_seq, outcome: answer })
            }
            false => Lsn(0),
        };
        self.leave(lsn, Held::Outcome { entity: source, out_seq, outcome });
    }

    /// The answer to a message may be shown to its sender's owner.
    pub(crate) fn answer_is_known(
        &mut self,
        source: EntityId,
        out_seq: u64,
        outcome: MessageOutcome,
    ) {
        let open = self.store.entities.get(&source).map(|lineage| &lineage.state.outbox.open);
        if open.is_some_and(|open| open.contains_key(&out_seq)) {
            let answers = &mut self.posts.entry(source).or_default().answers;
            answers.entry(out_seq).or_insert(OpenAnswer { outcome, sent: None });
            self.push(source);
        }
    }

    /// How an open message ended, if that is known here.
    pub(crate) fn outcome_of(
        &self,
        source: EntityId,
        out_seq: u64,
        to: &Address,
    ) -> Option<&MessageOutcome> {
        match to {
            Address::Spawn { .. } => self.store.spawned.get(&(source, out_seq)),
            Address::Entity(_) => {
                let on_record = self.store.entities.get(&source)?.outcomes.get(&out_seq);
                let known = self.posts.get(&source).and_then(|post| post.answers.get(&out_seq));
                on_record.or(known.map(|answer| &answer.outcome))
            }
        }
    }

    /// The receiver's base still asks: it missed that the message is closed.
    fn answer_to_closed(&mut self, from: Node, source: EntityId, (out_seq, to): (u64, EntityId)) {
        self.refuse(Refused::DuplicateAnswer, from, source);
        let through = self.settled_to(source, to, out_seq);
        let lsn = self.now.get(&source).map_or(Lsn(0), |now| now.lsn);
        if through >= out_seq {
            let settled = BaseToBase::Settled { source, to, through };
            self.leave(lsn, Held::Base(to.slot(), settled));
        }
    }

    /// The answers that the owner was not sent yet.
    pub(crate) fn answers_to_send(&mut self, entity: EntityId) -> Vec<BaseToCell> {
        let Some(post) = self.posts.get_mut(&entity) else { return Vec::new() };
        let Some(lineage) = self.store.entities.get(&entity) else { return Vec::new() };
        let open = &lineage.state.outbox.open;
        let mut out = Vec::new();
        for (out_seq, answer) in &mut post.answers {
            if answer.sent.is_some() || !open.contains_key(out_seq) {
                continue;
            }
            answer.sent = Some(self.ran);
            let (out_seq, outcome) = (*out_seq, answer.outcome.clone());
            out.push(BaseToCell::Answer { entity, out_seq, outcome });
        }
        out
    }

    /// A step closed messages; until it is durable they still count as open.
    pub(crate) fn note_closing(&mut self, entity: EntityId, answered: &[(u64, Address)]) {
        for (out_seq, to) in answered {
            if let Address::Entity(to) = to {
                self.posts.entry(entity).or_default().closing.insert(*out_seq, *to);
            }
        }
    }

    /// Messages are closed durably: their receivers may forget the answers.
    pub(crate) fn messages_are_closed(&mut self, source: EntityId, answered: Vec<(u64, Address)>) {
        for (out_seq, to) in answered {
            if let Some(post) = self.posts.get_mut(&source) {
                post.closing.remove(&out_seq);
                post.answers.remove(&out_seq);
            }
            self.event(Event::MessageClosed { source, out_seq });
            self.settle_receiver(source, out_seq, &to);
        }
        self.tidy_post(source);
    }

    /// Tells a receiver's base that a message is closed.
    fn settle_receiver(&mut self, source: EntityId, out_seq: u64, to: &Address) {
        if let Address::Entity(to) = *to {
            let through = self.settled_to(source, to, out_seq);
            if through >= out_seq {
                self.send_base(to.slot(), BaseToBase::Settled { source, to, through });
            }
        }
    }

    /// Says again what waits for an answer, in order, and answers that are not settled. True if
    /// there is such a thing.
    pub(crate) fn send_messages_again(&mut self, entity: EntityId) -> bool {
        let open = self.unanswered(entity, |_| true);
        for out_seq in &open {
            self.deliver(entity, *out_seq);
        }
        let unsettled = self.answer_again(entity);
        let waits = self.posts.get(&entity).is_some_and(|post| !post.answers.is_empty());
        !open.is_empty() || unsettled || waits
    }

    /// Open messages that may leave and have no answer, to receivers in certain slots.
    fn unanswered(
        &self,
        entity: EntityId,
        in_slot: impl Fn(marchland_common::order::SlotId) -> bool,
    ) -> Vec<u64> {
        let (Some(lineage), Some(post)) =
            (self.store.entities.get(&entity), self.posts.get(&entity))
        else {
            return Vec::new();
        };
        let open = lineage.state.outbox.open.range(..=post.released);
        open.filter(|(n, message)| {
            let to = match message.to {
                Address::Entity(to) => to,
                Address::Spawn { .. } => return false,
            };
            in_slot(to.slot()) && !post.answers.contains_key(n)
        })
        .map(|(n, _)| *n)
        .collect()
    }

    /// Sends everything open to slots whose base is another life now.
    pub(crate) fn send_again_to_moved(&mut self, before: &[Option<Node>]) {
        let moved: Vec<bool> = before
            .iter()
            .enumerate()
            .map(|(slot, base)| {
                let now = self.map.base_of(marchland_common::order::SlotId(slot as u8));
                now.is_some() && now != *base
            })
            .collect();
        if moved.contains(&true) {
            self.send_again_where(|slot| moved[usize::from(slot.0)]);
        }
    }

    /// Sends everything open to the slots of a base whose link began anew.
    pub(crate) fn send_again_to(&mut self, base: Node) {
        let slots: Vec<bool> = (0..=u8::MAX)
            .map(|slot| self.map.base_of(marchland_common::order::SlotId(slot)) == Some(base))
            .collect();
        self.send_again_where(|slot| slots[usize::from(slot.0)]);
    }

    fn send_again_where(&mut self, in_slot: impl Fn(marchland_common::order::SlotId) -> bool) {
        // What is another base's by now, or on its way, is not ours to say any more.
        let sources = self.posts.keys().copied().filter(|source| !self.is_elsewhere(*source));
        for source in sources.collect::<Vec<_>>() {
            for out_seq in self.unanswered(source, &in_slot) {
                self.deliver(source, out_seq);
            }
        }
    }

    /// Drops what is known of an outbox in which nothing is open.
    pub(crate) fn tidy_post(&mut self, entity: EntityId) {
        let open =
            self.store.entities.get(&entity).is_some_and(|l| !l.state.outbox.open.is_empty());
        let closing = self.posts.get(&entity).is_some_and(|post| !post.closing.is_empty());
        if !open && !closing {
            self.posts.remove(&entity);
        }
    }
}
