//! Wakes the tick thread out of its idle time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

#[derive(Debug, Default)]
struct Inner {
    pending: AtomicBool,
    stopping: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Wakes one thread. Clones wake the same. A wake is never lost: one that comes while the thread
/// works is seen when it begins to wait.
#[derive(Clone, Debug, Default)]
pub struct Waker(Arc<Inner>);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// Somebody has something to say.
    Pending,
    /// It is time.
    Deadline,
    /// It is to end.
    Stop,
}

impl Waker {
    /// A waker of a thread that is not known yet; wakes are kept for it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// There is something to take in: for example the log made records durable. Never waits.
    pub fn wake(&self) {
        self.0.pending.store(true, Ordering::Release);
        self.unpark();
    }

    /// The thread is to end after what it does now.
    pub(super) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Release);
        self.unpark();
    }

    fn unpark(&self) {
        if let Some(thread) = self.0.thread.get() {
            thread.unpark();
        }
    }

    /// The calling thread is the one to be woken.
    pub(super) fn adopt(&self) {
        let _ = self.0.thread.set(std::thread::current());
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Acquire)
    }

    /// Waits until `deadline_ns` on the clock `now_ns`, a stop, or, if `wakes` may be taken, a
    /// wake.
    pub(super) fn wait(&self, deadline_ns: u64, wakes: bool, now_ns: impl Fn() -> u64) -> Woken {
        loop {
            if self.is_stopping() {
                return Woken::Stop;
            }
            let now_ns = now_ns();
            if now_ns >= deadline_ns {
                return Woken::Deadline;
            }
            if wakes && self.0.pending.swap(false, Ordering::AcqRel) {
                return Woken::Pending;
            }
            std::thread::park_timeout(Duration::from_nanos(deadline_ns - now_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_wake_before_the_wait_is_seen_and_one_that_may_not_be_taken_is_kept() {
        let waker = Waker::new();
        waker.adopt();
        waker.wake();
        let clock = Cell::new(0);
        let now = || {
            clock.set(clock.get() + 1);
            clock.get()
        };
        assert_eq!(waker.wait(4, false, now), Woken::Deadline);
        assert_eq!(waker.wait(u64::MAX, true, now), Woken::Pending);
        assert_eq!(waker.wait(9, true, now), Woken::Deadline, "one wake is one wake");
        waker.wake();
        waker.stop();
        assert_eq!(waker.wait(u64::MAX, true, now), Woken::Stop);
    }

    #[test]
    fn another_thread_ends_the_wait() {
        let waker = Waker::new();
        let other = waker.clone();
        waker.adopt();
        let thread = std::thread::spawn(move || other.wake());
        assert_eq!(waker.wait(u64::MAX, true, || 0), Woken::Pending);
        thread.join().expect("the other thread only wakes");
    }
}
