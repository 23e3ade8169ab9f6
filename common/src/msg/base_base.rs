//! What bases tell each other: messages between entities, and their answers.

use super::Origin;
use crate::order::{EntityId, SlotId, Term};
use crate::world::MessageOutcome;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// From a base to another (or to itself, by the same path).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BaseToBase {
    /// A message, durable at its source. Sent again until it is answered.
    Deliver {
        /// The receiver.
        to: EntityId,
        /// The sender.
        source: EntityId,
        /// The sender's number of it.
        out_seq: u64,
        /// What it says.
        payload: Bytes,
        /// How much of the conserved number it carries.
        value: i64,
        /// Where it comes from.
        origin: Origin,
        /// The source will not ask again for answers up to this number.
        settled: u64,
        /// The message of this source to this receiver that is open before this one; 0 if none
        /// is. Who has not taken it in must not take this one: it would look as if both were.
        after: u64,
    },
    /// The outcome of a message, durable at its receiver.
    Delivered {
        /// The sender of the message.
        source: EntityId,
        /// Its number.
        out_seq: u64,
        /// Its receiver.
        to: EntityId,
        /// How it ended.
        outcome: MessageOutcome,
    },
    /// The source closed all its messages to the receiver up to this number.
    Settled {
        /// The sender of the messages.
        source: EntityId,
        /// Their receiver.
        to: EntityId,
        /// The newest closed number.
        through: u64,
    },
    /// A piece of a slot that its keeper gives away. Sent again until it is in.
    SlotChunk(SlotChunk),
    /// The next keeper has the pieces below this one; they need not be durable yet.
    SlotGot {
        /// The slot.
        slot: SlotId,
        /// The term under which it is given.
        term: Term,
        /// The first piece that is missing.
        next: u32,
    },
    /// The next keeper has the whole slot, durably, and waits for its term.
    SlotHeld {
        /// The slot.
        slot: SlotId,
        /// The term under which it is given.
        term: Term,
        /// The digest of what it has.
        digest: u64,
    },
}

/// A piece of everything durable about one slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotChunk {
    /// The slot.
    pub slot: SlotId,
    /// The term under which it is given: ends with the move, or with its being called off.
    pub term: Term,
    /// Which piece, from 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
    /// The digest over all of them.
    pub digest: u64,
    /// Its bytes.
    pub body: Bytes,
}
