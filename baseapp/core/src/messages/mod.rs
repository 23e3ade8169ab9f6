//! Messages between entities, base to base: sent once they are durable, kept until their answer
//! is, taken once.
//!
//! ```text
//!  source's base                         receiver's base            receiver's owner
//!  Sent durable ----- Deliver ---------> queue ----- Inbox -------> runs it
//!  <- Answer --- <--- Delivered -------- Received durable <-------- its step
//!  Answered durable - Settled ---------> ------- Settled ---------> forgets the mark
//! ```
//!
//! Whatever is lost is said again by the side that still waits: an open message by its source's
//! base, an answer that is not settled by the receiver's. Order is kept by `after`: a delivery
//! whose predecessor was not taken in is refused, and comes again behind it.

mod ended;
mod inbox;
mod outbox;
mod spawn;

use marchland_common::order::EntityId;
use marchland_common::world::MessageOutcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An answer that the owner of its message has not closed durably.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenAnswer {
    /// The outcome.
    pub outcome: MessageOutcome,
    /// When it was sent to the present owner.
    pub sent: Option<u64>,
}

/// The volatile part of an entity's outbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// The newest message that is durable and may leave.
    pub released: u64,
    /// Answers by message.
    pub answers: BTreeMap<u64, OpenAnswer>,
    /// Messages that the image has closed while that is not durable yet, with their receivers.
    pub closing: BTreeMap<u64, EntityId>,
}

impl Post {
    /// When the oldest answer that was sent was sent.
    #[must_use]
    pub fn oldest_sent(&self) -> Option<u64> {
        self.answers.values().filter_map(|answer| answer.sent).min()
    }
}
