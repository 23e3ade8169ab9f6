//! The log thread: takes batches and checkpoints from the tick side, moves them to the disk, and
//! reports. It may wait for the disk as long as the disk likes; the tick thread never does.

use super::handle::Waker;
use super::job::{CheckpointJob, Entries};
use super::report::{LogReport, LogStats, StallReason};
use super::writer::{Flushed, Writer};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError};
use marchland_common::order::Lsn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What the tick side asks for.
pub(super) enum Command {
    Commit(Vec<(Lsn, Vec<u8>)>),
    Checkpoint { through: Lsn, entries: Entries },
    Stop,
}

pub(super) struct Worker {
    pub(super) writer: Writer,
    pub(super) commands: Receiver<Command>,
    pub(super) reports: Sender<LogReport>,
    pub(super) waker: Waker,
    pub(super) stats: Arc<LogStats>,
    pub(super) retry: Duration,
    pub(super) job: Option<CheckpointJob>,
    pub(super) stall: Option<Stall>,
    /// No more commands come: finish what is queued, unless the disk refuses.
    pub(super) stopping: bool,
    /// Nobody listens any more.
    pub(super) abandoned: bool,
}

pub(super) struct Stall {
    reason: StallReason,
    retry_at: Instant,
}

impl Worker {
    pub(super) fn run(mut self) {
        while self.receive() {
            self.flush();
            if self.stall.is_none() {
                self.step_job();
            }
        }
        if let Some(job) = self.job.take() {
            job.abort(&mut self.writer);
        }
    }

    /// Waits for work. False when the thread should end.
    fn receive(&mut self) -> bool {
        loop {
            if self.abandoned {
                return false;
            }
            if self.stopping {
                return self.writer.has_work() && self.stall.is_none();
            }
            match self.next_command() {
                Ok(command) => self.take(command),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// The next command; `Timeout` when there is other work to do now.
    fn next_command(&self) -> Result<Command, RecvTimeoutError> {
        if let Some(stall) = &self.stall {
            return self.commands.recv_deadline(stall.retry_at);
        }
        let job_ready = self.job.as_ref().is_some_and(|job| job.is_ready(&self.writer));
        if self.writer.has_work() || job_ready {
            return self.commands.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
        self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Commit(records) => self.writer.queue(records),
            Command::Checkpoint { through, entries } => {
                self.job = Some(CheckpointJob::new(&mut self.writer, through, entries));
            }
            Command::Stop => self.stopping = true,
        }
    }

    fn flush(&mut self) {
        let (began, segments) = (Instant::now(), self.writer.segments.len());
        let result = self.writer.flush();
        let begun = self.writer.segments.len().saturating_sub(segments) as u64;
        LogStats::add(&self.stats.segments, begun);
        match result {
            Ok(None) => {}
            Ok(Some(flushed)) => {
                self.stall = None;
                self.count(&flushed, began.elapsed());
                self.report(LogReport::Durable { lsn: flushed.lsn, took: began.elapsed() });
            }
            Err(error) => self.on_refused(StallReason::of(&error)),
        }
    }

    fn count(&self, flushed: &Flushed, took: Duration) {
        let stats = &self.stats;
        stats.queued_items.fetch_sub(flushed.records, Ordering::Relaxed);
        stats.queued_bytes.fetch_sub(flushed.payload_bytes, Ordering::Relaxed);
        LogStats::add(&stats.records, flushed.records);
        LogStats::add(&stats.bytes, flushed.bytes);
        LogStats::add(&stats.groups, 1);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        stats.slowest_group_us.fetch_max(took_us, Ordering::Relaxed);
    }

    fn on_refused(&mut self, reason: StallReason) {
        LogStats::add(&self.stats.retries, 1);
        LogStats::add(&self.stats.stalls, u64::from(self.stall.is_none()));
        let news = self.stall.as_ref().is_none_or(|stall| stall.reason != reason);
        self.stall = Some(Stall { reason: reason.clone(), retry_at: Instant::now() + self.retry });
        if news {
            self.report(LogReport::Stalled { reason });
        }
    }

    fn step_job(&mut self) {
        let Some(mut job) = self.job.take() else { return };
        if !job.is_ready(&self.writer) {
            self.job = Some(job);
            return;
        }
        let through = job.through();
        match job.step(&mut self.writer) {
            Ok(None) => self.job = Some(job),
            Ok(Some(done)) => {
                LogStats::add(&self.stats.checkpoints, 1);
                let (bytes, removed) = (done.bytes, done.removed);
                self.report(LogReport::Checkpointed { through, bytes, removed });
            }
            Err(error) => {
                job.abort(&mut self.writer);
                LogStats::add(&self.stats.checkpoints_failed, 1);
                let reason = StallReason::of(&error);
                self.report(LogReport::CheckpointFailed { through, reason });
            }
        }
    }

    /// Hands a report over. If the tick side left no room it is woken and waited for: it drains
    /// its reports before it appends more, so this ends.
    fn report(&mut self, report: LogReport) {
        let sent = match self.reports.try_send(report) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(report)) => {
                (self.waker)();
                self.reports.send(report).is_ok()
            }
        };
        self.abandoned |= !sent;
        (self.waker)();
    }
}
