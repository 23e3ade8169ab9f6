//! What waits for the owner of an entity: kept until a durable step holds its outcome, and sent
//! again, all of it and in order, whenever the entity gets another owner.
//!
//! Invariants: the commands of a session leave in their order, the messages of a source in
//! theirs; nothing is sent to anybody before a grant has left; what a non-owner drops is still
//! here.

use crate::core::BaseCore;
use marchland_common::msg::{BaseToCell, Command, InboxMessage, Msg};
use marchland_common::order::{EntityId, INBOX_SOURCES_MAX, Lsn, Node, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// After how many ticks what got no outcome is sent again.
pub(crate) const AGAIN: u64 = 40;

/// A command without a durable outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCommand {
    /// The command.
    pub command: Command,
    /// The newest command of the session before it that this base answered alone; the client must
    /// have acknowledged that answer first, or the owner would wait for a number that never comes.
    pub behind: u64,
    /// When it was sent to the present owner.
    pub sent: Option<u64>,
    /// Whether any owner may have seen it: only an owner lets it expire then.
    pub seen: bool,
}

/// A message without a durable outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenMessage {
    /// The message.
    pub msg: InboxMessage,
    /// The record that must be durable before an owner sees it.
    pub needs: Lsn,
    /// When it was sent to the present owner.
    pub sent: Option<u64>,
}

/// Everything that waits at one entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Commands, in the order of their arrival.
    pub commands: VecDeque<OpenCommand>,
    /// Messages, in the order of their arrival.
    pub inbox: VecDeque<OpenMessage>,
    /// An order to end the entity, and when it was sent to the present owner.
    pub destroy: Option<Option<u64>>,
}

impl Queue {
    /// How much waits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len() + self.inbox.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.destroy.is_none()
    }

    /// The newest waiting message of a source.
    #[must_use]
    pub fn newest_of(&self, source: EntityId) -> Option<u64> {
        let waiting = self.inbox.iter().rev().map(|open| &open.msg);
        waiting.filter(|m| m.source == source).map(|m| m.out_seq).next()
    }

    /// When the oldest of what was sent was sent.
    fn oldest_sent(&self) -> Option<u64> {
        let commands = self.commands.iter().map(|c| c.sent);
        let inbox = self.inbox.iter().map(|m| m.sent);
        commands.chain(inbox).flatten().min()
    }
}

impl BaseCore {
    /// The owner of an entity, if something may be sent to it: its grant has left, and it was not
    /// declared dead.
    pub(crate) fn reachable_owner(&self, entity: EntityId) -> Option<Node> {
        let lineage = self.store.entities.get(&entity)?;
        self.now.get(&entity)?.granted?;
        let ended = lineage.state.destroyed || self.map.is_dead(lineage.owner);
        (!ended && !self.is_elsewhere(entity)).then_some(lineage.owner)
    }

    /// Forgets what was sent: the present owner is another one, or may have dropped it.
    pub(crate) fn unsend(&mut self, entity: EntityId) {
        if let Some(queue) = self.queues.get_mut(&entity) {
            queue.commands.iter_mut().for_each(|c| c.sent = None);
            queue.inbox.iter_mut().for_each(|m| m.sent = None);
            queue.destroy = queue.destroy.map(|_| None);
        }
        if let Some(post) = self.posts.get_mut(&entity) {
            post.answers.values_mut().for_each(|a| a.sent = None);
        }
    }

    /// Sends everything that is open to the owner again, its sessions first.
    pub(crate) fn resend(&mut self, entity: EntityId) {
        let Some(owner) = self.reachable_owner(entity) else { return };
        for (session, radius) in self.attached(entity) {
            let msg = BaseToCell::Attach { entity, session, radius };
            self.peers.at(owner).out.push(Msg::BaseToCell(msg));
        }
        self.unsend(entity);
        self.push(entity);
    }

    /// Sends the owner what it was not sent yet, in order.
    pub(crate) fn push(&mut self, entity: EntityId) {
        let Some(owner) = self.reachable_owner(entity) else { return };
        let mut msgs = self.commands_to_send(entity);
        msgs.extend(self.inbox_to_send(entity));
        msgs.extend(self.answers_to_send(entity));
        let ran = self.ran;
        if let Some(queue) = self.queues.get_mut(&entity)
            && queue.destroy == Some(None)
        {
            queue.destroy = Some(Some(ran));
            msgs.push(BaseToCell::Destroy { entity });
        }
        if !msgs.is_empty() {
            self.schedule(entity);
        }
        let out = &mut self.peers.at(owner).out;
        out.extend(msgs.into_iter().map(Msg::BaseToCell));
    }

    fn commands_to_send(&mut self, entity: EntityId) -> Vec<BaseToCell> {
        let Some(queue) = self.queues.get_mut(&entity) else { return Vec::new() };
        let mut held_back: BTreeSet<SessionId> = BTreeSet::new();
        let mut out = Vec::new();
        for open in queue.commands.iter_mut().filter(|open| open.sent.is_none()) {
            let session = open.command.session;
            let acked = self.streams.get(&session).map_or(0, |stream| stream.acked);
            if acked < open.behind || held_back.contains(&session) {
                held_back.insert(session);
                continue;
            }
            open.sent = Some(self.ran);
            open.seen = true;
            open.command.acknowledged = acked;
            out.push(BaseToCell::Command(open.command.clone()));
        }
        out
    }

    fn inbox_to_send(&mut self, entity: EntityId) -> Vec<BaseToCell> {
        let Some(queue) = self.queues.get_mut(&entity) else { return Vec::new() };
        let Some(lineage) = self.store.entities.get(&entity) else { return Vec::new() };
        let marks = lineage.state.inbox.rows();
        let may_fill = marks.len() + queue.inbox.len() > INBOX_SOURCES_MAX;
        let mut sources: BTreeSet<EntityId> = BTreeSet::new();
        if may_fill {
            sources.extend(marks.iter().map(|mark| mark.source));
            sources.extend(queue.inbox.iter().filter(|m| m.sent.is_some()).map(|m| m.msg.source));
        }
        let mut out = Vec::new();
        let mut held_back: BTreeSet<EntityId> = BTreeSet::new();
        for open in queue.inbox.iter_mut().filter(|open| open.sent.is_none()) {
            if !self.gate.is_durable(open.needs) || held_back.contains(&open.msg.source) {
                held_back.insert(open.msg.source);
                continue;
            }
            // The owner's table is full of other sources: this one waits until one is settled.
            if may_fill {
                let known = sources.contains(&open.msg.source);
                if !known && sources.len() >= INBOX_SOURCES_MAX {
                    continue;
                }
                sources.insert(open.msg.source);
            }
            open.sent = Some(self.ran);
            out.push(BaseToCell::Inbox(open.msg.clone()));
        }
        out
    }

    /// Whether what was sent to the owner has been without an outcome for long.
    pub(crate) fn is_overdue(&self, entity: EntityId) -> bool {
        let oldest = self.queues.get(&entity).and_then(Queue::oldest_sent);
        let answers = self.posts.get(&entity).and_then(|post| post.oldest_sent());
        let oldest = [oldest, answers].into_iter().flatten().min();
        oldest.is_some_and(|at| self.ran >= at + AGAIN)
    }

    /// Drops an empty queue.
    pub(crate) fn tidy_queue(&mut self, entity: EntityId) {
        if self.queues.get(&entity).is_some_and(Queue::is_empty) {
            self.queues.remove(&entity);
        }
    }
}
