//! Whether anybody looks: browsers that listen, and questions that were asked a short while ago.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// For how long a question counts, and the last browser after it left.
const LINGER: Duration = Duration::from_secs(30);

/// Who looks. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    listeners: watch::Sender<usize>,
    last: Mutex<Option<Instant>>,
}

/// One that listens, until it is dropped.
#[derive(Debug)]
pub struct Listening(Activity);

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(Inner { listeners: watch::channel(0).0, last: Mutex::new(None) }))
    }
}

impl Activity {
    /// Somebody begins to listen.
    pub(super) fn listen(&self) -> Listening {
        self.touch(Instant::now());
        self.0.listeners.send_modify(|n| *n += 1);
        Listening(self.clone())
    }

    /// Somebody asked something.
    pub(super) fn touch(&self, now: Instant) {
        let was_idle = !self.is_active(now);
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        if was_idle {
            self.0.listeners.send_modify(|_| {});
        }
    }

    pub(super) fn listeners(&self) -> usize {
        *self.0.listeners.borrow()
    }

    /// Whether anybody looks, or did lately.
    pub(super) fn is_active(&self, now: Instant) -> bool {
        let last = *self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        let lately = last.is_some_and(|last| now.saturating_duration_since(last) < LINGER);
        lately || self.listeners() > 0
    }

    /// Told when somebody comes.
    pub(super) fn changes(&self) -> watch::Receiver<usize> {
        self.0.listeners.subscribe()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.touch(Instant::now());
        self.0.0.listeners.send_modify(|n| *n -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_looks_while_they_listen_and_a_little_longer() {
        let (activity, now) = (Activity::default(), Instant::now());
        assert!(!activity.is_active(now));
        let listening = activity.listen();
        assert!(activity.is_active(now + LINGER * 9));
        drop(listening);
        assert!(activity.is_active(Instant::now()));
        assert!(!activity.is_active(Instant::now() + LINGER * 2));
    }
}
