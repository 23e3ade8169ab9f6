//! The records of a journal: a header, a snapshot at the start of each segment, one record per
//! output moment, and an end mark.

use super::Event;
use crate::digest::digest_of;
use crate::msg::{Frame, Moment, Outgoing};
use crate::order::{Node, Tick};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// The first of every segment.
    Header(JournalHeader),
    /// The whole core, so that a replay may start here. Second of every segment.
    Snapshot(Bytes),
    /// One output moment.
    Tick(TickRecord),
    /// Records that could not be kept: nothing in this span may be judged.
    Gap {
        /// The first tick that is missing.
        from: Tick,
        /// The last tick that is missing.
        to: Tick,
    },
    /// The process ended in order.
    End {
        /// Why.
        why: String,
    },
}

/// Whose journal it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The cluster.
    pub cluster: u64,
    /// The process and its life.
    pub node: Node,
    /// The build that wrote it.
    pub build: String,
    /// The hash of the declared kinds.
    pub schema: u64,
    /// The seed of the process.
    pub seed: u64,
    /// Its configuration, as text.
    pub config: String,
    /// The number of the segment, from 0.
    pub segment: u32,
    /// Calendar time in milliseconds when the segment began, for people; never for order.
    pub wall_ms: u64,
}

/// What went in, what was decided and what came out at one output moment of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickRecord {
    /// The tick.
    pub tick: Tick,
    /// Where in it.
    pub moment: Moment,
    /// The core's whole input, encoded once; empty where a process has no core.
    pub input: Bytes,
    /// Bundles taken in, in the order of the input.
    pub received: Vec<BundleRef>,
    /// Bundles sent.
    pub sent: Vec<BundleRef>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// How many of the events, from the first on, are not the core's but of what surrounds it.
    pub facts: u32,
    /// The digest of the core afterwards.
    pub digest: PartedDigest,
}

/// The digest of a core that also tells which of its parts differs from another one's. Nothing of
/// it is there where a process has no core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartedDigest {
    /// Of everything.
    pub whole: u64,
    /// Two bytes of each part's own digest, in the core's order of its parts: too few to prove
    /// anything, enough to say where to look.
    pub parts: Vec<[u8; 2]>,
}

impl PartedDigest {
    /// Of the digests of all parts.
    #[must_use]
    pub fn of(parts: &[u64]) -> Self {
        let short = |part: &u64| {
            let [low, high, ..] = part.to_le_bytes();
            [low, high]
        };
        Self { whole: digest_of(parts), parts: parts.iter().map(short).collect() }
    }
}

impl TickRecord {
    /// The record of a process that has no core: nothing but what it noticed.
    #[must_use]
    pub const fn without_core(tick: Tick, events: Vec<Event>) -> Self {
        Self {
            tick,
            moment: Moment::Flush,
            input: Bytes::new(),
            received: Vec::new(),
            sent: Vec::new(),
            facts: 0,
            events,
            digest: PartedDigest { whole: 0, parts: Vec::new() },
        }
    }
}

/// The name of a bundle: who, to or from whom, and its number between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BundleRef {
    /// The other side.
    pub peer: Node,
    /// The number.
    pub n: u64,
    /// The sender's tick.
    pub src_tick: Tick,
}

impl BundleRef {
    /// The name of a bundle that came in.
    #[must_use]
    pub const fn of_frame(frame: &Frame) -> Self {
        Self { peer: frame.from, n: frame.bundle.n, src_tick: frame.bundle.src_tick }
    }

    /// The name of a bundle that goes out.
    #[must_use]
    pub const fn of_outgoing(outgoing: &Outgoing) -> Self {
        Self { peer: outgoing.to, n: outgoing.bundle.n, src_tick: outgoing.bundle.src_tick }
    }
}

/// Encodes a record.
///
/// # Errors
/// Only when the encoder itself fails, which plain values do not cause.
pub fn encode_record(record: &Record) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(record)
}

/// Decodes a record.
///
/// # Errors
/// When the bytes are not a record of this version.
pub fn decode_record(bytes: &[u8]) -> Result<Record, postcard::Error> {
    postcard::from_bytes(bytes)
}
