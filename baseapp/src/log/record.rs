//! One record of the write-ahead log, as the payload of a frame. Pure.
//!
//! ```text
//! lsn u64 | durable u64 | hash of the previous record u64 | payload      little-endian
//! ```
//!
//! `durable` is the newest position that was known to be on disk when the record was written. It
//! is what lets a reader tell a torn group, which nobody was promised, from damage to a record
//! that somebody was: a later record that names it durable is the proof.

use super::segment::LSN_MAX;
use marchland_common::order::Lsn;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Bytes before the payload.
pub const RECORD_PREFIX: usize = 24;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalRecord<'a> {
    /// Its position.
    pub lsn: Lsn,
    /// Newest position on disk when it was written; below `lsn`.
    pub durable: Lsn,
    /// Hash of the record before it.
    pub prev_hash: u64,
    /// What was appended.
    pub payload: &'a [u8],
}

impl<'a> WalRecord<'a> {
    /// Appends the record's bytes, the payload of its frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.lsn.0.to_le_bytes());
        out.extend_from_slice(&self.durable.0.to_le_bytes());
        out.extend_from_slice(&self.prev_hash.to_le_bytes());
        out.extend_from_slice(self.payload);
    }

    /// Reads the payload of a frame. None if it is too short, or contradicts itself.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (head, payload) = bytes.split_at_checked(RECORD_PREFIX)?;
        let word = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let (lsn, durable) = (Lsn(word(0)?), Lsn(word(8)?));
        (durable < lsn && lsn < LSN_MAX).then_some(Self {
            lsn,
            durable,
            prev_hash: word(16)?,
            payload,
        })
    }
}

/// The hash that the next record carries, from the bytes of this one.
#[must_use]
pub fn chain_hash(frame_payload: &[u8]) -> u64 {
    xxh3_64(frame_payload)
}

/// What the first record of a log carries as its previous hash.
#[must_use]
pub fn genesis_hash(cluster: u64, base: &str) -> u64 {
    xxh3_64_with_seed(base.as_bytes(), cluster)
}
