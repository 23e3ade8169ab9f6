//! The connection to etcd: every call with a deadline, errors with the name of the operation.
//!
//! HTTP/2 keep-alive is always on, else a server that is stopped or cut off would leave streams
//! waiting silently. etcd in turn drops a connection on which more than two such pings arrive
//! without any answer of its own between them (its `--grpc-keepalive-min-time` is 5 s); watches and
//! leases therefore talk at least every two seconds.

use super::backoff::{Backoff, retry};
use super::error::{CallError, CoordError};
use super::keys::Keys;
use super::txn::{Txn, TxnOutcome};
use crate::telemetry::Counters;
use bytes::Bytes;
use etcd_client::proto::{PbKeyValue, PbTxnResponse};
use etcd_client::{Client, ConnectOptions, GetOptions, KvClient, WatchOptions, WatchStream};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// A position in etcd's history.
pub type Revision = i64;

/// Identifies a lease.
pub type LeaseId = i64;

/// Keys that one call of a listing asks for. A space's layout has up to 64 KiB.
const LIST_PAGE_KEYS: i64 = 256;

/// The largest answer that is read: a page of the largest values, with room.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How to talk to etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordOptions {
    /// The cluster whose keys are meant.
    pub cluster: String,
    /// Deadline of every single call.
    pub request_timeout: Duration,
    /// How long `connect` waits for a first answer.
    pub connect_timeout: Duration,
    /// HTTP/2 ping after this long without traffic, and how long its answer may take.
    pub keep_alive: (Duration, Duration),
    /// Seed of all jitter.
    pub seed: u64,
}

impl CoordOptions {
    /// The usual settings for a cluster.
    #[must_use]
    pub fn new(cluster: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            request_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            keep_alive: (Duration::from_secs(1), Duration::from_secs(1)),
            seed: u64::from(std::process::id()),
        }
    }
}

/// A value with the revisions that say which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The value.
    pub value: Bytes,
    /// Revision of the key's last creation.
    pub create_revision: Revision,
    /// Revision of its last change.
    pub mod_revision: Revision,
    /// The lease that it dies with; 0 = none.
    pub lease: LeaseId,
}

impl From<PbKeyValue> for KeyValue {
    fn from(kv: PbKeyValue) -> Self {
        let PbKeyValue { value, create_revision, mod_revision, lease, .. } = kv;
        Self { value: value.into(), create_revision, mod_revision, lease }
    }
}

impl KeyValue {
    /// Reads the value as JSON; `key` is for the error.
    pub fn json<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, CoordError> {
        serde_json::from_slice(&self.value)
            .map_err(|source| CoordError::Malformed { key: key.to_owned(), source })
    }
}

/// All keys under a prefix at one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The revision.
    pub revision: Revision,
    /// The keys in order.
    pub entries: super::Entries,
    /// Keys that are not UTF-8 and were left out; none of ours is like that.
    pub foreign: u64,
}

/// A connection to etcd. Clones share it.
#[derive(Clone)]
pub struct CoordClient(Arc<Inner>);

struct Inner {
    client: Client,
    keys: Keys,
    options: CoordOptions,
    counters: Counters,
}

impl CoordClient {
    /// Connects and waits for a first answer, at most `connect_timeout`.
    pub async fn connect<E: AsRef<str>>(
        endpoints: &[E],
        options: CoordOptions,
    ) -> Result<Self, CoordError> {
        let keys = Keys::new(&options.cluster)?;
        let endpoints: Vec<&str> = endpoints.iter().map(AsRef::as_ref).collect();
        let failed = |source| CoordError::Connect { endpoints: endpoints.join(", "), source };
        let (interval, patience) = options.keep_alive;
        let connect = ConnectOptions::new()
            .with_keep_alive(interval, patience)
            .with_keep_alive_while_idle(true)
            .with_connect_timeout(options.request_timeout)
            .with_require_leader(true);
        let connecting = Client::connect(&endpoints, Some(connect));
        let client = connecting.await.map_err(|e| failed(e.into()))?;
        let deadline = Instant::now() + options.connect_timeout;
        let counters = Counters::default();
        let this = Self(Arc::new(Inner { client, keys, options, counters }));
        let backoff = this.backoff(Duration::from_millis(50), Duration::from_secs(1));
        let ask = || async {
            let patience = this.0.options.request_timeout.min(this.0.options.connect_timeout);
            let mut maintenance = this.0.client.maintenance_client();
            let answer = timeout(patience, maintenance.status()).await;
            let answer = answer.map_err(|_| CallError::Deadline(patience));
            answer.and_then(|a| a.map_err(Into::into)).map_err(failed)
        };
        retry(backoff, deadline, ask).await?;
        Ok(this)
    }

    /// The keys of the cluster.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.0.keys
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &CoordOptions {
        &self.0.options
    }

    /// How often each periodic job began, under `etcd_<job>`; a process counts its other things
    /// beside them.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// Counts that a periodic job began.
    pub(super) fn begun(&self, job: &str) {
        self.0.counters.counter(&format!("etcd_{job}")).add(1);
    }

    /// Delays drawn from this connection's seed.
    #[must_use]
    pub fn backoff(&self, first: Duration, longest: Duration) -> Backoff {
        Backoff::new(self.0.options.seed, first, longest)
    }

    /// Reads one key.
    pub async fn get(&self, key: &str) -> Result<Option<KeyValue>, CoordError> {
        let get = || async { self.kv().get(key, None).await };
        let got = self.call(Repeat::Always, get).await;
        let got = got.map_err(|source| CoordError::Get { key: key.to_owned(), source })?;
        Ok(got.0.kvs.into_iter().next().map(Into::into))
    }

    /// Lists all keys under a prefix, as of one revision.
    pub async fn list(&self, prefix: &str) -> Result<Listing, CoordError> {
        let failed = |source| CoordError::List { prefix: prefix.to_owned(), source };
        let mut listing = Listing::default();
        let mut from = prefix.as_bytes().to_vec();
        loop {
            let page = GetOptions::new()
                .with_range(prefix_end(prefix))
                .with_limit(LIST_PAGE_KEYS)
                .with_revision(listing.revision);
            let get = || async { self.kv().get(&*from, Some(page.clone())).await };
            let got = self.call(Repeat::Always, get).await.map_err(failed)?.0;
            if listing.revision == 0 {
                let header = got.header.ok_or_else(|| failed(CallError::Incomplete("header")))?;
                listing.revision = header.revision;
            }
            let next = got.kvs.last().filter(|_| got.more).map(|last| last.key.clone());
            for mut kv in got.kvs {
                match String::from_utf8(std::mem::take(&mut kv.key)) {
                    Ok(key) => drop(listing.entries.insert(key, kv.into())),
                    Err(_) => listing.foreign += 1,
                }
            }
            let Some(last) = next else { return Ok(listing) };
            from = last;
            from.push(0);
        }
    }

    /// Applies a transaction. After an error other than a refusal it may have been applied.
    pub async fn txn(&self, txn: Txn) -> Result<TxnOutcome, CoordError> {
        TxnOutcome::of(self.raw_txn(txn.into_etcd()).await?)
    }

    pub(super) async fn raw_txn(&self, txn: etcd_client::Txn) -> Result<PbTxnResponse, CoordError> {
        let apply = || async { self.kv().txn(txn.clone()).await };
        let answer = self.call(Repeat::OnlyUnsent, apply).await;
        answer.map(|a| a.0).map_err(CoordError::Txn)
    }

    /// Creates a lease. Returns its id and the time to live that was granted.
    pub async fn grant(&self, ttl: Duration) -> Result<(LeaseId, Duration), CoordError> {
        let seconds = i64::try_from(ttl.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
        // A grant whose answer is lost runs out by itself.
        let grant = || async { self.lease_client().grant(seconds, None).await };
        let granted = self.call(Repeat::Always, grant).await.map_err(CoordError::Grant)?;
        let ttl = Duration::from_secs(granted.ttl().max(0).unsigned_abs());
        Ok((granted.id(), ttl))
    }

    /// Ends a lease with its keys. A lease that is gone already is a success.
    pub async fn revoke(&self, lease: LeaseId) -> Result<(), CoordError> {
        let revoke = || async { self.lease_client().revoke(lease).await };
        match self.call(Repeat::Always, revoke).await {
            Err(error) if !error.is_lease_not_found() => Err(CoordError::Revoke(error)),
            _ => Ok(()),
        }
    }

    fn kv(&self) -> KvClient {
        self.0.client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    pub(super) fn lease_client(&self) -> etcd_client::LeaseClient {
        self.0.client.lease_client()
    }

    /// Opens a watch of all keys under a prefix from a revision on.
    pub(super) async fn watch(
        &self,
        prefix: &str,
        from: Revision,
    ) -> Result<WatchStream, CoordError> {
        let options = WatchOptions::new().with_prefix().with_start_revision(from);
        let open = || async {
            let watch = self.0.client.watch_client();
            let mut watch = watch.max_decoding_message_size(ANSWER_BYTES_MAX);
            watch.watch(prefix, Some(options.clone())).await
        };
        let opened = self.call(Repeat::Always, open).await;
        opened.map_err(|source| CoordError::Watch { prefix: prefix.to_owned(), source })
    }

    /// One call under the deadline. Inside it, a failed attempt is repeated where that is safe:
    /// with several endpoints, one of which is down, every other attempt fails at once.
    async fn call<T, F: Future<Output = Result<T, etcd_client::Error>>>(
        &self,
        repeat: Repeat,
        mut call: impl FnMut() -> F,
    ) -> Result<T, CallError> {
        let patience = self.0.options.request_timeout;
        let deadline = Instant::now() + patience;
        let mut backoff = self.backoff(Duration::from_millis(20), Duration::from_millis(200));
        loop {
            let error = match timeout_at(deadline, call()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => CallError::Etcd(error),
                Err(_) => return Err(CallError::Deadline(patience)),
            };
            let safe = error.never_sent() || (repeat == Repeat::Always && error.is_transient());
            let again = Instant::now() + backoff.next_delay();
            if !safe || again >= deadline {
                return Err(error);
            }
            sleep_until(again).await;
        }
    }
}

/// When a failed call may be made again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// Twice is as good as once.
    Always,
    /// Only if the first attempt certainly never reached a server.
    OnlyUnsent,
}

/// The first key after all keys that begin with `prefix`, which is ASCII and not empty.
fn prefix_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
