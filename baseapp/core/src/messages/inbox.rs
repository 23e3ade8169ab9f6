//! The receiver's side: a message waits until a durable step of its receiver holds the outcome,
//! and the outcome is said until the source closed the message.

use crate::core::BaseCore;
use crate::gate::Held;
use crate::log::LogRecord;
use crate::queue::OpenMessage;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToBase, BaseToCell, InboxMessage};
use marchland_common::order::{EntityId, InboxVerdict, Lsn, Node};
use marchland_common::world::{MessageOutcome, Rejection};

impl BaseCore {
    pub(crate) fn on_deliver(&mut self, from: Node, msg: InboxMessage, after: u64) {
        let entity = msg.entity;
        let is_ours = self.map.slot(entity.slot()).is_some() && !self.is_elsewhere(entity);
        if !is_ours || !self.speaks_for(from, msg.source) {
            return self.refuse(Refused::WrongBase, from, entity);
        }
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        let Some(lineage) = self.store.entities.get(&entity) else {
            // It ended, or nobody ever was it: either may rest on a record of just now.
            self.refuse(Refused::UnknownEntity, from, entity);
            return self.answer_source(self.gate.last, &msg, MessageOutcome::Undeliverable);
        };
        match lineage.state.inbox.check(msg.source, msg.out_seq) {
            InboxVerdict::Duplicate(Some(outcome)) => {
                self.refuse(Refused::DuplicateMessage, from, entity);
                self.answer_source(lsn, &msg, outcome);
            }
            InboxVerdict::Duplicate(None) if msg.out_seq > msg.settled => {
                self.refuse(Refused::DuplicateMessage, from, entity);
                self.answer_source(lsn, &msg, PASSED);
            }
            InboxVerdict::Duplicate(None) => self.refuse(Refused::DuplicateMessage, from, entity),
            _ if lineage.state.destroyed => {
                self.refuse(Refused::UnknownEntity, from, entity);
                self.answer_source(lsn, &msg, MessageOutcome::Undeliverable);
            }
            InboxVerdict::New | InboxVerdict::Full => self.queue_message(from, msg, after),
        }
    }

    /// Whether a base keeps the slot of a source, as far as is known here. A mark is forgotten on
    /// the word of one base; a copy that another one, who kept the slot before, had sent may still
    /// be on its way, and would be taken for new.
    fn speaks_for(&self, from: Node, source: EntityId) -> bool {
        self.map.slot(source.slot()).is_none_or(|owner| owner.base == from.name)
    }

    fn queue_message(&mut self, from: Node, msg: InboxMessage, after: u64) {
        let (entity, source) = (msg.entity, msg.source);
        let high = self.store.entities.get(&entity).and_then(|lineage| {
            let rows = lineage.state.inbox.rows();
            rows.iter().find(|row| row.source == source).map(|row| row.high)
        });
        let queue = self.queues.entry(entity).or_default();
        let queued = queue.newest_of(source);
        if queued.is_some_and(|newest| msg.out_seq <= newest) {
            return self.refuse(Refused::DuplicateMessage, from, entity);
        }
        let newest = queued.max(high).unwrap_or(0);
        if after > newest && after > msg.settled {
            self.refuse(Refused::StepGap, from, entity);
        } else if queue.len() >= self.config.queue_max {
            self.refuse(Refused::QueueFull, from, entity);
        } else {
            self.take_in(msg);
        }
        self.tidy_queue(entity);
    }

    fn take_in(&mut self, msg: InboxMessage) {
        let InboxMessage { entity, source, out_seq, value, .. } = msg;
        let known = self
            .store
            .entities
            .get(&entity)
            .and_then(|lineage| lineage.carried.get(&(source, out_seq)).copied());
        let needs = match (value, known) {
            (0, _) | (_, Some(_)) => Lsn(0),
            _ => self.write(&LogRecord::Carried { entity, source, out_seq, value }),
        };
        let queue = self.queues.entry(entity).or_default();
        queue.inbox.push_back(OpenMessage { msg, needs, sent: None });
        self.leave(needs, Held::Carried { entity });
    }

    /// Outcomes of a durable step go to the sources. What a later message of the same source
    /// passed, which no sound owner lets happen, will never run and is answered as well.
    pub(crate) fn answer_sources(
        &mut self,
        entity: EntityId,
        received: Vec<(EntityId, u64, MessageOutcome)>,
    ) {
        let any = !received.is_empty();
        for (source, out_seq, outcome) in received {
            for passed in self.take_from_queue(entity, source, out_seq) {
                self.refusals.add(Refused::DuplicateMessage, None, Some(entity));
                let msg = delivered(entity, source, passed, PASSED);
                self.send_base(source.slot(), msg);
            }
            let taken = outcome.clone();
            self.event(Event::MessageTaken { entity, source, out_seq, outcome: taken });
            self.send_base(source.slot(), delivered(entity, source, out_seq, outcome));
        }
        if any {
            self.schedule(entity);
            self.push(entity);
            self.tidy_queue(entity);
        }
    }

    /// Takes a message out of the queue, and the older ones of its source; says which those were.
    fn take_from_queue(&mut self, entity: EntityId, source: EntityId, out_seq: u64) -> Vec<u64> {
        let Some(queue) = self.queues.get_mut(&entity) else { return Vec::new() };
        let mut passed = Vec::new();
        queue.inbox.retain(|open| {
            let over = open.msg.source == source && open.msg.out_seq <= out_seq;
            if over && open.msg.out_seq < out_seq {
                passed.push(open.msg.out_seq);
            }
            !over
        });
        passed
    }

    fn answer_source(&mut self, needs: Lsn, msg: &InboxMessage, outcome: MessageOutcome) {
        let answer = delivered(msg.entity, msg.source, msg.out_seq, outcome);
        self.leave(needs, Held::Base(msg.source.slot(), answer));
    }

    /// Says the outcomes again that their sources have not closed. True if there are such.
    pub(crate) fn answer_again(&mut self, entity: EntityId) -> bool {
        let Some(lineage) = self.store.entities.get(&entity) else { return false };
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        let rows = lineage.state.inbox.rows();
        let unsettled: Vec<_> = rows
            .iter()
            .flat_map(|row| {
                row.answers.iter().map(|(out_seq, outcome)| {
                    (row.source, delivered(entity, row.source, *out_seq, outcome.clone()))
                })
            })
            .collect();
        let any = !unsettled.is_empty();
        if self.gate.is_durable(lsn) {
            for (source, msg) in unsettled {
                self.send_base(source.slot(), msg);
            }
        }
        any
    }

    /// A source closed its messages: the owner may drop the answers, and forget the source.
    pub(crate) fn on_settled(&mut self, from: Node, source: EntityId, to: EntityId, through: u64) {
        if self.is_elsewhere(to) || !self.speaks_for(from, source) {
            return self.refuse(Refused::WrongBase, from, to);
        }
        let Some(lineage) = self.store.entities.get(&to) else { return };
        let is_known = lineage.state.inbox.rows().iter().any(|row| row.source == source);
        if !is_known {
            return;
        }
        if lineage.state.destroyed {
            return self.settle_for_the_dead(to, source, through);
        }
        if let Some(owner) = self.reachable_owner(to) {
            let msg = BaseToCell::Settled { entity: to, source, through };
            self.peers.at(owner).out.push(marchland_common::msg::Msg::BaseToCell(msg));
        }
        self.schedule(to);
    }
}

/// What a message is told that a later one of its source has passed.
const PASSED: MessageOutcome = MessageOutcome::Rejected(Rejection::TooOld);

fn delivered(to: EntityId, source: EntityId, out_seq: u64, outcome: MessageOutcome) -> BaseToBase {
    BaseToBase::Delivered { source, out_seq, to, outcome }
}
