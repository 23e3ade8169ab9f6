//! The words of a link: frames, acknowledgements, generations, limits.

use crate::order::Seq;
use serde::{Deserialize, Serialize};

/// What a link carries: opaque content whose size counts against the limits.
pub trait Payload: Clone {
    /// Size in bytes, as the limits count it.
    fn cost(&self) -> usize;
}

impl Payload for bytes::Bytes {
    fn cost(&self) -> usize {
        self.len()
    }
}

impl Payload for Vec<u8> {
    fn cost(&self) -> usize {
        self.len()
    }
}

/// Which of the streams between two lives: each has its own order, nothing is ordered across.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ChannelId(pub u8);

impl ChannelId {
    /// Carries everything that has an order.
    pub const ORDERED: Self = Self(0);
    /// Carries large chunks of state, matched by what they describe and never by order.
    pub const BULK: Self = Self(1);
}

/// Which attempt at one stream: it grows by one each time the sender had to give frames up.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// Who dialed: each process dials what it sends, so a pair that talks both ways has two links, and
/// neither waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// Dialed by this process: it sends, the peer acknowledges.
    Outgoing,
    /// Dialed by the peer: it sends, this process acknowledges.
    Incoming,
}

/// One connection of a link, so that the end of an older one does not end the newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Connection(pub u64);

/// Credit: the peer's consumer has taken everything up to `seq` of this generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// Generation of the stream that is acknowledged.
    pub generation: Generation,
    /// Newest sequence that was taken; 0 if none was.
    pub seq: Seq,
}

/// One message on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame<P> {
    /// Generation of the stream that this frame belongs to.
    pub generation: Generation,
    /// Position in the stream, from 1, without holes.
    pub seq: Seq,
    /// The content.
    pub payload: P,
}

/// What each end tells the other when a connection begins, so that both continue where they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Generation of what I send.
    pub sending: Generation,
    /// Generation of what I last received from you.
    pub receiving: Generation,
    /// Newest sequence of that generation that I hold without a hole before it.
    pub last_received: Seq,
}

/// What may happen to content when the peer is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// State, of which only the newest matters: refused at the soft limit, and the caller merges
    /// it into what it sends later.
    Coalescible,
    /// Has an effect and an order: accepted until the hard limit, where the stream is broken off.
    Ordered,
}

/// Limits of one channel; both ends use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// Unacknowledged frames from which on coalescible content is refused.
    pub soft_items: usize,
    /// Unacknowledged bytes from which on coalescible content is refused.
    pub soft_bytes: usize,
    /// Unacknowledged frames that break the stream off. Also bounds the receiver's inbox.
    pub hard_items: usize,
    /// Unacknowledged bytes that break the stream off. Also bounds the receiver's inbox.
    pub hard_bytes: usize,
    /// Bytes of one frame. Below the decoder's limit of the transport, or one frame would end
    /// every connection that carries it.
    pub frame_bytes: usize,
    /// Frames held behind a hole.
    pub held_items: usize,
    /// Ticks that a hole may stay open.
    pub held_ticks: u32,
    /// Connections in a row that may end without the peer having received one more frame.
    pub fruitless_connections: u32,
}

impl LinkLimits {
    /// For the ordered channel: a base sends up to four frames a tick, so the soft limit is more
    /// than three seconds of a silent peer at 50 ms, and the hard limit more than twelve.
    pub const ORDERED: Self = Self {
        soft_items: 256,
        soft_bytes: 8 << 20,
        hard_items: 1024,
        hard_bytes: 32 << 20,
        frame_bytes: 3 << 20,
        held_items: 256,
        held_ticks: 8,
        fruitless_connections: 8,
    };

    /// Checks limits that come from a configuration.
    ///
    /// # Errors
    /// Names the pair that contradicts itself.
    pub const fn check(&self) -> Result<(), BadLimits> {
        if self.frame_bytes > self.soft_bytes {
            return Err(BadLimits { smaller: "soft_bytes", larger: "frame_bytes" });
        }
        if self.soft_bytes > self.hard_bytes {
            return Err(BadLimits { smaller: "hard_bytes", larger: "soft_bytes" });
        }
        if self.soft_items > self.hard_items {
            return Err(BadLimits { smaller: "hard_items", larger: "soft_items" });
        }
        if self.soft_items == 0 || self.held_ticks == 0 || self.fruitless_connections == 0 {
            return Err(BadLimits { smaller: "each limit", larger: "1" });
        }
        Ok(())
    }

    /// For chunks of state: few and large. All of it can be asked for again, so callers send it
    /// as coalescible and the hard limit is never met.
    pub const BULK: Self = Self {
        soft_items: 64,
        soft_bytes: 16 << 20,
        hard_items: 64,
        hard_bytes: 16 << 20,
        ..Self::ORDERED
    };
}

/// Limits that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{smaller} must not be smaller than {larger}")]
pub struct BadLimits {
    /// The limit that is too small.
    pub smaller: &'static str,
    /// What it has to hold.
    pub larger: &'static str,
}
