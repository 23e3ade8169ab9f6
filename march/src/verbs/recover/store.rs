//! The store that is to be the logs' cluster's.
//!
//! The order makes a crash in between harmless: the ladder says whose work is under way, so it can
//! be done again; the identity comes last, so that nobody starts on a part of it.

use super::logs::Found;
use crate::exit::{Failure, REFUSED, UNREACHABLE};
use futures::StreamExt;
use marchland_runtime::coord::{
    CoordClient, CoordError, CoordOptions, Guard, Key, Listing, LossesValue, MetaValue, SlotValue,
    Txn,
};
use marchland_runtime::process::Seen;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Writes under way at once: the store makes many durable together.
const AT_ONCE: usize = 64;
/// Writes between two words about them.
const BATCH: u64 = 5_000;
/// Keys written in one transaction; etcd takes 128 operations by default.
const KEYS_A_TXN: usize = 60;
/// By how many ticks the clock is set beyond the newest tick that a log names: more than any
/// process was ahead of its log.
const TICKS_AHEAD: u64 = 1_000;

/// What the ladder holds while a cluster is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ladder {
    cluster_id: u64,
}

/// A store that may be taken.
pub(super) struct Target {
    coord: CoordClient,
    etcd: String,
    listing: Listing,
    seen: Seen,
}

impl Target {
    /// Looks whether the store may be taken for the cluster of these logs.
    ///
    /// # Errors
    /// It does not answer, somebody is registered in it, or it is another cluster's.
    pub(super) async fn open(etcd: &[String], name: &str, found: &Found) -> Result<Self, Failure> {
        let at = etcd.join(", ");
        let coord = CoordClient::connect(etcd, CoordOptions::new(name))
            .await
            .map_err(|e| unreachable(&at, &e))?;
        let listing = coord.list(coord.keys().root()).await.map_err(|e| unreachable(&at, &e))?;
        let seen = Seen::parse(coord.keys(), &listing.entries, coord.counters());
        let target = Self { coord, etcd: at, listing, seen };
        target.check(name, found).await?;
        Ok(target)
    }

    async fn check(&self, name: &str, found: &Found) -> Result<(), Failure> {
        let refused = |text: String, hint: &str| {
            Err(Failure::new(REFUSED, text).hint(format!("nothing was written. {hint}")))
        };
        let members: Vec<String> = self.seen.members.iter().map(ToString::to_string).collect();
        if !members.is_empty() || self.listing.entries.contains_key(&self.coord.keys().leader()) {
            let who = match members.is_empty() {
                true => "a manager leads".to_owned(),
                false => format!("registered there: {}", members.join(", ")),
            };
            let text = format!("the cluster `{name}` is in use at {}: {who}", self.etcd);
            return refused(text, "stop every process; one that was killed is gone in seconds");
        }
        let is_ours = self.seen.meta.is_some_and(|meta| meta.cluster_id == found.cluster);
        let is_begun = self.ladder().await?.is_some_and(|l| l.cluster_id == found.cluster);
        if !is_ours && !is_begun && !self.seen.slots.is_empty() {
            let text = format!(
                "the store at {} knows another cluster by the name `{name}`, with {} slots",
                self.etcd,
                self.seen.slots.len()
            );
            return refused(text, "use its logs, an empty etcd, or another --cluster-name");
        }
        Ok(())
    }

    async fn ladder(&self) -> Result<Option<Ladder>, Failure> {
        let key = self.coord.keys().ladder();
        let kv = self.coord.get(&key).await.map_err(|e| unreachable(&self.etcd, &e))?;
        Ok(kv.and_then(|kv| serde_json::from_slice(&kv.value).ok()))
    }

    /// Makes the store that of the logs' cluster. Returns its revision.
    ///
    /// # Errors
    /// It does not answer, or somebody else changed it meanwhile. Doing it again goes on from there.
    pub(super) async fn take_up(&self, found: &Found, step: Duration) -> Result<u64, Failure> {
        self.climb(found).await?;
        let slots: Vec<_> = found.slots.iter().collect();
        for some in slots.chunks(KEYS_A_TXN) {
            let txn = some.iter().fold(Txn::new(), |txn, (slot, base)| {
                let value = json(&SlotValue { base: **base });
                self.put_unchanged(txn, Key::Slot(**slot), value)
            });
            self.write(txn).await?;
        }
        self.forget_what_others_made(found).await?;
        self.sign(found, step).await
    }

    /// Raises the store's revision above everything that the logs name.
    async fn climb(&self, found: &Found) -> Result<(), Failure> {
        let key = self.coord.keys().ladder();
        let value = json(&Ladder { cluster_id: found.cluster });
        let mut at = self.write(Txn::new().put(&key, value.clone())).await?;
        let (from, floor) = (at, found.floor);
        while at <= floor {
            let count = (floor + 1 - at).min(BATCH);
            let puts = (0..count).map(|_| self.coord.txn(Txn::new().put(&key, value.clone())));
            let mut puts = futures::stream::iter(puts).buffer_unordered(AT_ONCE);
            while let Some(put) = puts.next().await {
                let outcome = put.map_err(|e| unreachable(&self.etcd, &e))?;
                at = at.max(outcome.revision.unsigned_abs());
            }
            let (done, all) = (at.saturating_sub(from), (floor + 1).saturating_sub(from));
            eprintln!("  revision {at}: {done} of {all} writes");
        }
        Ok(())
    }

    /// What a manager made of the empty store before anybody noticed. It gave no slot.
    async fn forget_what_others_made(&self, found: &Found) -> Result<(), Failure> {
        if self.seen.meta.is_none_or(|meta| meta.cluster_id == found.cluster) {
            return Ok(());
        }
        let keys = self.coord.keys();
        let kept =
            |key: &str| matches!(keys.parse(key), Some(Key::Slot(_) | Key::Meta | Key::Losses));
        let made: Vec<&String> = self.listing.entries.keys().filter(|key| !kept(key)).collect();
        for some in made.chunks(KEYS_A_TXN) {
            self.write(some.iter().fold(Txn::new(), |txn, key| txn.delete(*key))).await?;
        }
        Ok(())
    }

    /// The last transaction: from here on it is that cluster's store.
    async fn sign(&self, found: &Found, step: Duration) -> Result<u64, Failure> {
        let ticks = found.tick.0.saturating_add(TICKS_AHEAD);
        let behind = u128::from(ticks).saturating_mul(step.as_micros()) / 1_000;
        let now = marchland_runtime::tick::calendar_ms();
        let meta = MetaValue {
            cluster_id: found.cluster,
            proto_min: marchland_runtime::link::PROTO,
            proto_max: marchland_runtime::link::PROTO,
            origin_wall_ms: Some(now.saturating_sub(u64::try_from(behind).unwrap_or(u64::MAX))),
        };
        let losses = LossesValue { count: found.losses.max(self.seen.losses.count) };
        let txn = self.put_unchanged(Txn::new(), Key::Meta, json(&meta));
        let txn = self.put_unchanged(txn, Key::Losses, json(&losses));
        self.write(txn.delete(self.coord.keys().ladder())).await
    }

    /// Adds a write that rests on the key being as it was when the store was looked at.
    fn put_unchanged(&self, txn: Txn, key: Key, value: bytes::Bytes) -> Txn {
        let key = self.coord.keys().key(key);
        let guard = match self.listing.entries.get(&key) {
            Some(kv) => Guard::UnchangedSince(key.clone(), kv.mod_revision),
            None => Guard::Absent(key.clone()),
        };
        txn.when(guard).put(key, value)
    }

    async fn write(&self, txn: Txn) -> Result<u64, Failure> {
        let outcome = self.coord.txn(txn).await.map_err(|e| unreachable(&self.etcd, &e))?;
        if outcome.succeeded {
            return Ok(outcome.revision.unsigned_abs());
        }
        let text = format!("somebody else writes to the store at {}", self.etcd);
        Err(Failure::new(REFUSED, text).hint("stop every process and do it again: it goes on"))
    }
}

fn unreachable(etcd: &str, error: &CoordError) -> Failure {
    Failure::new(UNREACHABLE, format!("no answer from etcd at {etcd}: {error}"))
        .hint("is it running there? Done again, it goes on from where it was")
}

fn json<T: Serialize>(value: &T) -> bytes::Bytes {
    serde_json::to_vec(value).expect("strings and numbers always encode").into()
}
