//! Asynchronous work that entities ask for: done on the I/O side, posted back as a completion. It
//! never touches an entity.

use crossbeam_channel::{Receiver, Sender};
use marchland_cellapp_core::io::Completion;
use marchland_runtime::telemetry::Counters;
use std::time::Duration;

/// Completions that wait for the tick thread.
const DONE_MAX: usize = 4_096;

/// How a world's asynchronous work is done.
#[derive(Clone, Copy)]
pub struct WorkRules {
    /// Does one piece of work; may take long and may block.
    pub work: fn(&[u8]) -> Vec<u8>,
    /// How long a piece of work takes at least, so that nobody relies on it being instant.
    pub least: Duration,
}

/// The tick thread's end.
pub(crate) struct Workshop {
    rules: WorkRules,
    io: tokio::runtime::Handle,
    post: Sender<Completion>,
    done: Receiver<Completion>,
    counters: Counters,
}

impl Workshop {
    pub(crate) fn new(rules: WorkRules, io: tokio::runtime::Handle, counters: Counters) -> Self {
        let (post, done) = crossbeam_channel::bounded(DONE_MAX);
        Self { rules, io, post, done, counters }
    }

    /// Begins a piece of work. Never waits.
    pub(crate) fn begin(&self, asked: Completion) {
        let (rules, post, counters) = (self.rules, self.post.clone(), self.counters.clone());
        self.io.spawn(async move {
            tokio::time::sleep(rules.least).await;
            let payload = asked.payload.clone();
            let found = tokio::task::spawn_blocking(move || (rules.work)(&payload)).await;
            let Ok(payload) = found else {
                counters.counter("work_failed").add(1);
                return;
            };
            if post.try_send(Completion { payload, ..asked }).is_err() {
                counters.counter("work_lost").add(1);
            }
        });
    }

    /// Everything that is done.
    pub(crate) fn done(&self) -> Vec<Completion> {
        self.done.try_iter().take(self.done.len()).collect()
    }
}
