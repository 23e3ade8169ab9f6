//! Entities that entities create: exactly once per message, at the sender's own base.
//!
//! The birth is written right behind the step that asks for it. A log that holds the birth holds
//! the step, so nobody is born on credit; a log that ends between them creates it at the restart.

use super::OpenAnswer;
use crate::births::Birth;
use crate::core::BaseCore;
use crate::gate::Held;
use crate::log::LogRecord;
use marchland_common::order::{EntityId, SlotId};
use marchland_common::world::{Address, MessageOutcome, Rejection};

/// How many ticks a birth waits for somebody who can own it.
const BIRTH_WAIT: u64 = 100;

impl BaseCore {
    /// Creates what the messages of an accepted step ask for.
    pub(crate) fn spawn_from(&mut self, source: EntityId, sent: &[u64]) {
        for out_seq in sent {
            self.spawn(source, *out_seq);
        }
    }

    /// Creates what one message asks for, unless that was done.
    pub(crate) fn spawn(&mut self, source: EntityId, out_seq: u64) {
        if self.store.spawned.contains_key(&(source, out_seq)) {
            return;
        }
        let lineage = self.store.entities.get(&source);
        let message = lineage.and_then(|l| l.state.outbox.open.get(&out_seq));
        let Some(message) = message else {
            self.unborn.remove(&(source, out_seq));
            return;
        };
        let Address::Spawn { kind, place } = message.to else { return };
        let birth = Birth {
            slot: source.slot(),
            kind,
            place,
            props: Vec::new(),
            value: Some(message.value),
            source: Some((source, out_seq)),
            account: None,
            argument: message.payload.clone().into(),
        };
        let ran = self.ran;
        let waits = self.owner_at(place).is_none() || !self.keeps(source.slot());
        let since = *self.unborn.entry((source, out_seq)).or_insert(ran);
        if waits && ran < since + BIRTH_WAIT {
            return;
        }
        self.unborn.remove(&(source, out_seq));
        let lsn = match self.give_birth(birth) {
            Ok((_, lsn)) => lsn,
            // Refused for good and on the record: asked again after a restart, it must not be born.
            Err(reason) => {
                let outcome = MessageOutcome::Rejected(Rejection::Rule(reason));
                self.write(&LogRecord::SpawnRefused { source, out_seq, outcome })
            }
        };
        let ended = self.store.entities.get(&source).is_some_and(|l| l.state.destroyed);
        let outcome = self.store.spawned.get(&(source, out_seq)).cloned();
        match outcome {
            Some(outcome) if ended => self.close_for_the_dead(source, out_seq, &outcome),
            _ => self.leave(lsn, Held::Spawned { source, out_seq }),
        }
    }

    /// Tries again what nobody could own when it was asked for.
    pub(crate) fn spawn_waiting(&mut self) {
        for (source, out_seq) in self.unborn.keys().copied().collect::<Vec<_>>() {
            if !self.is_elsewhere(source) {
                self.spawn(source, out_seq);
            }
        }
    }

    /// The outcome of such a message is durable: the sender is told.
    pub(crate) fn spawn_is_durable(&mut self, source: EntityId, out_seq: u64) {
        let Some(outcome) = self.store.spawned.get(&(source, out_seq)).cloned() else { return };
        let post = self.posts.entry(source).or_default();
        post.answers.entry(out_seq).or_insert(OpenAnswer { outcome, sent: None });
        self.push(source);
    }

    /// After a restart or a move: messages whose entity was not created yet, and answers that were lost.
    pub(crate) fn recover_spawns(&mut self, of: impl Fn(SlotId) -> bool) {
        let asked: Vec<(EntityId, u64)> = self
            .store
            .entities
            .iter()
            .filter(|(id, _)| of(id.slot()))
            .flat_map(|(id, lineage)| {
                let open = lineage.state.outbox.open.values();
                open.filter(|m| matches!(m.to, Address::Spawn { .. })).map(|m| (*id, m.out_seq))
            })
            .collect();
        for (source, out_seq) in asked {
            match self.store.spawned.contains_key(&(source, out_seq)) {
                true => self.spawn_is_durable(source, out_seq),
                false => {
                    self.unborn.insert((source, out_seq), self.ran);
                }
            }
        }
    }
}
