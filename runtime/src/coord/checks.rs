//! Looks at one's own key, by number: whoever asks learns when a look that began *after* the
//! question found this life registered. A look that was under way already says nothing about now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicU64,
    /// The newest question that a look began to answer.
    taken: AtomicU64,
    proven: AtomicU64,
    wake: Notify,
}

/// Asks the task that keeps a registration true. Clones ask the same task; no call waits.
#[derive(Clone, Debug, Default)]
pub struct SelfCheck(Arc<Inner>);

impl SelfCheck {
    /// Asks for a look that begins after this call; returns its number.
    pub fn ask(&self) -> u64 {
        let number = self.0.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.wake.notify_one();
        number
    }

    /// Whether a look that began after this question found this life registered, or registered it
    /// again under its incarnation.
    #[must_use]
    pub fn is_proven(&self, number: u64) -> bool {
        self.0.proven.load(Ordering::Acquire) >= number
    }

    /// A look begins: it answers all questions until now.
    pub(crate) fn begin(&self) -> u64 {
        let number = self.0.asked.load(Ordering::Acquire);
        self.0.taken.store(number, Ordering::Release);
        number
    }

    /// The look that answers the questions up to this one went well.
    pub(crate) fn prove(&self, number: u64) {
        self.0.proven.fetch_max(number, Ordering::AcqRel);
    }

    /// Returns when somebody asks, at the latest after `pause`; after `retry` when a question is
    /// open that a failed look left unanswered.
    pub(super) async fn next(&self, pause: Duration, retry: Duration) {
        let asked = async {
            while self.0.asked.load(Ordering::Acquire) == self.0.taken.load(Ordering::Acquire) {
                self.0.wake.notified().await;
            }
        };
        let open = !self.is_proven(self.0.taken.load(Ordering::Acquire));
        drop(timeout(if open { retry } else { pause }, asked).await);
    }
}
