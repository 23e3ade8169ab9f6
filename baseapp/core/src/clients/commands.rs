//! Commands on their way in.
//!
//! Each command that is taken in gets exactly one answer. Most get it from their owner. The base
//! answers alone what cannot be sent at all: not this client's entity, no such method for it, too
//! much at once, or past its deadline before any owner saw it. Such a number never reaches the
//! owner, so what follows it waits until the client has acknowledged that answer: the
//! acknowledgement is what tells the owner that the number is taken.

use super::{ANSWERS_MAX, UNACKNOWLEDGED_MAX};
use crate::core::BaseCore;
use crate::queue::OpenCommand;
use bytes::Bytes;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Command, Msg};
use marchland_common::order::{EntityId, SessionId, Tick};
use marchland_common::world::{CommandOutcome, Rejection};
use std::collections::BTreeSet;

impl BaseCore {
    pub(crate) fn on_command(
        &mut self,
        session: SessionId,
        n: u64,
        entity: EntityId,
        (method, args, ttl): (u8, Bytes, u32),
    ) {
        let Some(stream) = self.streams.get_mut(&session) else {
            return self.refusals.add(Refused::UnknownSession, None, Some(entity));
        };
        if n == 0 || n <= stream.last_n {
            return self.refusals.add(Refused::DuplicateCommand, None, Some(entity));
        }
        if n - 1 != stream.last_n {
            return self.refusals.add(Refused::CommandGap, None, Some(entity));
        }
        if stream.answers.contains_key(&n) {
            // Answered in an earlier life of this base, before a command that is new to this one.
            stream.last_n = n;
            return self.tell_answers(session);
        }
        if stream.unacknowledged() >= ANSWERS_MAX as u64 {
            self.refusals.add(Refused::QueueFull, None, Some(entity));
            self.end_stream(session, "too many answers without an acknowledgement");
            return self.on_gone(session);
        }
        stream.last_n = n;
        let mine = stream.entity;
        match self.check_command(session, n, (entity, mine), method) {
            Err(reason) => self.answer_alone(session, n, CommandOutcome::Rejected(reason)),
            Ok(()) => self.queue_command(session, n, mine, (method, args, ttl)),
        }
        self.push(mine);
    }

    fn check_command(
        &self,
        session: SessionId,
        n: u64,
        (entity, mine): (EntityId, EntityId),
        method: u8,
    ) -> Result<(), Rejection> {
        if entity != mine {
            return Err(Rejection::NotYours);
        }
        let lineage = self.store.entities.get(&mine).filter(|l| !l.state.destroyed);
        let lineage = lineage.ok_or(Rejection::NoSuchEntity)?;
        let kind = self.kinds.get(lineage.state.kind);
        let def = kind.and_then(|kind| kind.methods.get(usize::from(method)));
        if !def.is_some_and(|def| def.exposed) {
            return Err(Rejection::NotExposed);
        }
        let acked = self.streams.get(&session).map_or(0, |s| s.acked);
        let waiting = self.queues.get(&mine).map_or(0, |queue| queue.len());
        if n - acked > UNACKNOWLEDGED_MAX || waiting >= self.config.queue_max {
            return Err(Rejection::Busy);
        }
        Ok(())
    }

    fn queue_command(
        &mut self,
        session: SessionId,
        n: u64,
        entity: EntityId,
        (method, args, ttl): (u8, Bytes, u32),
    ) {
        let ttl = if ttl == 0 { self.config.command_deadline } else { u64::from(ttl) };
        let deadline = Tick(self.tick.0.saturating_add(ttl));
        let command = Command { entity, session, n, method, args, deadline, acknowledged: 0 };
        let (behind, seen) =
            self.streams.get(&session).map_or((0, false), |s| (s.last_alone(n), s.recovered));
        let open = OpenCommand { command, behind, sent: None, seen };
        self.queues.entry(entity).or_default().commands.push_back(open);
        self.event(Event::CommandQueued { entity, session, n });
    }

    /// Commands that no owner can have seen and whose deadline has passed.
    pub(crate) fn expire_unsent(&mut self) {
        let mut over = Vec::new();
        let leaving = &self.store.leaving;
        for (entity, queue) in &mut self.queues {
            if leaving.contains_key(&entity.slot()) {
                continue;
            }
            queue.commands.retain(|open| {
                let expired = !open.seen && open.command.deadline < self.tick;
                if expired {
                    over.push((*entity, open.command.session, open.command.n));
                }
                !expired
            });
        }
        for (entity, session, n) in over {
            self.answer_alone(session, n, CommandOutcome::Expired);
            if let Some(queue) = self.queues.get_mut(&entity) {
                let later = queue
                    .commands
                    .iter_mut()
                    .filter(|open| open.command.session == session && open.command.n > n);
                later.for_each(|open| open.behind = open.behind.max(n));
            }
            self.tidy_queue(entity);
        }
    }

    /// After a restart a command may have been seen by an owner, so the base does not let it
    /// expire; and while its client acknowledges nothing no owner can. That is not waited for in
    /// silence: the stream ends, and a client that comes back says what it has.
    pub(crate) fn end_stuck_streams(&mut self) {
        let commands = self.queues.values().flat_map(|queue| &queue.commands);
        let late = commands.filter(|open| open.sent.is_none() && open.command.deadline < self.tick);
        let stuck: BTreeSet<SessionId> = late
            .filter(|open| {
                let stream = self.streams.get(&open.command.session);
                stream.is_some_and(|s| s.open && s.acked < open.behind)
            })
            .map(|open| open.command.session)
            .collect();
        for session in stuck {
            let entity = self.streams.get(&session).map(|stream| stream.entity);
            self.refusals.add(Refused::QueueFull, None, entity);
            self.end_stream(session, "a command waits for the acknowledgement of an answer");
            self.on_gone(session);
        }
    }

    /// The newest input of each client goes to its owner.
    pub(crate) fn pass_inputs(&mut self) {
        let waiting: Vec<(SessionId, EntityId)> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.input.is_some())
            .map(|(session, stream)| (*session, stream.entity))
            .collect();
        for (session, entity) in waiting {
            let Some(owner) = self.reachable_owner(entity) else { continue };
            let input = self.streams.get_mut(&session).and_then(|s| s.input.take());
            if let Some(payload) = input {
                let msg = BaseToCell::Input { entity, session, payload };
                self.peers.at(owner).out.push(Msg::BaseToCell(msg));
            }
        }
    }

    pub(crate) fn on_input(&mut self, session: SessionId, payload: Bytes) {
        let Some(stream) = self.streams.get_mut(&session) else {
            return self.refusals.add(Refused::UnknownSession, None, None);
        };
        let entity = stream.entity;
        if stream.input.replace(payload).is_some() {
            self.refusals.add(Refused::InputReplaced, None, Some(entity));
        }
    }
}
