//! List, then watch: a task that keeps a view of one prefix, and handles that read it.
//!
//! The stream of events is only a hint. The task lists everything again when the watch is
//! cancelled or compacted, when its stream ends, fails or stalls, and every now and then without a
//! reason, so that an event lost in silence is repaired too. It never ends by itself.
//!
//! Invariants: the channel holds one state, the newest; a handle computes its differences between
//! states that it has returned, so a slow reader loses moments but no change.

use super::backoff::Backoff;
use super::client::{CoordClient, Revision};
use super::error::CoordError;
use super::lease::chain;
use super::view::{Diff, Entries, KeyEvent, View, diff};
use etcd_client::proto::PbEvent;
use etcd_client::{EventType, WatchResponse, WatchStream};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How a watcher behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherOptions {
    /// A full list without any reason this often, jittered down to its half.
    pub relist_every: Duration,
    /// How often the server is asked for a sign of life.
    pub progress_every: Duration,
    /// A stream without any sign of life for this long is given up.
    pub stall_after: Duration,
}

impl Default for WatcherOptions {
    fn default() -> Self {
        Self {
            relist_every: Duration::from_secs(30),
            progress_every: Duration::from_millis(500),
            stall_after: Duration::from_millis(1500),
        }
    }
}

/// Why everything was listed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelistReason {
    /// It was time.
    Periodic,
    /// The server cancelled the watch.
    Canceled,
    /// The history that the watch needs is compacted.
    Compacted,
    /// The stream ended or failed.
    StreamLost,
    /// The stream gave no sign of life.
    Stalled,
    /// The list itself failed, or the watch could not be opened.
    Unreachable,
}

/// What a watcher has been through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchStats {
    /// Lists after the first, by reason.
    pub relists: BTreeMap<RelistReason, u64>,
    /// Events applied.
    pub events: u64,
    /// Events dropped because the view contained them already.
    pub stale_events: u64,
    /// Keys and events left out because they are not ours: not UTF-8, or of an unknown kind.
    pub foreign_keys: u64,
    /// Lists that were older than the view: the store lost its history and was believed.
    pub regressions: u64,
}

/// A new state and how it differs from the one returned before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// All keys.
    pub snapshot: Arc<Entries>,
    /// The revision that they are known as of.
    pub revision: Revision,
    /// What changed since the last call, in key order. Empty only in the first change of an empty
    /// prefix.
    pub diff: Vec<Diff>,
}

/// The watcher's task was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the watcher was stopped")]
pub struct WatcherGone;

#[derive(Default)]
struct Health {
    fresh_at: Option<Instant>,
    stats: WatchStats,
}

struct Shared {
    health: Mutex<Health>,
    task: Mutex<Option<AbortHandle>>,
}

impl Shared {
    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the task with the last handle.
struct StopAtLast(Arc<Shared>);

impl Drop for StopAtLast {
    fn drop(&mut self) {
        let task = self.0.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
        }
    }
}

/// A handle on the state of one prefix. The task ends with its last handle.
#[derive(Clone)]
pub struct Watcher {
    state: watch::Receiver<Option<View>>,
    seen: Option<View>,
    guard: Arc<StopAtLast>,
}

impl Watcher {
    /// Starts to watch all keys under `prefix`.
    #[must_use]
    pub fn spawn(client: CoordClient, prefix: String, options: WatcherOptions) -> Self {
        let shared = Arc::new(Shared { health: Mutex::default(), task: Mutex::default() });
        let (publish, state) = watch::channel(None);
        let (first, longest) = (Duration::from_millis(50), Duration::from_secs(1));
        let backoff = client.backoff(first, longest);
        let task = Task {
            client,
            prefix,
            options,
            backoff,
            shared: Arc::clone(&shared),
            publish,
            view: View::default(),
        };
        let handle = tokio::spawn(task.run()).abort_handle();
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        Self { state, seen: None, guard: Arc::new(StopAtLast(shared)) }
    }

    /// Another handle on the same task, which has seen nothing yet.
    #[must_use]
    pub fn subscribe(&self) -> Self {
        Self { seen: None, ..self.clone() }
    }

    /// Waits for a state that differs from the one returned last; the first call waits for the
    /// first list. Nothing is lost if the future is dropped.
    pub async fn changed(&mut self) -> Result<Change, WatcherGone> {
        let nothing = Arc::new(Entries::new());
        let view = {
            let seen = &self.seen;
            let differs = |state: &Option<View>| match (state, seen) {
                (Some(_), None) => true,
                (Some(state), Some(seen)) => state.entries != seen.entries,
                (None, _) => false,
            };
            let view = self.state.wait_for(differs).await.map_err(|_| WatcherGone)?;
            view.clone().unwrap_or_default()
        };
        let old = self.seen.as_ref().map_or(&nothing, |seen| &seen.entries);
        let diff = diff(old, &view.entries);
        self.seen = Some(view.clone());
        Ok(Change { snapshot: view.entries, revision: view.revision, diff })
    }

    /// The newest state, without waiting; `None` before the first list.
    #[must_use]
    pub fn current(&self) -> Option<View> {
        self.state.borrow().clone()
    }

    /// How long ago the server last gave a sign of life on this watch; `None` before the first
    /// list. Healthy: about the period of the progress requests.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let fresh_at = self.guard.0.health().fresh_at;
        fresh_at.map(|at| at.elapsed())
    }

    /// What the watcher has been through.
    #[must_use]
    pub fn stats(&self) -> WatchStats {
        self.guard.0.health().stats.clone()
    }
}

struct Task {
    client: CoordClient,
    prefix: String,
    options: WatcherOptions,
    backoff: Backoff,
    shared: Arc<Shared>,
    publish: watch::Sender<Option<View>>,
    view: View,
}

impl Task {
    async fn run(mut self) {
        loop {
            let (reason, error) = match self.session().await {
                Ok(reason) => (reason, None),
                Err((reason, error)) => (reason, Some(error)),
            };
            let error = error.map(|e| chain(&e));
            tracing::info!(prefix = %self.prefix, ?reason, error, "listing again");
            *self.shared.health().stats.relists.entry(reason).or_default() += 1;
            sleep(self.backoff.next_delay()).await;
        }
    }

    /// Lists, then watches until something makes a new list necessary.
    async fn session(&mut self) -> Result<RelistReason, (RelistReason, CoordError)> {
        let unreachable = |error| (RelistReason::Unreachable, error);
        self.list().await.map_err(unreachable)?;
        // From the revision of the list, not after it: newer etcds answer a progress request only
        // once they have reached the first watched revision. What is known already is dropped.
        let watched = self.client.watch(&self.prefix, self.view.revision).await;
        let mut stream = watched.map_err(unreachable)?;
        let mut alive_at = Instant::now();
        let mut relist_at = Instant::now() + self.backoff.jitter(self.options.relist_every);
        let mut progress_at = Instant::now() + self.options.progress_every;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(relist_at) => {
                    self.client.begun("lists");
                    self.list().await.map_err(unreachable)?;
                    *self.shared.health().stats.relists.entry(RelistReason::Periodic).or_default()
                        += 1;
                    relist_at = Instant::now() + self.backoff.jitter(self.options.relist_every);
                }
                message = stream.message() => {
                    alive_at = Instant::now();
                    let lost = |error: etcd_client::Error| {
                        let (prefix, source) = (self.prefix.clone(), error.into());
                        (RelistReason::StreamLost, CoordError::Watch { prefix, source })
                    };
                    match message.map_err(lost)? {
                        Some(message) => {
                            if let Some(reason) = self.message(message) {
                                return Ok(reason);
                            }
                        }
                        None => return Ok(RelistReason::StreamLost),
                    }
                }
                () = sleep_until(progress_at) => {
                    // After a pause of this process the messages that wait come first.
                    if alive_at.elapsed() > self.options.stall_after {
                        return Ok(RelistReason::Stalled);
                    }
                    self.ask_for_progress(&mut stream).await;
                    progress_at = Instant::now() + self.options.progress_every;
                }
            }
        }
    }

    async fn list(&mut self) -> Result<(), CoordError> {
        let asked_at = Instant::now();
        let listing = self.client.list(&self.prefix).await?;
        let mut health = self.shared.health();
        if listing.revision < self.view.revision {
            let (had, has) = (self.view.revision, listing.revision);
            tracing::warn!(prefix = %self.prefix, had, has, "etcd has lost a part of its history");
            health.stats.regressions += 1;
        }
        health.stats.foreign_keys = listing.foreign;
        health.fresh_at = Some(asked_at);
        drop(health);
        let differs = self.view.relist(listing);
        if differs || self.publish.borrow().is_none() {
            self.publish.send_replace(Some(self.view.clone()));
        }
        Ok(())
    }

    /// Applies one message of the stream; returns why the watch is over, if it is.
    fn message(&mut self, message: WatchResponse) -> Option<RelistReason> {
        self.shared.health().fresh_at = Some(Instant::now());
        if message.compact_revision() > 0 {
            return Some(RelistReason::Compacted);
        }
        if message.canceled() {
            tracing::info!(prefix = %self.prefix, reason = message.cancel_reason(), "canceled");
            return Some(RelistReason::Canceled);
        }
        // A stream that got beyond its opening works; the next failure starts with a short delay.
        if !message.created() {
            self.backoff.reset();
        }
        let count = message.0.events.len() as u64;
        let events: Vec<_> = message.0.events.into_iter().filter_map(key_event).collect();
        let foreign = count - events.len() as u64;
        let applied = self.view.apply(events);
        let mut health = self.shared.health();
        health.stats.events += applied.fresh;
        health.stats.stale_events += applied.stale;
        health.stats.foreign_keys += foreign;
        drop(health);
        if applied.fresh > 0 {
            self.publish.send_replace(Some(self.view.clone()));
        }
        None
    }

    /// Asks the server for a sign of life. A failure shows as a stream that ends or stalls.
    async fn ask_for_progress(&self, stream: &mut WatchStream) {
        self.client.begun("watch_questions");
        let asked = timeout(self.options.progress_every, stream.request_progress()).await;
        if !matches!(asked, Ok(Ok(()))) {
            tracing::debug!(prefix = %self.prefix, "cannot ask for progress");
        }
    }
}

/// What a view needs of an event; `None` if it is not about a key of ours.
fn key_event(event: PbEvent) -> Option<KeyEvent> {
    let mut kv = event.kv?;
    let key = String::from_utf8(std::mem::take(&mut kv.key)).ok()?;
    let mod_revision = kv.mod_revision;
    let kv = match EventType::try_from(event.r#type).ok()? {
        EventType::Put => Some(kv.into()),
        EventType::Delete => None,
    };
    Some(KeyEvent { key, mod_revision, kv })
}
