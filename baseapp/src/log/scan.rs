//! Reads the segments of a log in order, and says what is whole, what is a torn end, and what is
//! damaged. Pure: bytes in, verdict out.
//!
//! Invariants:
//! - Positions are contiguous and each record carries the hash of the one before it, across
//!   segments and from the checkpoint on. What does not fit is damage, never skipped.
//! - Only the end of the last segment can be torn, and only where a crash can leave what is
//!   there (see [`super::torn`]). Everything else that is not whole is damage.

use super::record::{WalRecord, chain_hash, genesis_hash};
use super::segment::{FileName, LogIdentity, SegmentMeta, read_meta, segment_format};
use super::torn::{Cause, all_whole, judge};
use marchland_common::journal::frame::{FrameReader, HeaderError, possible_salts};
use marchland_common::order::{Lsn, Term};
use std::ops::Range;

/// Most bytes that a frame of a log is read with, whatever wrote it.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// The end of the last segment was torn off by a crash. Nobody was promised what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The segment.
    pub file: String,
    /// Where the torn end begins: the file is cut here.
    pub offset: u64,
    /// How many bytes are dropped.
    pub bytes: u64,
    /// Whole records in it that stand behind a hole, and are dropped too: they belong to the
    /// group that was being written.
    pub records: u64,
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The header of the file does not read.
    #[error("{0}")]
    Header(HeaderError),
    /// A record does not read, and a crash cannot have left it so.
    #[error("a record is damaged")]
    Record,
    /// A record is whole but is not the one that belongs here.
    #[error("record {found} stands here")]
    Position {
        /// What stands there.
        found: Lsn,
    },
    /// A record is whole but does not continue the one before it.
    #[error("the chain of hashes is broken")]
    Chain,
    /// A segment was written under a lower term than the one before it.
    #[error("term {found} follows term {before}")]
    Term {
        /// Of this segment.
        found: Term,
        /// Of the one before.
        before: Term,
    },
    /// The records from here on are in no file.
    #[error("the files that hold it are missing")]
    Missing,
    /// The newest checkpoint does not read, and no older one with all later segments is there.
    #[error("the checkpoint is damaged: {0}")]
    Checkpoint(super::image::ImageError),
}

/// The first place where a log is not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} is broken at byte {offset}, record {lsn}: {kind}")]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// The record that should stand there. All before it are whole.
    pub lsn: Lsn,
    /// What is wrong.
    pub kind: DamageKind,
}

/// Why a segment must not be read as part of this log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanRefusal {
    /// Another cluster's or base's log.
    #[error(
        "{file} belongs to {their_base} of cluster {their_cluster:#x}, this is {our_base} of \
         {our_cluster:#x}: give each base its own folder"
    )]
    Foreign {
        /// The file.
        file: String,
        /// Whose it is.
        their_base: String,
        /// Of which cluster.
        their_cluster: u64,
        /// Who reads.
        our_base: String,
        /// Of which cluster.
        our_cluster: u64,
    },
    /// A later holder of the slots has written here.
    #[error("{file} was written under term {found}, ours is {ours}: a later base owns these slots")]
    NewerTerm {
        /// The file.
        file: String,
        /// Its term.
        found: Term,
        /// Ours.
        ours: Term,
    },
    /// Written by a build that this one cannot read.
    #[error("{file}: {error}")]
    Version {
        /// The file.
        file: String,
        /// Which versions.
        error: HeaderError,
    },
}

/// Checks whose file it is; `None` reads every log.
pub(super) fn check_identity(
    file: &str,
    ours: Option<&LogIdentity>,
    theirs: &LogIdentity,
) -> Result<(), ScanRefusal> {
    let Some(ours) = ours else { return Ok(()) };
    if ours.cluster != theirs.cluster || ours.base != theirs.base {
        return Err(ScanRefusal::Foreign {
            file: file.to_owned(),
            their_base: theirs.base.clone(),
            their_cluster: theirs.cluster,
            our_base: ours.base.clone(),
            our_cluster: ours.cluster,
        });
    }
    if theirs.term > ours.term {
        let (file, found, ours) = (file.to_owned(), theirs.term, ours.term);
        return Err(ScanRefusal::NewerTerm { file, found, ours });
    }
    Ok(())
}

/// Where reading begins: nothing, or a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Everything up to here is in the checkpoint; 0 without one.
    pub through: Lsn,
    /// Hash of that record, if there is a checkpoint.
    pub hash: Option<u64>,
}

/// Reads segment after segment.
#[derive(Debug)]
pub struct Scanner {
    ours: Option<LogIdentity>,
    start: Start,
    /// Identity of the newest segment read.
    pub(super) newest: Option<LogIdentity>,
    /// Position of the next record.
    pub(super) next: Lsn,
    /// Hash of the record before it.
    pub(super) hash: u64,
    /// Records after the checkpoint.
    pub(super) records: Vec<(Lsn, Vec<u8>)>,
    /// Number and first position of each segment read.
    pub(super) segments: Vec<(u64, Lsn)>,
    /// The torn end of the last segment.
    pub(super) torn: Option<Torn>,
    /// Where the last group of the newest segment stands in it.
    pub(super) end: Range<usize>,
    /// What was durable when that group was written.
    durable: Lsn,
}

/// What one segment brought.
pub type SegmentResult = Result<Result<(), Damage>, ScanRefusal>;

impl Scanner {
    /// Begins after `start`. With `ours`, foreign logs and later terms are refused.
    #[must_use]
    pub fn new(ours: Option<LogIdentity>, start: Start) -> Self {
        Self {
            ours,
            start,
            newest: None,
            next: start.through.next(),
            hash: start.hash.unwrap_or_default(),
            records: Vec::new(),
            segments: Vec::new(),
            torn: None,
            end: 0..0,
            durable: Lsn(0),
        }
    }

    /// Reads the next segment; `last` says that no other follows it.
    ///
    /// # Errors
    /// The segment is not part of this log. The inner error says where it is not whole: all
    /// records before that were taken.
    pub fn segment(&mut self, number: u64, bytes: &[u8], last: bool) -> SegmentResult {
        let file = FileName::Segment(number).name();
        let (meta, header) = match read_meta::<SegmentMeta>(&segment_format(), bytes) {
            Ok(read) => read,
            Err(error @ HeaderError::UnknownVersion { .. }) => {
                return Err(ScanRefusal::Version { file, error });
            }
            Err(error) => return Ok(Err(self.damage(file, 0, DamageKind::Header(error)))),
        };
        check_identity(&file, self.ours.as_ref(), &meta.identity)?;
        if let Err(kind) = self.join(&meta) {
            return Ok(Err(self.damage(file, 0, kind)));
        }
        self.segments.push((number, meta.first_lsn));
        self.newest = Some(meta.identity.clone());
        let mut reader = FrameReader::new(bytes, header.len, header.salt, FRAME_BYTES_MAX);
        self.end = header.len..header.len;
        while let Some(record) = reader.next() {
            match self.take(record.payload) {
                Ok(durable) if durable != self.durable => {
                    self.durable = durable;
                    self.end = record.offset..reader.position();
                }
                Ok(_) => self.end.end = reader.position(),
                Err(kind) => return Ok(Err(self.damage(file, record.offset, kind))),
            }
        }
        Ok(self.end(file, bytes, &reader, meta.group_bytes, last))
    }

    /// Checks that a segment continues what was read before it.
    fn join(&mut self, meta: &SegmentMeta) -> Result<(), DamageKind> {
        let Some(before) = &self.newest else { return self.join_first(meta) };
        if meta.identity.term < before.term {
            let (found, before) = (meta.identity.term, before.term);
            return Err(DamageKind::Term { found, before });
        }
        if meta.first_lsn > self.next {
            return Err(DamageKind::Missing);
        }
        if meta.first_lsn < self.next {
            return Err(DamageKind::Position { found: meta.first_lsn });
        }
        if meta.prev_hash != self.hash { Err(DamageKind::Chain) } else { Ok(()) }
    }

    /// The first segment may begin before the end of the checkpoint, never after it.
    fn join_first(&mut self, meta: &SegmentMeta) -> Result<(), DamageKind> {
        if meta.first_lsn > self.next {
            return Err(DamageKind::Missing);
        }
        if meta.first_lsn == Lsn(0) {
            return Err(DamageKind::Position { found: meta.first_lsn });
        }
        let known = if meta.first_lsn == Lsn(1) {
            Some(genesis_hash(meta.identity.cluster, &meta.identity.base))
        } else {
            self.start.hash.filter(|_| meta.first_lsn == self.next)
        };
        if known.is_some_and(|hash| hash != meta.prev_hash) {
            return Err(DamageKind::Chain);
        }
        self.next = meta.first_lsn;
        self.hash = meta.prev_hash;
        Ok(())
    }

    /// Takes a record; says what was durable when it was written, which tells groups apart.
    fn take(&mut self, bytes: &[u8]) -> Result<Lsn, DamageKind> {
        let record = WalRecord::decode(bytes).ok_or(DamageKind::Record)?;
        if record.lsn != self.next {
            return Err(DamageKind::Position { found: record.lsn });
        }
        let hash = chain_hash(bytes);
        let at_checkpoint = record.lsn == self.start.through;
        let other_history = at_checkpoint && self.start.hash.is_some_and(|known| known != hash);
        if record.prev_hash != self.hash || other_history {
            return Err(DamageKind::Chain);
        }
        self.hash = hash;
        self.next = record.lsn.next();
        if record.lsn > self.start.through {
            self.records.push((record.lsn, record.payload.to_vec()));
        }
        Ok(record.durable)
    }

    fn end(
        &mut self,
        file: String,
        bytes: &[u8],
        reader: &FrameReader<'_>,
        group_bytes: u64,
        last: bool,
    ) -> Result<(), Damage> {
        let offset = reader.position();
        if offset == bytes.len() {
            return Ok(());
        }
        let cause = if last { judge(bytes, reader, self.next, group_bytes) } else { Cause::Damage };
        let Cause::Crash { records } = cause else {
            return Err(self.damage(file, offset, DamageKind::Record));
        };
        let dropped = (bytes.len() - offset) as u64;
        self.torn = Some(Torn { file, offset: offset as u64, bytes: dropped, records });
        Ok(())
    }

    /// After the last segment: a log that stops before its checkpoint lost its end.
    ///
    /// # Errors
    /// The place from which on records are missing.
    pub fn finish(&self) -> Result<(), Damage> {
        let file = self.segments.last().map_or_else(
            || FileName::Checkpoint(self.start.through).name(),
            |(number, _)| FileName::Segment(*number).name(),
        );
        if self.next <= self.start.through || self.segments.is_empty() {
            return Err(self.damage(file, self.end.end, DamageKind::Missing));
        }
        Ok(())
    }

    fn damage(&self, file: String, offset: usize, kind: DamageKind) -> Damage {
        Damage { file, offset: offset as u64, lsn: self.next, kind }
    }
}

/// Whole records of a segment at or after `from`, whatever stands between them: what can still
/// be read of a damaged log, also behind a damaged header. Ties nothing together: the caller
/// judges what it gets.
#[must_use]
pub fn readable_records(bytes: &[u8], from: Lsn) -> Vec<(Lsn, Vec<u8>)> {
    let (salts, start, from) = match read_meta::<SegmentMeta>(&segment_format(), bytes) {
        Ok((meta, header)) => (vec![header.salt], header.len, from.max(meta.first_lsn)),
        Err(_) => (possible_salts(bytes), 0, from),
    };
    let readers =
        salts.into_iter().map(|salt| FrameReader::new(bytes, start, salt, FRAME_BYTES_MAX));
    readers
        .flat_map(|reader| all_whole(reader, from, bytes.len()))
        .filter_map(|(_, payload)| WalRecord::decode(payload))
        .map(|record| (record.lsn, record.payload.to_vec()))
        .collect()
}
