//! The records of the write-ahead log: what a base knows durably, as a sequence of facts.
//!
//! A record is self-contained and its place in the log is its number: the first has the number
//! after the last one. The rooms of the core change what is durable only by writing a record and
//! applying it, and a restart applies the same records in the same order, so what is read back is
//! what was there. A prefix of the log is a state that the base was in.

mod account;
mod image;
mod named;
mod replay;
mod slots;
mod store;

pub use account::account;
pub use image::{CHUNK_BYTES, CHUNKS_MAX, Image, NoImage};
pub use named::Named;
pub use replay::{Recovered, ReplayError, replay};
pub use slots::{Import, Leave};
pub use store::{Alone, BadRecord, SessionRow, SlotRow, Store};

use crate::lineage::{Lineage, Prev};
use bytes::Bytes;
use marchland_common::journal::OwnerWhy;
use marchland_common::msg::{HandoffRefusal, SlotChunk, StepBody};
use marchland_common::order::{
    EntityId, Epoch, Lsn, Node, NodeName, Seq, SessionId, SlotId, Term, Tick,
};
use marchland_common::time::EntityTime;
use marchland_common::world::{CommandOutcome, EntityState, MessageOutcome};
use serde::{Deserialize, Serialize};

/// The version of the record encoding; the first byte of every record.
pub const RECORD_VERSION: u8 = 1;

/// One durable fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogRecord {
    /// This base keeps the slot from here on, under this term. What came of the slot from its
    /// keeper before is in the store by this record; what was frozen of it goes on.
    SlotTaken {
        /// The slot.
        slot: SlotId,
        /// The term of its keeper.
        term: Term,
    },
    /// Ids of the slot up to this counter may have been handed out.
    IdsReserved {
        /// The slot.
        slot: SlotId,
        /// The largest counter.
        upto: u64,
    },
    /// An entity was born under epoch 1.
    Created(Box<Created>),
    /// A step became part of the lineage. Ends the wait for the first step of its epoch, and the
    /// claim of the owner before it. If it destroys the entity, it ends its sessions and frees
    /// its account.
    Step(Box<StepRecord>),
    /// Ownership changed: the one commit point of a handoff and of a restore.
    Owner(OwnerRecord),
    /// A request to hand over was refused: it stays so, whoever repeats it to whichever life of
    /// this base.
    Refused {
        /// The entity.
        entity: EntityId,
        /// The last tick that its owner had simulated: names the request.
        last_tick: Tick,
        /// Why.
        reason: HandoffRefusal,
    },
    /// The base answered a command that no owner saw.
    CommandAnswered {
        /// The session.
        session: SessionId,
        /// The client's number.
        n: u64,
        /// The answer.
        outcome: CommandOutcome,
        /// What the client had acknowledged by then; answers up to there need not be kept.
        acknowledged: u64,
    },
    /// A message that carries value waits for its receiver. Written before any owner sees it, so
    /// that what a step takes is known whichever life of this base accepts it.
    Carried {
        /// The receiver.
        entity: EntityId,
        /// The sender.
        source: EntityId,
        /// The sender's number of it.
        out_seq: u64,
        /// What it carries.
        value: i64,
    },
    /// A message that carries value got its outcome. Written before the sender's owner sees it.
    Outcome {
        /// The sender.
        entity: EntityId,
        /// Its number of the message.
        out_seq: u64,
        /// The outcome.
        outcome: MessageOutcome,
    },
    /// A message that was to create an entity got its outcome. With `Spawned`, the `Created`
    /// record before it says so; this record is written for the others.
    SpawnRefused {
        /// The sender.
        source: EntityId,
        /// Its number of the message.
        out_seq: u64,
        /// The outcome.
        outcome: MessageOutcome,
    },
    /// A message of an entity that ended got its answer; nobody but the base can close it.
    OutboxClosed {
        /// The sender.
        entity: EntityId,
        /// The message.
        out_seq: u64,
    },
    /// A source closed its messages to an entity that ended.
    InboxSettled {
        /// The receiver.
        entity: EntityId,
        /// The sender.
        source: EntityId,
        /// The newest closed number.
        through: u64,
    },
    /// Nothing of an entity that ended is open any more.
    Forgotten {
        /// The entity.
        entity: EntityId,
    },
    /// A client took an entity.
    SessionOpened {
        /// The session.
        session: SessionId,
        /// What it needs to come back.
        row: SessionRow,
    },
    /// A session ended.
    SessionClosed {
        /// The session.
        session: SessionId,
    },
    /// What follows, up to the end mark, is the state after the record with this number.
    Image(Lsn),
    /// A part of that state.
    Part(Box<Part>),
    /// The state is whole; it had this many parts.
    ImageEnd(u64),
    /// A slot is on its way to another base: nothing of it changes until a higher term says whose
    /// it is. This and the three records below are read by no build before they were added: it
    /// refuses a log that holds one.
    SlotFrozen {
        /// The slot.
        slot: SlotId,
        /// Its term at that moment.
        term: Term,
        /// Who is to keep it.
        to: NodeName,
    },
    /// A piece of a slot that is on its way here. The last one makes it whole; nothing of it
    /// counts before the slot is taken.
    SlotChunk(SlotChunk),
    /// What came of a slot is void: the move was called off.
    SlotDropped {
        /// The slot.
        slot: SlotId,
    },
    /// The slot is another base's: everything about it leaves the store.
    SlotGiven {
        /// The slot.
        slot: SlotId,
        /// The term of its next keeper.
        term: Term,
    },
    /// What came of a slot, whole, was read out of the log of a lost base, which ended with a
    /// record. Read by no build before it was added.
    SlotAdopted {
        /// The slot.
        slot: SlotId,
        /// The life that wrote that log last.
        from: Node,
        /// The last record in it.
        through: Lsn,
    },
}

/// A birth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The entity.
    pub entity: EntityId,
    /// Its first state.
    pub state: EntityState,
    /// Who is to own it.
    pub owner: Node,
    /// The message that asked for it: makes the birth happen once.
    pub source: Option<(EntityId, u64)>,
    /// The account that plays it.
    pub account: Option<String>,
    /// What its behaviour is told.
    pub argument: Bytes,
}

/// An accepted step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The entity.
    pub entity: EntityId,
    /// The epoch.
    pub epoch: Epoch,
    /// The step.
    pub seq: Seq,
    /// Whose step it is.
    pub owner: Node,
    /// The owner's tick.
    pub src_tick: Tick,
    /// The digest afterwards.
    pub digest: u64,
    /// Entity time afterwards.
    pub time: EntityTime,
    /// What changed.
    pub body: StepBody,
}

/// A change of ownership.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnerRecord {
    /// The entity.
    pub entity: EntityId,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// Who owns it from here on.
    pub owner: Node,
    /// Who may still hold a frozen copy as the fallback.
    pub prev: Option<Prev>,
    /// Why.
    pub why: OwnerWhy,
    /// The last tick that the owner before simulated.
    pub last_tick: Option<Tick>,
    /// Entity time at which it goes on.
    pub time: EntityTime,
}

/// A part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// A slot.
    Slot(SlotId, SlotRow),
    /// An entity.
    Entity(EntityId, Box<Lineage>),
    /// A session.
    Session(SessionId, SessionRow),
    /// The outcome of a message that was to create an entity, until its sender took it in.
    Spawn(EntityId, u64, MessageOutcome),
    /// Answers that the base gave alone, until their client has them.
    Alone(SessionId, Alone),
    /// A slot that leaves.
    Leaving(SlotId, Leave),
    /// A slot that is on its way here: its term, the digest and the number of its pieces.
    Import(SlotId, Term, u64, u32),
    /// The next piece of it.
    ImportChunk(SlotId, Bytes),
    /// What is here of a slot was read out of the log of this life, up to this record.
    Adopted(SlotId, Node, Lsn),
}

impl LogRecord {
    /// The record's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![RECORD_VERSION])
            .expect("derived serializers of plain values do not fail")
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`BadRecord`] when the bytes are of another version or no record.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadRecord> {
        match bytes.split_first() {
            Some((&RECORD_VERSION, body)) => {
                postcard::from_bytes(body).map_err(|_| BadRecord::Undecodable)
            }
            Some((version, _)) => Err(BadRecord::Version(*version)),
            None => Err(BadRecord::Undecodable),
        }
    }
}
