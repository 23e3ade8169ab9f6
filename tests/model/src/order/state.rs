//! The state of the order model: a sender's outbox, a link, the receiver's queue and its owner.

use std::collections::BTreeSet;

/// Number of a message, from 1.
pub type Number = u8;

/// Number of a frame, counted from the last that the receiver has taken: 1 is the next.
pub type Ahead = i8;

/// A message: its number, and that of the open one before it (0 if there is none).
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Its number.
    pub number: Number,
    /// The open message that it follows.
    pub after: Number,
}

/// A frame of the link.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its number in its generation.
    pub ahead: Ahead,
    /// What it carries.
    pub message: Message,
}

/// A connection: what was written to it and not read yet, in order.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// It belongs to a stream that was given up.
    pub old_generation: bool,
    /// Its frames.
    pub frames: Vec<Frame>,
}

/// The link, with both its ends.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The connection in use.
    pub newest: Connection,
    /// The one before, which may still deliver.
    pub late: Connection,
    /// Frames that were sent in this generation and not taken.
    pub unacked: Vec<Frame>,
    /// The number of the frame that was sent last.
    pub sent: Ahead,
}

/// What an owner has applied.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Applied {
    /// Numbers, oldest first.
    pub lineage: Vec<Number>,
    /// The newest of them, as the mark says.
    pub mark: Number,
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Connections that break.
    pub reconnects: u8,
    /// Links that begin anew.
    pub resets: u8,
    /// Messages that the receiver's base has no room for.
    pub refusals: u8,
    /// Owners of the receiver that are replaced.
    pub migrations: u8,
    /// Restarts of the receiver's base.
    pub restarts: u8,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// Messages sent so far.
    pub sent: Number,
    /// Durable, at the sender's base: messages without an answer, in order.
    pub outbox: Vec<Number>,
    /// The link began anew and what is open was not said again.
    pub owes: bool,
    /// The link.
    pub link: Link,
    /// At the receiver's base: what no durable step contains yet, in order.
    pub queue: Vec<Number>,
    /// Durable, at the receiver's base.
    pub durable: Applied,
    /// The owner's copy.
    pub owner: Applied,
    /// What the owner holds and has not looked at, in order.
    pub held: Vec<Number>,
    /// Answers on their way.
    pub answers: BTreeSet<Number>,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: a frame was taken out of order, twice, or from a stream given up.
    pub link_failed: bool,
}
