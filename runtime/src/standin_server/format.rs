//! The bytes of the two files: the snapshot, and the log of changes since.
//!
//! Snapshot: `magic(8) | crc32(4) | body`, body = postcard of [`Saved`]. Log: frames of
//! `len(4) | crc32(4) | payload`, payload = postcard of `(index, record)`; indices are contiguous.
//! All numbers little-endian. Reading never trusts a length: a frame is at most
//! [`FRAME_BYTES_MAX`].

use marchland_standin_core::Request;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 8] = b"MLSTAND1";

/// Largest frame of the log: a request at the limit, with room for its encoding.
const FRAME_BYTES_MAX: usize = 4 << 20;

/// What a snapshot file holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    /// Who the server claims to be, for as long as the file lives.
    pub cluster_id: u64,
    /// Index of the last record that is contained.
    pub index: u64,
    /// The machine's own snapshot.
    pub machine: Vec<u8>,
}

pub(super) fn encode_snapshot(saved: &Saved) -> Vec<u8> {
    let body = postcard::to_stdvec(saved).expect("plain data always encodes");
    let mut bytes = MAGIC.to_vec();
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

pub(super) fn decode_snapshot(bytes: &[u8]) -> Result<Saved, &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it does not begin like a snapshot")?;
    let (crc, body) = rest.split_first_chunk::<4>().ok_or("it is cut off")?;
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return Err("its checksum does not match");
    }
    postcard::from_bytes(body).map_err(|_| "it does not decode")
}

pub(super) fn encode_frame(index: u64, record: &Request) -> Vec<u8> {
    let payload = postcard::to_stdvec(&(index, record)).expect("plain data always encodes");
    let mut frame = Vec::with_capacity(payload.len() + 8);
    frame.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    frame.extend(crc32fast::hash(&payload).to_le_bytes());
    frame.extend(payload);
    frame
}

/// What a log holds.
pub(super) struct Log {
    /// Its records with their indices.
    pub records: Vec<(u64, Request)>,
    /// Bytes up to the end of the last whole frame; the rest is a torn tail.
    pub whole_bytes: usize,
    /// Whether a whole frame follows the broken one: no torn write looks like that.
    pub damaged: bool,
}

pub(super) fn decode_log(bytes: &[u8]) -> Log {
    let mut log = Log { records: Vec::new(), whole_bytes: 0, damaged: false };
    while let Some((record, len)) = decode_frame(&bytes[log.whole_bytes..]) {
        log.records.push(record);
        log.whole_bytes += len;
    }
    let rest = &bytes[log.whole_bytes..];
    let claimed = rest.first_chunk::<4>().map_or(0, |len| u32::from_le_bytes(*len) as usize + 8);
    log.damaged =
        rest.get(claimed..).is_some_and(|next| claimed > 0 && decode_frame(next).is_some());
    log
}

/// The first frame of `bytes` and its length, if it is whole.
fn decode_frame(bytes: &[u8]) -> Option<((u64, Request), usize)> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let len = u32::from_le_bytes(*len) as usize;
    let payload = rest.get(..len).filter(|_| (1..=FRAME_BYTES_MAX).contains(&len))?;
    if crc32fast::hash(payload) != u32::from_le_bytes(*crc) {
        return None;
    }
    Some((postcard::from_bytes(payload).ok()?, len + 8))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn frames(n: u64) -> Vec<Vec<u8>> {
        (1..=n)
            .map(|i| encode_frame(i, &Request::LeaseGrant { id: i.cast_signed(), ttl_s: 5 }))
            .collect()
    }

    #[test]
    fn a_log_cut_at_any_byte_keeps_exactly_its_whole_frames() {
        let frames = frames(4);
        let bytes = frames.concat();
        for cut in 0..=bytes.len() {
            let log = decode_log(&bytes[..cut]);
            let mut whole = 0;
            let fit = frames.iter().take_while(|f| {
                whole += f.len();
                whole <= cut
            });
            assert_eq!(log.records.len(), fit.count(), "cut at {cut}");
            assert!(!log.damaged);
        }
    }

    #[test]
    fn a_flipped_bit_before_the_last_frame_is_damage_and_in_it_a_torn_tail() {
        let frames = frames(3);
        let mut bytes = frames.concat();
        let in_second = frames[0].len() + 9;
        bytes[in_second] ^= 1;
        let log = decode_log(&bytes);
        assert!(log.damaged && log.records.len() == 1);
        bytes[in_second] ^= 1;
        *bytes.last_mut().unwrap() ^= 1;
        let log = decode_log(&bytes);
        assert!(!log.damaged && log.records.len() == 2);
    }

    #[test]
    fn a_snapshot_reads_back_and_a_damaged_one_is_refused_with_a_reason() {
        let saved = Saved { cluster_id: 7, index: 9, machine: vec![1, 2, 3] };
        let mut bytes = encode_snapshot(&saved);
        assert_eq!(decode_snapshot(&bytes).unwrap().index, 9);
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert!(decode_snapshot(&bytes).is_err(), "byte {at}");
            bytes[at] ^= 0x10;
            assert!(decode_snapshot(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
