//! What the console is told of the cluster: the manager's own knowledge.

use crate::lead::Waiting;
use crate::operator::Door;
use marchland_common::order::{Incarnation, NodeName};
use marchland_console::Realm;
use marchland_console::frame::{StoreState, VerdictState};
use marchland_runtime::coord::{LeaseProof, Verdict};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::transport::Channel;

/// Verdicts that are shown: the newest lives.
const VERDICTS_MAX: usize = 32;
/// Names of lives that are remembered.
const NAMES_MAX: usize = 1_024;

pub(super) struct ManagerRealm {
    door: Door,
    cluster: String,
    lease: watch::Receiver<LeaseProof>,
    /// Who was registered: a tombstone does not say whose it is.
    names: Mutex<BTreeMap<Incarnation, NodeName>>,
}

impl ManagerRealm {
    pub(super) fn new(door: Door, cluster: String, lease: watch::Receiver<LeaseProof>) -> Self {
        Self { door, cluster, lease, names: Mutex::default() }
    }

    fn names(&self, seen: &Seen) -> BTreeMap<Incarnation, NodeName> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.extend(seen.members.iter().map(|m| (m.incarnation, m.info.name)));
        while names.len() > NAMES_MAX {
            names.pop_first();
        }
        names.clone()
    }
}

impl Realm for ManagerRealm {
    fn cluster(&self) -> String {
        self.cluster.clone()
    }

    fn seen(&self) -> Arc<Seen> {
        let seen = self.door.feed.seen();
        let _ = self.names(&seen);
        seen
    }

    fn changes(&self) -> watch::Receiver<Arc<Seen>> {
        self.door.feed.subscribe()
    }

    fn channel(&self, addr: &str) -> Option<Channel> {
        self.door.book.channel(addr)
    }

    fn reasons(&self) -> Vec<String> {
        let Waiting { mut reasons, lost } = self.door.waiting.borrow().clone();
        reasons.extend(lost.iter().map(ToString::to_string));
        reasons.extend(self.door.findings.borrow().reasons());
        reasons
    }

    /// By the lease of this manager: it is renewed again and again.
    fn store(&self) -> StoreState {
        let proof = *self.lease.borrow();
        let age = Instant::now().saturating_duration_since(proof.proven_at);
        StoreState {
            ok: proof.failing_since.is_none() && !proof.gone && age < proof.ttl,
            age_ms: as_ms(age),
            revision: self.door.feed.seen().revision,
        }
    }

    fn verdicts(&self) -> Vec<VerdictState> {
        let seen = self.door.feed.seen();
        let names = self.names(&seen);
        let newest = seen.tombstones.iter().rev().take(VERDICTS_MAX);
        let shown = newest.map(|(incarnation, tombstone)| VerdictState {
            tick: None,
            name: names.get(incarnation).map_or_else(String::new, ToString::to_string),
            incarnation: incarnation.to_string(),
            verdict: match tombstone.verdict {
                Verdict::Dead => "dead",
                Verdict::Silent => "silent",
                Verdict::Replaced => "replaced",
            }
            .to_owned(),
            why: tombstone.reason.clone(),
        });
        shown.collect()
    }
}

fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
