//! The tick side of the log: append, commit, poll. No call here waits for the disk, apart from
//! opening and closing.

use super::damage::Broken;
use super::folder::Folder;
use super::recover::{Loaded, Recovery, identity, load};
use super::report::{
    AppendError, CheckpointRefusal, LogConfig, LogReport, LogStats, OpenError, PersistRule,
    Persisted,
};
use super::scan::Damage;
use super::segment::{FileName, LogIdentity};
use super::storage::Storage;
use super::thread::{Command, Worker};
use super::writer::Writer;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use marchland_common::order::Lsn;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Called by the log thread after each report, to wake the tick thread out of its wait.
pub type Waker = Box<dyn Fn() + Send>;

/// After a checkpoint that was given up the log grows by this part of what makes one due before the
/// next is.
const RETRY_SHARE: u64 = 16;
/// Reports that may wait for the tick side.
const REPORTS_MAX: usize = 1024;

/// A log that is open for writing. One process at a time has it.
pub struct Log {
    config: LogConfig,
    stats: Arc<LogStats>,
    persisted: Persisted,
    last: Lsn,
    committed: Lsn,
    pending: Vec<(Lsn, Vec<u8>)>,
    checkpoint: Option<Checkpoint>,
    /// Bytes of payload since the newest checkpoint.
    grown: u64,
    /// Where the log has to be before another checkpoint is due, after one that was given up: an
    /// image costs its copies, and a disk that had no room for it has none in the next tick.
    grown_due: u64,
    lost: bool,
    commands: Sender<Command>,
    reports: Receiver<LogReport>,
    thread: JoinHandle<()>,
}

/// A checkpoint that is being written.
struct Checkpoint {
    /// How much the log had grown when it began.
    grown: u64,
}

/// How a log was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The newest appended position.
    pub last: Lsn,
    /// The newest persisted position. What lies between was promised to nobody.
    pub durable: Lsn,
    /// Whether the log thread has ended and the folder is free. If not, the disk still holds it;
    /// the folder is free when this process ends.
    pub ended: bool,
}

/// What is in a folder.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Whose log it is; none if it is empty.
    pub identity: Option<LogIdentity>,
    /// What it holds, up to the first damage.
    pub recovery: Recovery,
    /// The first place that is not whole.
    pub damage: Option<Damage>,
}

/// Reads a log without its lock and without changing it, for audits and tools. Read while a base
/// writes it, it may look torn, or miss a file that a checkpoint has just removed: read again.
///
/// # Errors
/// The disk refuses, or a newer build wrote it.
pub fn inspect(folder: &Path) -> Result<Inspection, OpenError> {
    let loaded = load(&Folder::unlocked(folder), None)?;
    Ok(Inspection { identity: loaded.newest, recovery: loaded.recovery, damage: loaded.damage })
}

/// Whose log is in a folder, by the header of its newest file; none if it is empty, or if that does
/// not read. Neither locks nor changes anything, and reads no record.
///
/// # Errors
/// The disk refuses.
pub fn whose(folder: &Path) -> Result<Option<LogIdentity>, OpenError> {
    identity(&Folder::unlocked(folder))
}

/// A log that is held and was read, and to which nothing was written yet.
pub struct Unbegun {
    loaded: Loaded,
    identity: LogIdentity,
    storage: Box<dyn Storage>,
}

impl Unbegun {
    /// Takes hold of a log and reads it.
    ///
    /// # Errors
    /// See [`OpenError`]. The log is as it was.
    pub fn read(storage: Box<dyn Storage>, identity: LogIdentity) -> Result<Self, OpenError> {
        let mut loaded = load(&*storage, Some(&identity))?;
        if let Some(damage) = loaded.damage.take() {
            let broken = Broken::new(damage, loaded, identity, storage);
            return Err(OpenError::Broken(Box::new(broken)));
        }
        Ok(Self { loaded, identity, storage })
    }

    /// What it holds.
    #[must_use]
    pub const fn recovery(&self) -> &Recovery {
        &self.loaded.recovery
    }

    /// Makes what was read durable where it is: after a kill the end of it may be in the system's
    /// memory only. Changes nothing.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&mut self) -> Result<(), OpenError> {
        if let Some(number) = self.loaded.numbers.last() {
            let file = FileName::Segment(*number).name();
            let synced = self.storage.sync(&file);
            synced.map_err(|source| OpenError::disk("sync", &file, source))?;
            self.storage.close(&file);
        }
        Ok(())
    }

    /// Forgets what it holds and keeps hold of it: nobody else gets its lock.
    #[must_use]
    pub fn into_storage(self) -> Box<dyn Storage> {
        self.storage
    }

    /// Makes it ready for writing, under the term that it was read with.
    ///
    /// # Errors
    /// The limits contradict each other, or the disk refuses.
    pub fn begin(self, config: LogConfig, waker: Waker) -> Result<(Log, Recovery), OpenError> {
        config.check().map_err(OpenError::Config)?;
        let Self { loaded, identity, mut storage } = self;
        let (recovery, resume) = loaded.clean(&mut *storage)?;
        let (segment_bytes, group_bytes) = (config.segment_bytes, config.group_bytes);
        let mut writer = Writer::new(storage, identity, segment_bytes, group_bytes, resume);
        writer
            .begin_segment()
            .map_err(|source| OpenError::disk("begin a segment in", "the folder", source))?;
        remove_empty_segments(&mut writer);
        let mut log = Log::start(writer, config, waker);
        log.grown = recovery.records.iter().map(|(_, payload)| payload.len() as u64).sum();
        Ok((log, recovery))
    }
}

impl Log {
    /// Opens the log in a folder, takes its lock, and reads what it holds.
    ///
    /// # Errors
    /// See [`OpenError`]. Refusals and damage leave the folder's content as it was.
    pub fn open(
        folder: &Path,
        identity: LogIdentity,
        config: LogConfig,
        waker: Waker,
    ) -> Result<(Self, Recovery), OpenError> {
        Self::open_in(Box::new(Folder::lock(folder)?), identity, config, waker)
    }

    /// Opens the log on any storage; the lock is the storage's matter.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_in(
        storage: Box<dyn Storage>,
        identity: LogIdentity,
        config: LogConfig,
        waker: Waker,
    ) -> Result<(Self, Recovery), OpenError> {
        Unbegun::read(storage, identity)?.begin(config, waker)
    }

    /// Starts the thread on a log that has an open segment.
    pub(super) fn start(writer: Writer, config: LogConfig, waker: Waker) -> Self {
        let (commands, receiver) = crossbeam_channel::unbounded();
        let (sender, reports) = crossbeam_channel::bounded(REPORTS_MAX);
        let stats = Arc::new(LogStats::default());
        LogStats::add(&stats.segments, 1);
        let durable = writer.durable();
        let worker = Worker {
            writer,
            commands: receiver,
            reports: sender,
            waker,
            stats: Arc::clone(&stats),
            retry: config.retry,
            job: None,
            stall: None,
            stopping: false,
            abandoned: false,
        };
        Self {
            config,
            stats,
            persisted: Persisted::new(PersistRule::LocalSync, durable),
            last: durable,
            committed: durable,
            pending: Vec::new(),
            checkpoint: None,
            grown: 0,
            grown_due: 0,
            lost: false,
            commands,
            reports,
            thread: std::thread::spawn(move || worker.run()),
        }
    }

    /// Appends a payload to the batch of this tick. Waits for nothing.
    ///
    /// # Errors
    /// The payload, with the reason why it was refused.
    pub fn append(&mut self, payload: Vec<u8>) -> Result<Lsn, AppendError> {
        let limit = self.config.record_bytes_max();
        if payload.len() > limit {
            LogStats::add(&self.stats.refused_too_large, 1);
            return Err(AppendError::TooLarge { payload, limit });
        }
        if self.lost {
            return Err(AppendError::Stopped { payload });
        }
        let items = LogStats::read(&self.stats.queued_items) as usize;
        let bytes = LogStats::read(&self.stats.queued_bytes) as usize;
        if items >= self.config.queue_items || bytes + payload.len() > self.config.queue_bytes {
            LogStats::add(&self.stats.refused_full, 1);
            return Err(AppendError::Full { payload, items, bytes });
        }
        LogStats::add(&self.stats.queued_items, 1);
        LogStats::add(&self.stats.queued_bytes, payload.len() as u64);
        self.grown += payload.len() as u64;
        self.last = self.last.next();
        self.pending.push((self.last, payload));
        Ok(self.last)
    }

    /// Hands the batch to the log thread: one write and one sync for all of it, and for other
    /// batches that wait. Returns the newest position handed over so far. Waits for nothing.
    pub fn commit(&mut self) -> Lsn {
        if !self.pending.is_empty() {
            let batch = std::mem::take(&mut self.pending);
            // If the thread is gone the batch is too, and `poll` says so.
            self.lost |= self.commands.send(Command::Commit(batch)).is_err();
            self.committed = self.last;
        }
        self.committed
    }

    /// The next report, if there is one. Drain it at each wake and each tick.
    pub fn poll(&mut self) -> Option<LogReport> {
        match self.reports.try_recv() {
            Ok(report) => {
                self.on_report(&report);
                Some(report)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => self.on_lost(),
        }
    }

    /// The next report, waited for until a deadline; for programs without a tick.
    pub fn wait(&mut self, deadline: Instant) -> Option<LogReport> {
        match self.reports.recv_deadline(deadline) {
            Ok(report) => {
                self.on_report(&report);
                Some(report)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.on_lost(),
        }
    }

    fn on_report(&mut self, report: &LogReport) {
        match report {
            LogReport::Durable { lsn, .. } => self.persisted.on_local_sync(*lsn),
            LogReport::Checkpointed { .. } => {
                let before = self.checkpoint.take().map_or(0, |checkpoint| checkpoint.grown);
                self.grown = self.grown.saturating_sub(before);
                self.grown_due = 0;
            }
            LogReport::CheckpointFailed { .. } => {
                self.checkpoint = None;
                self.grown_due = self.grown + self.config.checkpoint_bytes / RETRY_SHARE;
            }
            LogReport::Stalled { .. } | LogReport::Lost => {}
        }
    }

    /// Said once.
    fn on_lost(&mut self) -> Option<LogReport> {
        let news = !self.lost;
        self.lost = true;
        news.then_some(LogReport::Lost)
    }

    /// What is persisted, as far as it was reported.
    #[must_use]
    pub const fn persisted(&self) -> &Persisted {
        &self.persisted
    }

    /// The newest appended position.
    #[must_use]
    pub const fn last(&self) -> Lsn {
        self.last
    }

    /// The counters and gauges.
    #[must_use]
    pub const fn stats(&self) -> &Arc<LogStats> {
        &self.stats
    }

    /// Whether the log grew so much since the newest checkpoint that another should be taken of
    /// an image of this size.
    #[must_use]
    pub fn checkpoint_due(&self, image_bytes: u64) -> bool {
        let limit = self.config.checkpoint_bytes.max(image_bytes.saturating_mul(4));
        self.checkpoint.is_none() && self.grown >= limit.max(self.grown_due)
    }

    /// Begins a checkpoint from copies of the image as it is after `through`, which must be the
    /// newest appended record, and committed. The log thread draws the entries one by one.
    ///
    /// # Errors
    /// One is being written, or the image is of another record, or the log has stopped.
    pub fn checkpoint(
        &mut self,
        entries: impl Iterator<Item = Vec<u8>> + Send + 'static,
        through: Lsn,
    ) -> Result<(), CheckpointRefusal> {
        if self.checkpoint.is_some() {
            return Err(CheckpointRefusal::Busy);
        }
        if through != self.committed || !self.pending.is_empty() {
            return Err(CheckpointRefusal::NotNewest { through, newest: self.committed });
        }
        let command = Command::Checkpoint { through, entries: Box::new(entries) };
        if self.lost || self.commands.send(command).is_err() {
            return Err(CheckpointRefusal::Stopped);
        }
        self.checkpoint = Some(Checkpoint { grown: self.grown });
        Ok(())
    }

    /// Commits what is appended, waits until it is on disk, and gives the folder free; at most
    /// this long. A stalled disk is not waited for.
    #[must_use = "what was not persisted in time was promised to nobody, and is lost"]
    pub fn close(mut self, within: Duration) -> Closed {
        self.commit();
        // A thread that is gone needs no telling.
        let _ = self.commands.send(Command::Stop);
        let deadline = Instant::now() + within;
        let ended = loop {
            match self.reports.recv_deadline(deadline) {
                Ok(report) => self.on_report(&report),
                Err(RecvTimeoutError::Timeout) => break false,
                Err(RecvTimeoutError::Disconnected) => break true,
            }
        };
        let closed = Closed { last: self.last, durable: self.persisted.through(), ended };
        if ended {
            // A panic of the thread shows as what is not durable.
            let _ = self.thread.join();
        }
        closed
    }
}

/// Segments of earlier starts that nothing was written to.
fn remove_empty_segments(writer: &mut Writer) {
    let next = writer.durable().next();
    let newest = writer.segments.last().map(|(number, _)| *number);
    let empty = |(number, first): &(u64, Lsn)| *first == next && Some(*number) != newest;
    for (number, _) in writer.segments.iter().filter(|segment| empty(segment)) {
        // One that stays does no harm: it is read as empty again.
        let _ = writer.storage.remove(&FileName::Segment(*number).name());
    }
    writer.segments.retain(|segment| !empty(segment));
}
