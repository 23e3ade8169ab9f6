//! What the tick thread and the writer tell each other without waiting.

use super::Written;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether the disk takes what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Writing,
    Failing(String),
}

#[derive(Debug)]
pub(super) struct Shared {
    pub name: String,
    pub written: Written,
    /// The newest tick whose record is written.
    pub written_tick: AtomicU64,
    /// The number of the segment that the writer wants to begin.
    pub wanted: AtomicU32,
    /// The end mark is written.
    pub ended: AtomicBool,
    waiting: AtomicUsize,
    failing: AtomicBool,
    why: Mutex<String>,
    abandoned: AtomicBool,
}

impl Shared {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            written: Written::new(),
            written_tick: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            failing: AtomicBool::new(false),
            why: Mutex::new(String::new()),
            abandoned: AtomicBool::new(false),
        }
    }

    pub(super) fn add_waiting(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn take_waiting(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Bytes that are handed over and not written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Acquire)
    }

    pub(super) fn health(&self) -> Health {
        if !self.is_failing() {
            return Health::Writing;
        }
        Health::Failing(self.why.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// True when this is news.
    pub(super) fn set_failing(&self, why: Option<&std::io::Error>) -> bool {
        if let Some(why) = why {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why.to_string();
        }
        self.failing.swap(why.is_some(), Ordering::AcqRel) != why.is_some()
    }

    /// Nobody waits any more: the writer may give up on a disk that does not answer.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}
