//! What can go wrong with a link while it runs, and what the caller must do about it.

use super::types::Generation;
use crate::order::Seq;
use serde::{Deserialize, Serialize};

/// What the caller must do after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remedy {
    /// End this connection and begin another: the peer continues after what was received.
    Reconnect,
    /// End this connection and call `reset`: this stream cannot be continued.
    Reset,
}

/// Why a connection cannot go on. The frame that caused it was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum LinkFault {
    /// More frames than may be held arrived behind a hole.
    #[error("frame {got} arrived while {expected} is missing, and {held} frames are held already")]
    GapTooWide {
        /// The missing sequence.
        expected: Seq,
        /// What arrived.
        got: Seq,
        /// Frames held.
        held: usize,
    },
    /// A hole stayed open too long.
    #[error("frame {expected} has been missing for {ticks} ticks")]
    GapTooOld {
        /// The missing sequence.
        expected: Seq,
        /// Ticks since the hole was seen.
        ticks: u32,
    },
    /// The peer sent more than its credit.
    #[error("the inbox holds {items} frames and {bytes} bytes; the peer sent beyond its credit")]
    InboxFull {
        /// Frames not yet taken by the consumer.
        items: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// A frame is larger than this channel allows.
    #[error("frame {seq} has {bytes} bytes; this channel allows {limit}")]
    FrameTooLarge {
        /// Its sequence.
        seq: Seq,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The peer claims frames that were never sent to it.
    #[error("the peer claims to have received up to {claimed}, but only {sent} was sent")]
    ClaimBeyondSent {
        /// What it claims.
        claimed: Seq,
        /// Newest that was handed to a connection.
        sent: Seq,
    },
    /// The peer no longer has frames that it had acknowledged, and which are freed here.
    #[error("the peer continues after {claimed}, but had acknowledged {acknowledged}")]
    PeerForgot {
        /// Where it wants to continue.
        claimed: Seq,
        /// What it had acknowledged.
        acknowledged: Seq,
    },
    /// The peer speaks of a generation older than one it announced before: a late connection.
    #[error("the peer announces generation {}, but generation {} was seen", got.0, seen.0)]
    OldGeneration {
        /// What it announces.
        got: Generation,
        /// The newest seen.
        seen: Generation,
    },
    /// The peer speaks of a generation that was never announced to it, or by it.
    #[error("the peer speaks of generation {}, but {} is the newest announced", got.0, known.0)]
    UnknownGeneration {
        /// What it speaks of.
        got: Generation,
        /// The newest announced.
        known: Generation,
    },
    /// Connection after connection ended without the peer having received this frame.
    #[error("{tries} connections in a row ended before frame {seq} was received")]
    NoProgress {
        /// The frame on which all of them stopped.
        seq: Seq,
        /// How many.
        tries: u32,
    },
    /// The stream is broken off and waits for `reset`.
    #[error("the stream is broken off ({0}) and must be reset before it connects")]
    Broken(super::send::ResetReason),
}

impl LinkFault {
    /// What the caller must do.
    #[must_use]
    pub const fn remedy(&self) -> Remedy {
        match self {
            Self::GapTooWide { .. }
            | Self::GapTooOld { .. }
            | Self::InboxFull { .. }
            | Self::FrameTooLarge { .. }
            | Self::OldGeneration { .. } => Remedy::Reconnect,
            Self::ClaimBeyondSent { .. }
            | Self::PeerForgot { .. }
            | Self::UnknownGeneration { .. }
            | Self::NoProgress { .. }
            | Self::Broken(_) => Remedy::Reset,
        }
    }
}
