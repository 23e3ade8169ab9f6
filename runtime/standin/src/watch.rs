//! Watches as cursors over the history: a watch is a range, a position, and what it leaves out.
//!
//! A cursor belongs to whoever serves the watch. It can fall behind without costing memory; a
//! compaction that passes it ends it, as in etcd.

use crate::engine::Standin;
use crate::types::{Event, EventKind, KeyRange, Revision};

/// Revisions delivered by one poll at most, as etcd does for a watcher that catches up.
const BATCH_REVISIONS_MAX: usize = 1000;

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchCursor {
    /// Which keys.
    pub range: KeyRange,
    /// The next revision to deliver.
    pub next_revision: Revision,
    /// Deliver what was there before, too.
    pub prev_kv: bool,
    /// Leave out puts.
    pub no_put: bool,
    /// Leave out deletions.
    pub no_delete: bool,
}

/// What a poll found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchPoll {
    /// Nothing new.
    Idle,
    /// Changes in order. Poll again: there may be more.
    Events {
        /// At least one.
        events: Vec<Event>,
        /// The newest revision that was looked at, or could have been.
        revision: Revision,
    },
    /// The cursor points before the last compaction. The watch is over.
    Compacted {
        /// The oldest revision that can still be watched from.
        compact_revision: Revision,
    },
    /// The server ended the watch for no reason of the client's; only by deliberate misbehaviour.
    Canceled,
}

impl Standin {
    /// A cursor that starts at `start_revision`; 0 means with the next change.
    #[must_use]
    pub fn watch(&self, range: KeyRange, start_revision: Revision) -> WatchCursor {
        let now = self.revision() + 1;
        let next_revision = if start_revision == 0 { now } else { start_revision };
        WatchCursor { range, next_revision, prev_kv: false, no_put: false, no_delete: false }
    }

    /// What happened since the cursor's position, up to and including `up_to`, which a server
    /// sets to the newest revision that survives its own crash. Moves the cursor.
    pub fn poll_watch(&self, cursor: &mut WatchCursor, up_to: Revision) -> WatchPoll {
        let faults = self.faults();
        if faults.stall {
            return WatchPoll::Idle;
        }
        if faults.cancel_watches {
            return WatchPoll::Canceled;
        }
        if cursor.next_revision < self.compacted() {
            return WatchPoll::Compacted { compact_revision: self.compacted() };
        }
        let up_to = up_to.min(self.revision());
        while cursor.next_revision <= up_to {
            let span = (cursor.next_revision, up_to);
            let mvcc = self.mvcc();
            let (mut events, next) =
                mvcc.events(&cursor.range, span, cursor.prev_kv, BATCH_REVISIONS_MAX);
            cursor.next_revision = next;
            events.retain(|event| match event.kind {
                EventKind::Put => !cursor.no_put,
                EventKind::Delete => !cursor.no_delete,
            });
            if !events.is_empty() && !faults.drop_watch_events {
                return WatchPoll::Events { events, revision: up_to };
            }
        }
        WatchPoll::Idle
    }
}
