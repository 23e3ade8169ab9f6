//! Names and headers of the files of a log, and whose log it is. Pure.

use marchland_common::journal::frame::{self, Format, HeaderError, Salt, SegmentHeader};
use marchland_common::order::{Lsn, Term};
use serde::{Deserialize, Serialize};

/// Whose log this is, and under which right it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogIdentity {
    /// The cluster.
    pub cluster: u64,
    /// The name of the base: `base-1`.
    pub base: String,
    /// The term of its slots. A log with a higher term belongs to a later holder.
    pub term: Term,
}

/// What the header of a segment says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentMeta {
    /// Whose log, under which term.
    pub identity: LogIdentity,
    /// Position of its first record.
    pub first_lsn: Lsn,
    /// Hash of the record before that.
    pub prev_hash: u64,
    /// Most bytes that are ever written between two syncs. What is broken at the end of a log
    /// and is longer than this cannot be a torn write.
    pub group_bytes: u64,
}

/// What the header of a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMeta {
    /// Whose log, under which term.
    pub identity: LogIdentity,
    /// The image holds everything up to here.
    pub through: Lsn,
    /// Hash of that record.
    pub hash: u64,
}

/// Segments of the log.
#[must_use]
pub const fn segment_format() -> Format {
    Format { magic: *b"MARCHWAL", versions: 1..=1 }
}

/// Checkpoints.
#[must_use]
pub const fn checkpoint_format() -> Format {
    Format { magic: *b"MARCHIMG", versions: 1..=1 }
}

/// Appends the header of a file.
pub fn write_meta(format: &Format, meta: &impl Serialize, out: &mut Vec<u8>) -> Salt {
    let meta = postcard::to_stdvec(meta).expect("plain structs encode into memory");
    frame::write_header(format, &meta, out)
}

/// Reads the header of a file.
///
/// # Errors
/// It is damaged, cut off, of another kind or an unknown version.
pub fn read_meta<'a, M: Deserialize<'a>>(
    format: &Format,
    bytes: &'a [u8],
) -> Result<(M, SegmentHeader<'a>), HeaderError> {
    let header = frame::read_header(format, bytes)?;
    let meta = postcard::from_bytes(header.meta).map_err(|_| HeaderError::Damaged)?;
    Ok((meta, header))
}

/// Above every position that a log can reach, and low enough to be counted on from.
pub const LSN_MAX: Lsn = Lsn(1 << 62);
/// Above every segment number that a log can reach.
const NUMBER_MAX: u64 = 1 << 40;

/// A file of the log, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileName {
    /// A segment, by its number.
    Segment(u64),
    /// A checkpoint, by the position it holds everything up to.
    Checkpoint(Lsn),
}

impl FileName {
    /// The name of the file.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Segment(number) => format!("{number:08}.wal"),
            Self::Checkpoint(through) => format!("checkpoint-{:020}", through.0),
        }
    }

    /// The name while it is being written: it becomes [`name`](Self::name) in one step.
    #[must_use]
    pub fn unfinished(self) -> String {
        format!("{}{UNFINISHED}", self.name())
    }

    /// Reads a name. None for every file that this log would not have named so.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let parsed = if let Some(lsn) = name.strip_prefix("checkpoint-") {
            Self::Checkpoint(Lsn(lsn.parse().ok()?))
        } else {
            Self::Segment(name.strip_suffix(".wal")?.parse().ok()?)
        };
        let in_range = match parsed {
            Self::Checkpoint(through) => through < LSN_MAX,
            Self::Segment(number) => number < NUMBER_MAX,
        };
        (in_range && parsed.name() == name).then_some(parsed)
    }
}

/// The end of the name of a file that is not finished, and that a restart removes.
pub const UNFINISHED: &str = ".tmp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_the_log_gives_are_read() {
        for file in [FileName::Segment(1), FileName::Checkpoint(Lsn(u64::MAX >> 3))] {
            assert_eq!(FileName::parse(&file.name()), Some(file));
            assert_eq!(FileName::parse(&file.unfinished()), None);
        }
        let endless = [FileName::Segment(u64::MAX), FileName::Checkpoint(Lsn(u64::MAX))];
        assert_eq!(endless.map(|file| FileName::parse(&file.name())), [None, None]);
        for other in ["1.wal", "LOCK", "checkpoint-7", "+0000001.wal", "00000001.wal.broken", ""] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
