//! Whether the broken end of a log is what a crash leaves, or damage. Pure.
//!
//! At most one group of records is between two syncs. A crash can lose any part of that group in
//! whole sectors, which then read as zeros, or by the file being shorter. It cannot change a bit,
//! and it cannot touch a record that was synced. So a broken end is a torn group only if
//! - it is not longer than a group,
//! - no whole record behind it says that the broken one was durable, and
//! - it is cut off by the end of the file, or one of its sectors was never written.
//!
//! What cannot be told apart: damage inside the very last group that looks like this. The image
//! that the owner of an entity holds is the remedy for that, as it is for a lost disk.

use super::record::{RECORD_PREFIX, WalRecord};
use marchland_common::journal::frame::{FrameReader, RECORD_HEAD, Search};
use marchland_common::order::Lsn;

/// What is written whole or not at all.
const SECTOR: usize = 512;

/// Fewest bytes of a record in a file.
pub(super) const RECORD_BYTES_MIN: usize = RECORD_HEAD + RECORD_PREFIX;

/// What broke the end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A crash while a group was being written.
    Crash {
        /// Whole records of that group behind a hole.
        records: u64,
    },
    /// Anything else.
    Damage,
}

/// Judges what follows the last whole record; `reader` stands there, and `next` is the position
/// of the record that should follow.
#[must_use]
pub fn judge(bytes: &[u8], reader: &FrameReader<'_>, next: Lsn, group_bytes: u64) -> Cause {
    let begin = reader.position();
    let rest = bytes.len() - begin;
    if rest as u64 > group_bytes {
        return Cause::Damage;
    }
    let mut hole_end = None;
    let mut records = 0;
    for (offset, payload) in all_whole(reader.clone(), next, bytes.len()) {
        hole_end.get_or_insert(offset);
        records += 1;
        let promised = WalRecord::decode(payload).is_some_and(|record| record.durable >= next);
        if promised {
            return Cause::Damage;
        }
    }
    let cut_off = hole_end.is_none() && reader.is_cut_off();
    if cut_off || has_unwritten_sector(bytes, begin, hole_end.unwrap_or(bytes.len())) {
        Cause::Crash { records }
    } else {
        Cause::Damage
    }
}

/// Every whole record from where the reader stands on, with its offset, also behind holes. Only
/// positions that can stand so near are looked at, which makes the search exact and cheap.
pub(super) fn all_whole<'a>(
    mut reader: FrameReader<'a>,
    from: Lsn,
    bytes: usize,
) -> impl Iterator<Item = (usize, &'a [u8])> {
    let most = (bytes / RECORD_BYTES_MIN) as u64;
    let near = move |payload: &[u8]| {
        WalRecord::decode(payload)
            .is_some_and(|record| record.lsn >= from && record.lsn.0 - from.0 <= most)
    };
    std::iter::from_fn(move || {
        loop {
            if let Some(record) = reader.next() {
                if near(record.payload) {
                    return Some((record.offset, record.payload));
                }
                continue;
            }
            let Search::Found(later) = reader.search(near) else { return None };
            reader = later;
        }
    })
}

/// Whether some sector reads as never written between `from` and `to`.
fn has_unwritten_sector(bytes: &[u8], from: usize, to: usize) -> bool {
    let mut begin = from;
    while begin < to {
        let end = ((begin / SECTOR + 1) * SECTOR).min(to);
        if bytes[begin..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        begin = end;
    }
    false
}
