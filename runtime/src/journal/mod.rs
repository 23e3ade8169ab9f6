//! The journal of a process: what entered each tick, what was decided, what left. A thread of its
//! own writes it; the tick thread hands over records and never waits for a disk.
//!
//! ```text
//! tick thread                          writer thread                     link plane
//! append(record) -> ticket ----------> one write() for all that waits
//! poll() -> Behind, CaughtUp <-------- written up to n ----------------> ticket n: frames leave
//! begin_segment(snapshot) -----------> next file: header, snapshot; the oldest files go
//! ```
//!
//! Invariants:
//! - A ticket completes only after the operating system took its record, or a `Gap` record that
//!   names its tick. There is no fsync: a process may be killed at any moment and its journal
//!   holds whatever it sent; only the death of the machine may cost the last records.
//! - What is on disk is always a prefix of what was handed over: after an error the writer goes on
//!   with the very byte at which it stopped.
//! - Nothing is left out silently. Records that find the queue full become one `Gap` record.
//! - Each segment begins with a header and a snapshot, so a replay may start at any of them.
//!
//! Two modes. `Strict`: what is sent waits for its record however long that takes; more than
//! [`BEHIND_TICKS_MAX`] ticks behind the process is told [`JournalNews::Behind`] and freezes its
//! entities until [`JournalNews::CaughtUp`]. `Lossy`: from the same point on records are left out
//! and what is sent waits no more.
//!
//! Bound on disk: all segments of all lives of the process in its folder together. When a segment
//! begins, the oldest ones go, the first included, until the rest fits; the segment in use stays.
//! Segment numbers go on, so a reader sees what is missing.

mod files;
mod shared;
mod ticket;
mod writer;

pub use files::{Files, SegmentFile, Storage};
pub use ticket::{NeverWritten, ReleaseTicket, Written};

use crate::observe::RecordTee;
use crate::telemetry::{Counter, Counters};
use crate::tick::calendar_ms;
use bytes::Bytes;
use crossbeam_channel::{Sender, TrySendError};
use marchland_common::journal::{JournalHeader, Record, TickRecord};
use marchland_common::order::Tick;
use shared::{Health, Shared};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use writer::{Job, Writer};

/// More ticks than this without their record written, and the process is told.
pub const BEHIND_TICKS_MAX: u64 = 8;
/// Most records that wait for the writer: at four a tick of 50 ms about 50 seconds.
pub const RECORDS_WAIT_MAX: usize = 4_096;
/// Most bytes of records that wait for the writer.
pub const BYTES_WAIT_MAX: usize = 128 << 20;

/// How long a journal that is dropped without an end mark may go on writing.
const DROP_WAIT: Duration = Duration::from_secs(1);

/// What happens when the disk does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalMode {
    /// What is sent waits for its record; the process is told to freeze its entities.
    Strict,
    /// Records are left out, marked as a gap, and nothing waits.
    Lossy,
}

/// The settings of a journal.
#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Its folder. Must exist.
    pub dir: PathBuf,
    /// What the first record of each segment says; number and calendar time are filled in.
    pub header: JournalHeader,
    /// What happens when the disk does not keep up.
    pub mode: JournalMode,
    /// A segment above this many bytes is followed by a new one.
    pub segment_bytes: u64,
    /// Bytes of all segments together.
    pub total_bytes: u64,
    /// Where records are told to whoever listens.
    pub tee: RecordTee,
}

impl JournalConfig {
    /// Segments of 64 MiB, 1 GiB together, strict.
    #[must_use]
    pub fn new(dir: PathBuf, header: JournalHeader) -> Self {
        let (segment_bytes, total_bytes) = (64 << 20, 1 << 30);
        let (mode, tee) = (JournalMode::Strict, RecordTee::default());
        Self { dir, header, mode, segment_bytes, total_bytes, tee }
    }
}

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The first segment cannot be written.
    #[error(
        "cannot write the journal in {}: {source}; free some space or choose another folder",
        dir.display()
    )]
    Unwritable {
        /// The folder.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No thread.
    #[error("cannot start the thread of the journal: {0}")]
    Thread(#[source] io::Error),
}

/// What the tick thread is told, once each time that it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalNews {
    /// Too much is not written: freeze the entities (strict), or know that records are left out.
    Behind {
        /// How many ticks are not written.
        ticks: u64,
        /// The error of the disk, if it is one.
        why: Option<String>,
    },
    /// Everything is written again, but for the newest tick.
    CaughtUp,
}

/// The tick thread's end of the journal.
#[derive(Debug)]
pub struct Journal {
    mode: JournalMode,
    jobs: Sender<Job>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Records handed over, gaps included.
    handed: u64,
    gap: Option<(Tick, Tick)>,
    /// The newest tick that was handed over.
    handed_tick: Tick,
    /// How many segments after the first were begun.
    begun: u32,
    behind: bool,
    left_out: Counter,
}

impl Journal {
    /// Begins the first segment, with a snapshot of the core, and starts the writer.
    ///
    /// # Errors
    /// The folder cannot be written, or there is no thread to be had.
    pub fn start(
        config: JournalConfig,
        snapshot: Bytes,
        counters: &Counters,
    ) -> Result<Self, JournalError> {
        let files = Files::new(config.dir.clone(), config.header.node, config.total_bytes);
        Self::start_on(files, config, snapshot, counters)
    }

    /// The same over other storage, for tests.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_on(
        storage: impl Storage,
        config: JournalConfig,
        snapshot: Bytes,
        counters: &Counters,
    ) -> Result<Self, JournalError> {
        let (jobs, queue) = crossbeam_channel::bounded(RECORDS_WAIT_MAX);
        let shared = Arc::new(Shared::new(config.header.node.name.to_string()));
        let (mode, dir) = (config.mode, config.dir.clone());
        let mut writer = Writer::new(storage, config, shared.clone(), counters);
        writer.begin(snapshot).map_err(|source| JournalError::Unwritable { dir, source })?;
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(JournalError::Thread)?;
        Ok(Self {
            mode,
            jobs,
            shared,
            thread: Some(thread),
            handed: 0,
            gap: None,
            handed_tick: Tick(0),
            begun: 0,
            behind: false,
            left_out: counters.counter("journal_records_left_out"),
        })
    }

    /// Hands over the record of one output moment. What the moment sends may leave when the
    /// ticket is complete.
    pub fn append(&mut self, record: TickRecord) -> ReleaseTicket {
        let tick = record.tick;
        if self.handed == 0 {
            self.handed_tick = Tick(tick.0.saturating_sub(1));
            self.shared.written_tick.store(self.handed_tick.0, Ordering::Relaxed);
        }
        if self.mode == JournalMode::Lossy && self.lag() > BEHIND_TICKS_MAX {
            self.leave_out(tick);
            // What waited for its record waits no more either, or it would hold this one up.
            self.shared.written.advance(self.handed);
            return ReleaseTicket::open();
        }
        self.hand_over_gap();
        let full = self.gap.is_some() || self.shared.waiting() > BYTES_WAIT_MAX;
        if full || !self.hand_over(Record::Tick(record), tick) {
            self.leave_out(tick);
            return match self.mode {
                // The next thing to be handed over is the gap with this tick in it.
                JournalMode::Strict => self.shared.written.ticket(self.handed + 1),
                JournalMode::Lossy => ReleaseTicket::open(),
            };
        }
        self.shared.written.ticket(self.handed)
    }

    fn leave_out(&mut self, tick: Tick) {
        self.left_out.add(1);
        let from = self.gap.map_or(tick, |(from, _)| from);
        self.gap = Some((from, tick));
    }

    fn hand_over_gap(&mut self) {
        if let Some((from, to)) = self.gap.take()
            && !self.hand_over(Record::Gap { from, to }, to)
        {
            self.gap = Some((from, to));
        }
    }

    fn hand_over(&mut self, record: Record, tick: Tick) -> bool {
        let bytes = writer::estimate(&record);
        self.shared.add_waiting(bytes);
        match self.jobs.try_send(Job::Record { record, tick, bytes }) {
            Ok(()) => {
                self.handed += 1;
                self.handed_tick = tick;
                true
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.shared.take_waiting(bytes);
                false
            }
        }
    }

    /// Whether the present segment is long enough: take a snapshot of the core and call
    /// [`begin_segment`](Self::begin_segment) at the end of this tick. Not while the disk is far
    /// behind, for a snapshot costs the tick thread time.
    #[must_use]
    pub fn wants_snapshot(&self) -> bool {
        let room = self.jobs.len() < RECORDS_WAIT_MAX / 2;
        room && self.shared.wanted.load(Ordering::Relaxed) > self.begun
    }

    /// Ends the present segment; the next record stands in a new one, behind this snapshot.
    /// Ignored while the queue is full: it is asked for again.
    pub fn begin_segment(&mut self, snapshot: Bytes) {
        let bytes = snapshot.len();
        self.shared.add_waiting(bytes);
        if self.jobs.try_send(Job::Segment { snapshot }).is_ok() {
            self.begun += 1;
        } else {
            self.shared.take_waiting(bytes);
        }
    }

    /// How many ticks are handed over and not written.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.handed_tick.0.saturating_sub(self.shared.written_tick.load(Ordering::Acquire))
    }

    /// Whether the process must freeze or thaw; call it once a tick.
    pub fn poll(&mut self) -> Option<JournalNews> {
        let ticks = self.lag();
        let health = self.shared.health();
        if !self.behind && ticks > BEHIND_TICKS_MAX {
            self.behind = true;
            let why = match health {
                Health::Writing => None,
                Health::Failing(why) => Some(why),
            };
            return Some(JournalNews::Behind { ticks, why });
        }
        if self.behind && ticks <= 1 && health == Health::Writing && self.gap.is_none() {
            self.behind = false;
            return Some(JournalNews::CaughtUp);
        }
        None
    }

    /// Writes what waits and the end mark, at most `limit`. True when the end mark is written.
    pub fn close(mut self, why: &str, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.hand_over_gap();
        // An end mark behind a gap that is not marked would be a lie.
        while self.gap.is_some() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            self.hand_over_gap();
        }
        let end = Job::End { why: why.to_owned() };
        if self.gap.is_some() || self.jobs.send_deadline(end, deadline).is_err() {
            self.shared.abandon();
            return false;
        }
        while !self.shared.ended.load(Ordering::Acquire) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = self.shared.ended.load(Ordering::Acquire);
        if !ended {
            self.shared.abandon();
        }
        ended
    }
}

impl Drop for Journal {
    /// Without [`close`](Self::close) there is no end mark: the reader knows that it was no end in
    /// order. What waits is still written.
    fn drop(&mut self) {
        let (closed, _) = crossbeam_channel::bounded(0);
        self.jobs = closed;
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + DROP_WAIT;
        while !thread.is_finished() && !self.shared.is_failing() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A disk that hangs must not hold the process up.
        self.shared.abandon();
    }
}

fn stamped(header: &JournalHeader, segment: u32) -> JournalHeader {
    JournalHeader { segment, wall_ms: calendar_ms(), ..header.clone() }
}

#[cfg(test)]
mod tests;
