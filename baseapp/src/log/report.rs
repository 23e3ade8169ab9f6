//! What the log tells its owner: reports, refusals, limits, counters; and the one predicate that
//! says what is persisted.

use super::damage::Broken;
use super::scan::ScanRefusal;
use marchland_common::order::Lsn;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Limits and times of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment that holds this many bytes is followed by a new one.
    pub segment_bytes: u64,
    /// Most records appended and not durable.
    pub queue_items: usize,
    /// Most bytes of payload appended and not durable.
    pub queue_bytes: usize,
    /// Most bytes between two syncs; also bounds one record.
    pub group_bytes: usize,
    /// A checkpoint is due when the log grew by this much, or by four times the image, whichever
    /// is more.
    pub checkpoint_bytes: u64,
    /// How long to wait before a refused write or sync is tried again.
    pub retry: Duration,
}

impl LogConfig {
    /// For a base: at most one group a tick, a disk that may stall for seconds, a restart that
    /// reads 64 MiB.
    pub const STANDARD: Self = Self {
        segment_bytes: 16 << 20,
        queue_items: 1 << 16,
        queue_bytes: 64 << 20,
        group_bytes: 8 << 20,
        checkpoint_bytes: 64 << 20,
        retry: Duration::from_millis(200),
    };

    /// Checks limits that come from a configuration.
    ///
    /// # Errors
    /// Says which limit contradicts another.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.group_bytes <= super::torn::RECORD_BYTES_MIN {
            return Err("a group must have room for a record");
        }
        if self.group_bytes > super::scan::FRAME_BYTES_MAX {
            return Err("a group must not be larger than 64 MiB");
        }
        if self.queue_bytes < self.record_bytes_max() || self.queue_items == 0 {
            return Err("the queue must have room for the largest record");
        }
        Ok(())
    }

    /// Largest payload of one record.
    #[must_use]
    pub const fn record_bytes_max(&self) -> usize {
        self.group_bytes.saturating_sub(super::torn::RECORD_BYTES_MIN)
    }
}

/// Why a log was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The limits contradict each other.
    #[error("the limits of the log contradict each other: {0}")]
    Config(&'static str),
    /// Another process writes it.
    #[error(
        "the log in {folder} is held by {}: stop it first, two bases never share a log",
        pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    Locked {
        /// The folder.
        folder: String,
        /// The holder, if it can be read.
        pid: Option<u32>,
    },
    /// It is not ours to read.
    #[error(transparent)]
    Refused(#[from] ScanRefusal),
    /// It is not whole. What is readable can be had, and the log can be repaired from images.
    #[error("{}", .0.damage())]
    Broken(Box<Broken>),
    /// The disk refused.
    #[error("cannot {what} {file}: {source}")]
    Disk {
        /// What was tried.
        what: &'static str,
        /// With what.
        file: String,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn disk(what: &'static str, file: impl ToString, source: io::Error) -> Self {
        Self::Disk { what, file: file.to_string(), source }
    }
}

/// Why a payload was not appended. It comes back, so that nothing is lost by a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Too much is not durable yet: answer `busy`, go on without it.
    #[error("{items} records and {bytes} bytes are not durable yet")]
    Full {
        /// What was refused.
        payload: Vec<u8>,
        /// Records not durable.
        items: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// Larger than a record may be.
    #[error("{} bytes are over the limit of {limit} for one record", payload.len())]
    TooLarge {
        /// What was refused.
        payload: Vec<u8>,
        /// The limit.
        limit: usize,
    },
    /// The log thread is gone: nothing will become durable any more.
    #[error("the log has stopped")]
    Stopped {
        /// What was refused.
        payload: Vec<u8>,
    },
}

impl AppendError {
    /// The payload that was refused.
    #[must_use]
    pub fn into_payload(self) -> Vec<u8> {
        match self {
            Self::Full { payload, .. }
            | Self::TooLarge { payload, .. }
            | Self::Stopped { payload } => payload,
        }
    }
}

/// Why the disk does not take what it is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StallReason {
    /// No space is left.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// Another error of the disk.
    #[error("the disk refuses: {0}")]
    Disk(String),
}

impl StallReason {
    /// A file that may not grow any more, for a quota or a limit of the process, is a full disk too.
    pub(super) fn of(error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::DiskFull(error.to_string()),
            _ => Self::Disk(error.to_string()),
        }
    }
}

/// What the log thread reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogReport {
    /// Everything up to here is persisted. Ends a stall.
    Durable {
        /// The newest position.
        lsn: Lsn,
        /// How long the write and its sync took.
        took: Duration,
    },
    /// The disk does not take what it is given. Nothing is lost: the log tries again until it
    /// does. Reported once for each reason.
    Stalled {
        /// Why.
        reason: StallReason,
    },
    /// A checkpoint is in place, older files are gone.
    Checkpointed {
        /// It holds everything up to here.
        through: Lsn,
        /// Its size.
        bytes: u64,
        /// Files removed.
        removed: u64,
    },
    /// A checkpoint was given up; the log is as it was, and another may be tried.
    CheckpointFailed {
        /// It would have held everything up to here.
        through: Lsn,
        /// Why.
        reason: StallReason,
    },
    /// The log thread is gone without being asked: nothing will become durable any more.
    Lost,
}

/// Why a checkpoint was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointRefusal {
    /// One is being written.
    #[error("a checkpoint is being written")]
    Busy,
    /// The image is not of the newest appended record, or that was not committed yet.
    #[error("the image is of record {through}, the newest committed one is {newest}")]
    NotNewest {
        /// What the image holds.
        through: Lsn,
        /// What was committed.
        newest: Lsn,
    },
    /// The log thread is gone.
    #[error("the log has stopped")]
    Stopped,
}

/// When a record counts as persisted. Today: when the local disk has synced it. A copy on another
/// host would be one more rule here, and nothing else would change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PersistRule {
    /// The local disk has synced it.
    #[default]
    LocalSync,
}

/// What is persisted: the one predicate that releases results, acknowledgements and grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Persisted {
    rule: PersistRule,
    local: Lsn,
}

impl Persisted {
    /// Everything up to `local` is on the local disk.
    #[must_use]
    pub const fn new(rule: PersistRule, local: Lsn) -> Self {
        Self { rule, local }
    }

    /// The local disk has synced everything up to here.
    pub fn on_local_sync(&mut self, lsn: Lsn) {
        self.local = self.local.max(lsn);
    }

    /// The newest persisted position.
    #[must_use]
    pub const fn through(&self) -> Lsn {
        match self.rule {
            PersistRule::LocalSync => self.local,
        }
    }

    /// Whether this record is persisted.
    #[must_use]
    pub fn covers(&self, lsn: Lsn) -> bool {
        lsn <= self.through()
    }
}

/// Counters and gauges of a log, shared by its two sides.
#[derive(Debug, Default)]
pub struct LogStats {
    /// Records appended and not durable (gauge).
    pub queued_items: AtomicU64,
    /// Their bytes (gauge).
    pub queued_bytes: AtomicU64,
    /// Records that became durable.
    pub records: AtomicU64,
    /// Groups that became durable, each with one sync.
    pub groups: AtomicU64,
    /// Bytes written for them.
    pub bytes: AtomicU64,
    /// Writes or syncs that failed and were tried again.
    pub retries: AtomicU64,
    /// Stalls that began.
    pub stalls: AtomicU64,
    /// Appends refused because too much was not durable.
    pub refused_full: AtomicU64,
    /// Appends refused for their size.
    pub refused_too_large: AtomicU64,
    /// Segments begun.
    pub segments: AtomicU64,
    /// Checkpoints in place.
    pub checkpoints: AtomicU64,
    /// Checkpoints given up.
    pub checkpoints_failed: AtomicU64,
    /// Longest write with its sync, in microseconds.
    pub slowest_group_us: AtomicU64,
}

impl LogStats {
    pub(super) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    pub(super) fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
