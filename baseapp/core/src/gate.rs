//! Nothing leaves before what it rests on is durable: the queue between a decision and its effect.
//!
//! Invariants: what waits leaves in the order in which it was decided; it leaves in the moment in
//! which the log reports its record, never before. "Durable" is what the log says it is; the core
//! knows of no disk.

use crate::io::{OrderAnswer, ToClient};
use marchland_common::msg::{BaseToBase, BaseToCell};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, Seq, SessionId, SlotId};
use marchland_common::world::{Address, CommandOutcome, MessageOutcome, Value};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Something that leaves when its record is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Held {
    /// Everything that a step frees.
    Step(Box<StepEffects>),
    /// A message to a cellapp.
    Cell(Node, BaseToCell),
    /// A message to the base of a slot.
    Base(SlotId, BaseToBase),
    /// A message to a life of another base.
    Life(Node, BaseToBase),
    /// A frame to a client.
    Client(ToClient),
    /// The answer to an order.
    Answer(OrderAnswer),
    /// The end of a fenced owner's claim.
    Fence {
        /// Who.
        node: Node,
        /// The entity.
        entity: EntityId,
        /// The epoch that ended.
        epoch: Epoch,
    },
    /// A session begins or goes on.
    Welcome {
        /// The session.
        session: SessionId,
        /// The client's request.
        request: u64,
        /// Whether it went on.
        resumed: bool,
        /// The own fields at that moment.
        own: (Epoch, Seq, Vec<(u8, Value)>),
    },
    /// An answer that the base gave alone.
    Alone {
        /// The entity.
        entity: EntityId,
        /// The session.
        session: SessionId,
        /// The client's number.
        n: u64,
        /// The answer.
        outcome: CommandOutcome,
    },
    /// A session ended; its frames are over.
    SessionEnd {
        /// The entity.
        entity: EntityId,
        /// The session.
        session: SessionId,
    },
    /// A message that carries value may be shown to its receiver's owner.
    Carried {
        /// The receiver.
        entity: EntityId,
    },
    /// A message that carries value has its outcome.
    Outcome {
        /// The sender.
        entity: EntityId,
        /// Its number of the message.
        out_seq: u64,
        /// The outcome.
        outcome: MessageOutcome,
    },
    /// A message that was to create an entity has its outcome.
    Spawned {
        /// The sender.
        source: EntityId,
        /// Its number.
        out_seq: u64,
    },
    /// A slot that came from another base is this one's own.
    SlotTaken {
        /// The slot.
        slot: SlotId,
    },
    /// A message of an entity that ended is closed.
    Closed {
        /// The sender.
        source: EntityId,
        /// Its number.
        out_seq: u64,
        /// The receiver.
        to: Address,
    },
}

/// What one accepted step frees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEffects {
    /// The entity.
    pub entity: EntityId,
    /// Whose step it was: who gets the acknowledgement.
    pub owner: Node,
    /// The epoch.
    pub epoch: Epoch,
    /// The step.
    pub seq: Seq,
    /// Answers to commands.
    pub commands: Vec<(SessionId, u64, CommandOutcome)>,
    /// Messages that were sent.
    pub sent: Vec<u64>,
    /// Messages that were taken.
    pub received: Vec<(EntityId, u64, MessageOutcome)>,
    /// Own messages that were closed.
    pub answered: Vec<(u64, Address)>,
    /// What its client may know now.
    pub own: Vec<(u8, Value)>,
    /// Who may drop the frozen copy of which epoch.
    pub release: Option<(Node, Epoch)>,
    /// Whether the entity ended.
    pub destroyed: bool,
}

/// The queue, and how far the log is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The newest record that was written.
    pub last: Lsn,
    /// The newest record that is durable.
    pub durable: Lsn,
    held: VecDeque<(Lsn, Held)>,
}

impl Gate {
    /// A gate after a restart: what was read back is durable.
    #[must_use]
    pub const fn at(last: Lsn) -> Self {
        Self { last, durable: last, held: VecDeque::new() }
    }

    /// Takes in what the log reports. True if it is news. A number that was never written is the
    /// fault of the process around the core and counts only as far as it can be true.
    pub fn report(&mut self, durable: Lsn) -> bool {
        let durable = durable.min(self.last);
        let news = durable > self.durable;
        self.durable = self.durable.max(durable);
        news
    }

    /// Whether something that rests on this record may leave.
    #[must_use]
    pub fn is_durable(&self, lsn: Lsn) -> bool {
        lsn <= self.durable
    }

    /// Lets something wait for a record that is not durable yet. The order of what waits is the
    /// order of these calls; a record that is older than another's waits with it.
    pub fn hold(&mut self, needs: Lsn, what: Held) {
        let newest = self.held.back().map_or(needs, |(lsn, _)| needs.max(*lsn));
        self.held.push_back((newest, what));
    }

    /// The next that may leave.
    pub fn next_free(&mut self) -> Option<Held> {
        let free = self.held.front().is_some_and(|(lsn, _)| self.is_durable(*lsn));
        free.then(|| self.held.pop_front()).flatten().map(|(_, what)| what)
    }
}
