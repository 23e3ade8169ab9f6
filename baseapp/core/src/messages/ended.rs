//! After the end of an entity: nobody but the base is left to close what it sent, to answer what
//! was for it, and to forget it.
//!
//! The record stays as long as something is open on either side, so that a message that was taken
//! before the end is never answered as if it had not been.

use crate::core::BaseCore;
use crate::gate::Held;
use crate::log::LogRecord;
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToBase, HandoffRefusal};
use marchland_common::order::{EntityId, Lsn};
use marchland_common::world::{Address, CommandOutcome, MessageOutcome, OutMessage, Rejection};

impl BaseCore {
    /// The step that ends an entity was accepted.
    pub(crate) fn note_destroyed(&mut self, entity: EntityId, lsn: Lsn) {
        self.granting.remove(&entity);
        self.orphans.remove(&entity);
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let epoch = lineage.epoch;
        let kind = self.kinds.get(lineage.state.kind);
        let value = kind.map_or(0, |kind| lineage.state.held_value(kind));
        let open: Vec<OutMessage> = lineage.state.outbox.open.values().cloned().collect();
        self.event(Event::Destroyed { entity, epoch, value, lsn });
        self.end_orders_of(entity, HandoffRefusal::NoSuchEntity);
        for message in open {
            let outcome = self.outcome_of(entity, message.out_seq, &message.to);
            if let Some(outcome) = outcome.cloned() {
                self.close_for_the_dead(entity, message.out_seq, &outcome);
            }
        }
        self.forget_if_done(entity);
        self.schedule(entity);
    }

    /// Closes a message of an entity that ended. Value that comes back finds nobody: it is gone.
    pub(crate) fn close_for_the_dead(
        &mut self,
        source: EntityId,
        out_seq: u64,
        outcome: &MessageOutcome,
    ) {
        let Some(lineage) = self.store.entities.get(&source) else { return };
        let Some(message) = lineage.state.outbox.open.get(&out_seq).cloned() else { return };
        let lsn = self.write(&LogRecord::OutboxClosed { entity: source, out_seq });
        self.touch(source, lsn);
        if message.value != 0 && !outcome.is_kept() {
            self.event(Event::Burned { source, out_seq, value: message.value, lsn });
        }
        if let Address::Entity(to) = message.to {
            self.posts.entry(source).or_default().closing.insert(out_seq, to);
        }
        self.leave(lsn, Held::Closed { source, out_seq, to: message.to });
        self.forget_if_done(source);
    }

    /// A source closed its messages to an entity that ended.
    pub(crate) fn settle_for_the_dead(&mut self, entity: EntityId, source: EntityId, through: u64) {
        let lsn = self.write(&LogRecord::InboxSettled { entity, source, through });
        self.touch(entity, lsn);
        self.forget_if_done(entity);
    }

    /// What was for an entity whose end is durable gets its answer.
    pub(crate) fn destruction_is_durable(&mut self, entity: EntityId) {
        let queue = self.queues.remove(&entity).unwrap_or_default();
        let gone = CommandOutcome::Rejected(Rejection::NoSuchEntity);
        for open in queue.commands {
            // Not on the record: the session ends with the entity, so nobody can ask again.
            self.answered_alone(entity, (open.command.session, open.command.n), gone.clone());
        }
        for open in queue.inbox {
            let (source, out_seq) = (open.msg.source, open.msg.out_seq);
            let outcome = MessageOutcome::Undeliverable;
            let msg = BaseToBase::Delivered { source, out_seq, to: entity, outcome };
            self.send_base(source.slot(), msg);
        }
        self.end_streams_of(entity, "destroyed");
    }

    /// Forgets an entity that ended once nothing of it is open on any side.
    pub(crate) fn forget_if_done(&mut self, entity: EntityId) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let answers = lineage.state.inbox.rows().iter().any(|row| !row.answers.is_empty());
        if !lineage.state.destroyed || !lineage.state.outbox.open.is_empty() || answers {
            return;
        }
        self.write(&LogRecord::Forgotten { entity });
        if let Some(at) = self.now.remove(&entity).and_then(|now| now.retry) {
            self.retries.remove(&(at, entity));
        }
    }

    pub(crate) fn touch(&mut self, entity: EntityId, lsn: Lsn) {
        if let Some(now) = self.now.get_mut(&entity) {
            now.lsn = lsn;
        }
    }
}
