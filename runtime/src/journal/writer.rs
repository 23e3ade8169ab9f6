//! The writer thread: takes all that waits, writes it with one call, says what is written.

use super::files::{SegmentFile, Storage};
use super::shared::Shared;
use super::{JournalConfig, stamped};
use crate::observe::TeeEnd;
use crate::telemetry::{Counter, Counters};
use bytes::Bytes;
use crossbeam_channel::Receiver;
use marchland_common::journal::frame::{self, FrameWriter};
use marchland_common::journal::{JOURNAL_FORMAT, JOURNAL_RECORD_MAX, Record, encode_record};
use marchland_common::order::Tick;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Bytes that are collected for one write, at most.
const WRITE_BYTES: usize = 1 << 20;
/// How long to wait before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(50);
/// What a record takes beside its input, about.
const RECORD_OVERHEAD: usize = 256;
/// What one event or reference of a record takes, about.
const ENTRY_BYTES: usize = 48;

/// What the tick thread hands over.
#[derive(Debug)]
pub(super) enum Job {
    Record { record: Record, tick: Tick, bytes: usize },
    Segment { snapshot: Bytes },
    End { why: String },
}

/// About how much a record takes in memory, for the bound on what waits.
pub(super) fn estimate(record: &Record) -> usize {
    match record {
        Record::Tick(tick) => {
            let entries = tick.events.len() + tick.received.len() + tick.sent.len();
            RECORD_OVERHEAD + tick.input.len() + entries * ENTRY_BYTES
        }
        Record::Snapshot(bytes) => RECORD_OVERHEAD + bytes.len(),
        Record::Header(_) | Record::Gap { .. } | Record::End { .. } => RECORD_OVERHEAD,
    }
}

pub(super) struct Writer<S: Storage> {
    storage: S,
    config: JournalConfig,
    shared: Arc<Shared>,
    tee: TeeEnd,
    open: Option<Open<S::Segment>>,
    segment: u32,
    /// What is to be written to the open segment.
    buffer: Vec<u8>,
    /// Records in the buffer or written.
    taken: u64,
    taken_tick: Option<Tick>,
    taken_bytes: usize,
    bytes: Counter,
    errors: Counter,
    trimmed: Counter,
    oversize: Counter,
}

struct Open<F> {
    file: F,
    frames: FrameWriter,
    bytes: u64,
}

impl<S: Storage> Writer<S> {
    pub(super) fn new(
        storage: S,
        config: JournalConfig,
        shared: Arc<Shared>,
        counters: &Counters,
    ) -> Self {
        Self {
            storage,
            tee: config.tee.end(),
            config,
            shared,
            open: None,
            segment: 0,
            buffer: Vec::new(),
            taken: 0,
            taken_tick: None,
            taken_bytes: 0,
            bytes: counters.counter("journal_bytes"),
            errors: counters.counter("journal_write_errors"),
            trimmed: counters.counter("journal_segments_removed"),
            oversize: counters.counter("journal_records_too_large"),
        }
    }

    /// Begins the first segment, at once.
    pub(super) fn begin(&mut self, snapshot: Bytes) -> io::Result<()> {
        self.open_segment(snapshot)?;
        self.write_some()?;
        while !self.buffer.is_empty() {
            self.write_some()?;
        }
        Ok(())
    }

    pub(super) fn run(mut self, queue: &Receiver<Job>) {
        // Ends when the tick thread's end is gone and nothing waits.
        while let Ok(first) = queue.recv() {
            let mut next = Some(first);
            while let Some(job) = next {
                if !self.take(job) {
                    return;
                }
                next = (self.buffer.len() < WRITE_BYTES).then(|| queue.try_recv().ok()).flatten();
            }
            if !self.write_out() {
                return;
            }
        }
    }

    /// False when there is nothing more to do.
    fn take(&mut self, job: Job) -> bool {
        match job {
            Job::Record { record, tick, bytes } => {
                self.tee.note(&record);
                self.encode(&record, tick);
                self.taken += 1;
                self.taken_tick = Some(tick);
                self.taken_bytes += bytes;
                true
            }
            Job::Segment { snapshot } => self.next_segment(snapshot),
            Job::End { why } => {
                self.encode(&Record::End { why }, Tick(0));
                if self.write_out() {
                    self.shared.ended.store(true, Ordering::Release);
                }
                false
            }
        }
    }

    /// A record that is too large becomes a gap.
    fn encode(&mut self, record: &Record, tick: Tick) {
        let Some(open) = &self.open else { return };
        let encoded = encode_record(record).ok().filter(|bytes| bytes.len() <= JOURNAL_RECORD_MAX);
        let encoded = encoded.unwrap_or_else(|| {
            self.oversize.add(1);
            let instead = match record {
                Record::Snapshot(_) => Record::Snapshot(Bytes::new()),
                _ => Record::Gap { from: tick, to: tick },
            };
            encode_record(&instead).unwrap_or_default()
        });
        if let Err(error) = open.frames.write(&encoded, &mut self.buffer) {
            tracing::error!(%error, "a record of the journal cannot be framed");
        }
    }

    fn next_segment(&mut self, snapshot: Bytes) -> bool {
        if !self.write_out() {
            return false;
        }
        let bytes = snapshot.len();
        while let Err(error) = self.open_segment(snapshot.clone()) {
            if !self.pause(&error) {
                return false;
            }
        }
        self.shared.take_waiting(bytes);
        match self.storage.trim(self.segment - 1) {
            Ok(gone) => self.trimmed.add(gone),
            Err(error) => crate::warn_rarely!(%error, "old segments of the journal stay"),
        }
        true
    }

    fn open_segment(&mut self, snapshot: Bytes) -> io::Result<()> {
        let file = self.storage.create(self.segment)?;
        let salt = frame::write_header(&JOURNAL_FORMAT, &[], &mut self.buffer);
        let frames = FrameWriter::new(salt, JOURNAL_RECORD_MAX);
        self.open = Some(Open { file, frames, bytes: 0 });
        let header = stamped(&self.config.header, self.segment);
        self.segment += 1;
        self.encode(&Record::Header(header), Tick(0));
        self.encode(&Record::Snapshot(snapshot), Tick(0));
        Ok(())
    }

    /// Writes the buffer, however often that must be tried. False when nobody waits any more.
    fn write_out(&mut self) -> bool {
        while !self.buffer.is_empty() {
            if let Err(error) = self.write_some()
                && !self.pause(&error)
            {
                return false;
            }
        }
        if self.shared.set_failing(None) {
            tracing::info!(journal = %self.shared.name, "the journal is written again");
        }
        self.shared.take_waiting(std::mem::take(&mut self.taken_bytes));
        if let Some(tick) = self.taken_tick.take() {
            self.shared.written_tick.fetch_max(tick.0, Ordering::AcqRel);
        }
        self.shared.written.advance(self.taken);
        if self.open.as_ref().is_some_and(|open| open.bytes > self.config.segment_bytes) {
            self.shared.wanted.fetch_max(self.segment, Ordering::Relaxed);
        }
        true
    }

    fn write_some(&mut self) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Err(io::Error::other("no segment is open")) };
        let written = match open.file.write(&self.buffer) {
            Ok(0) if !self.buffer.is_empty() => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            written => written?,
        };
        // From here on the disk holds these bytes: never are they written again.
        self.buffer.drain(..written);
        open.bytes += written as u64;
        self.bytes.add(written as u64);
        Ok(())
    }

    /// After an error. False when nobody waits any more.
    fn pause(&self, error: &io::Error) -> bool {
        self.errors.add(1);
        if self.shared.set_failing(Some(error)) {
            tracing::error!(journal = %self.shared.name, %error, "the journal cannot be written");
        }
        if self.shared.is_abandoned() {
            return false;
        }
        std::thread::sleep(RETRY);
        true
    }
}
