//! Writes groups of records to segments: one write, one sync a group. No thread and no clock, so
//! a simulator can drive it as the log thread does.
//!
//! Invariants:
//! - A group is written only after the one before it was synced, so at most one group of a log
//!   is ever in doubt.
//! - A refused write or sync changes nothing: the same bytes are written again at the same place
//!   until they are synced. After a failed sync that matters, since the system may have dropped
//!   what it could not write and forgotten the error.
//! - A segment gets its name only when its header is synced.

use super::record::{WalRecord, chain_hash};
use super::segment::{FileName, LogIdentity, SegmentMeta, segment_format, write_meta};
use super::storage::{Storage, write_all_at};
use super::torn::RECORD_BYTES_MIN;
use marchland_common::journal::frame::{FrameWriter, RECORD_HEAD};
use marchland_common::order::Lsn;
use std::collections::VecDeque;
use std::io;

/// Where writing goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Newest position on disk.
    pub durable: Lsn,
    /// Hash of that record.
    pub hash: u64,
    /// Number of the next segment.
    pub next_segment: u64,
    /// Number and first position of the segments that are there.
    pub segments: Vec<(u64, Lsn)>,
}

/// A group that became durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// Its last record.
    pub lsn: Lsn,
    /// How many records.
    pub records: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// The open segment.
struct Segment {
    name: String,
    len: u64,
    frames: FrameWriter,
}

/// A group that is on its way to the disk.
struct Group {
    bytes: Vec<u8>,
    hash: u64,
    flushed: Flushed,
}

/// A record whose hash a checkpoint waits for.
#[derive(Clone, Copy)]
struct Mark {
    lsn: Lsn,
    hash: Option<u64>,
}

/// Writes a log.
pub struct Writer {
    pub(super) storage: Box<dyn Storage>,
    pub(super) identity: LogIdentity,
    /// Number and first position of each segment that is there.
    pub(super) segments: Vec<(u64, Lsn)>,
    segment_bytes: u64,
    group_bytes: usize,
    segment: Option<Segment>,
    next_segment: u64,
    durable: Lsn,
    hash: u64,
    backlog: VecDeque<(Lsn, Vec<u8>)>,
    group: Option<Group>,
    mark: Option<Mark>,
}

impl Writer {
    /// Continues a log.
    #[must_use]
    pub fn new(
        storage: Box<dyn Storage>,
        identity: LogIdentity,
        segment_bytes: u64,
        group_bytes: usize,
        resume: Resume,
    ) -> Self {
        Self {
            storage,
            identity,
            segments: resume.segments,
            segment_bytes,
            group_bytes,
            segment: None,
            next_segment: resume.next_segment,
            durable: resume.durable,
            hash: resume.hash,
            backlog: VecDeque::new(),
            group: None,
            mark: None,
        }
    }

    /// Queues records, in order: positions go on from what was queued before. Panics on a record
    /// that is too large for a group: its size is checked when it is appended.
    pub fn queue(&mut self, records: impl IntoIterator<Item = (Lsn, Vec<u8>)>) {
        for (lsn, payload) in records {
            assert!(
                payload.len() + RECORD_BYTES_MIN <= self.group_bytes,
                "record {lsn} is too large"
            );
            self.backlog.push_back((lsn, payload));
        }
    }

    /// Newest position on disk.
    #[must_use]
    pub const fn durable(&self) -> Lsn {
        self.durable
    }

    /// Remembers the hash of this record, the newest that is queued, once it is durable: a group
    /// ends with it.
    pub(super) fn mark(&mut self, lsn: Lsn) {
        let hash = (lsn == self.durable).then_some(self.hash);
        self.mark = Some(Mark { lsn, hash });
    }

    /// The hash of the marked record, once it is durable.
    pub(super) fn marked_hash(&self) -> Option<u64> {
        self.mark.and_then(|mark| mark.hash)
    }

    pub(super) fn forget_mark(&mut self) {
        self.mark = None;
    }

    /// Whether something waits to be written.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.group.is_some() || !self.backlog.is_empty()
    }

    /// Writes and syncs the next group. None if nothing waits.
    ///
    /// # Errors
    /// Of the disk. The group is kept; call again.
    pub fn flush(&mut self) -> io::Result<Option<Flushed>> {
        if !self.has_work() {
            return Ok(None);
        }
        if self.segment.is_none() {
            self.begin_segment()?;
        }
        let Some(mut segment) = self.segment.take() else { return Ok(None) };
        let group = match self.group.take() {
            Some(group) => group,
            None => self.build(&segment.frames),
        };
        let written = write_all_at(&mut *self.storage, &segment.name, segment.len, &group.bytes)
            .and_then(|()| self.storage.sync(&segment.name));
        if let Err(error) = written {
            (self.segment, self.group) = (Some(segment), Some(group));
            return Err(error);
        }
        segment.len += group.bytes.len() as u64;
        self.durable = group.flushed.lsn;
        self.hash = group.hash;
        if let Some(mark) = &mut self.mark
            && mark.lsn == self.durable
        {
            mark.hash = Some(self.hash);
        }
        if segment.len < self.segment_bytes {
            self.segment = Some(segment);
        } else {
            self.storage.close(&segment.name);
        }
        Ok(Some(group.flushed))
    }

    /// Begins a new segment now. Done by itself when the one before is full.
    ///
    /// # Errors
    /// Of the disk; the segment was not begun.
    pub fn begin_segment(&mut self) -> io::Result<()> {
        let file = FileName::Segment(self.next_segment);
        let (name, unfinished) = (file.name(), file.unfinished());
        let first_lsn = self.durable.next();
        let meta = SegmentMeta {
            identity: self.identity.clone(),
            first_lsn,
            prev_hash: self.hash,
            group_bytes: self.group_bytes as u64,
        };
        let mut header = Vec::new();
        let salt = write_meta(&segment_format(), &meta, &mut header);
        self.storage.create(&unfinished)?;
        write_all_at(&mut *self.storage, &unfinished, 0, &header)?;
        self.storage.sync(&unfinished)?;
        self.storage.rename(&unfinished, &name)?;
        // From here on the file is there under its name, also if the next line fails: it is then
        // empty, and the number is not used again.
        self.next_segment += 1;
        self.storage.sync_folder()?;
        self.segments.push((self.next_segment - 1, first_lsn));
        let frames = FrameWriter::new(salt, self.group_bytes);
        self.segment = Some(Segment { name, len: header.len() as u64, frames });
        Ok(())
    }

    /// Takes as much of the backlog as one group holds, and at least one record.
    fn build(&mut self, frames: &FrameWriter) -> Group {
        let mut bytes = Vec::new();
        let (mut hash, mut payload_bytes, mut lsn) = (self.hash, 0, self.durable);
        let mut records = 0;
        while let Some((next, payload)) = self.backlog.front() {
            let fits = bytes.len() + payload.len() + RECORD_BYTES_MIN <= self.group_bytes;
            let marked = self.mark.is_some_and(|mark| mark.lsn == lsn);
            if records > 0 && (!fits || marked) {
                break;
            }
            let start = bytes.len() + RECORD_HEAD;
            let record = WalRecord { lsn: *next, durable: self.durable, prev_hash: hash, payload };
            frames
                .write_with(&mut bytes, |out| record.encode(out))
                .expect("the size of a record was checked when it was queued");
            hash = chain_hash(&bytes[start..]);
            lsn = *next;
            payload_bytes += payload.len() as u64;
            records += 1;
            self.backlog.pop_front();
        }
        let flushed = Flushed { lsn, records, payload_bytes, bytes: bytes.len() as u64 };
        Group { bytes, hash, flushed }
    }
}
