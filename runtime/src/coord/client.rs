//! The connection to etcd: every call with a deadline, errors with the name of the operation.
//!
//! HTTP/2 keep-alive is always on, else a server that is stopped or cut off would leave streams
//! waiting silently. etcd in turn drops a connection on which more than two such pings arrive
//! without any answer of its own between them (its `--grpc-keepalive-min-time` is 5 s); watches and
//! leases therefore talk at least every two seconds.

use super::backoff::{Backoff, retry};
use super::error::{CallError, CoordError};
use super::keys::Keys;
use super::txn::{Txn, TxnOutcome, found};
use bytes::Bytes;
use etcd_client::{Client, ConnectOptions, GetOptions, WatchOptions, WatchStream};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

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

impl From<&etcd_client::KeyValue> for KeyValue {
    fn from(kv: &etcd_client::KeyValue) -> Self {
        Self {
            value: Bytes::copy_from_slice(kv.value()),
            create_revision: kv.create_revision(),
            mod_revision: kv.mod_revision(),
            lease: kv.lease(),
        }
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
        let this = Self(Arc::new(Inner { client, keys, options }));
        let backoff = this.backoff(Duration::from_millis(50), Duration::from_secs(1));
        retry(backoff, deadline, || async {
            this.call(this.0.client.maintenance_client().status()).await.map_err(failed)
        })
        .await?;
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

    /// Delays drawn from this connection's seed.
    #[must_use]
    pub fn backoff(&self, first: Duration, longest: Duration) -> Backoff {
        Backoff::new(self.0.options.seed, first, longest)
    }

    /// Reads one key.
    pub async fn get(&self, key: &str) -> Result<Option<KeyValue>, CoordError> {
        let mut kv = self.0.client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        let got = self.call(kv.get(key, None)).await;
        let got = got.map_err(|source| CoordError::Get { key: key.to_owned(), source })?;
        Ok(got.kvs().first().map(KeyValue::from))
    }

    /// Lists all keys under a prefix, as of one revision.
    pub async fn list(&self, prefix: &str) -> Result<Listing, CoordError> {
        let failed = |source| CoordError::List { prefix: prefix.to_owned(), source };
        let mut kv = self.0.client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        let mut listing = Listing::default();
        let mut from = prefix.as_bytes().to_vec();
        loop {
            let page = GetOptions::new()
                .with_range(prefix_end(prefix))
                .with_limit(LIST_PAGE_KEYS)
                .with_revision(listing.revision);
            let got = self.call(kv.get(from.clone(), Some(page))).await.map_err(failed)?;
            if listing.revision == 0 {
                let header = got.header().ok_or_else(|| failed(CallError::Incomplete("header")))?;
                listing.revision = header.revision();
            }
            for kv in got.kvs() {
                match kv.key_str() {
                    Ok(key) => {
                        listing.entries.insert(key.to_owned(), kv.into());
                    }
                    Err(_) => listing.foreign += 1,
                }
            }
            let Some(last) = got.kvs().last().filter(|_| got.more()) else { return Ok(listing) };
            from = last.key().to_vec();
            from.push(0);
        }
    }

    /// Applies a transaction. After an error other than a refusal it may have been applied.
    pub async fn txn(&self, txn: Txn) -> Result<TxnOutcome, CoordError> {
        let answer = self.raw_txn(txn.into_etcd()).await?;
        let header = answer.header().ok_or(CoordError::Txn(CallError::Incomplete("header")))?;
        let (succeeded, revision) = (answer.succeeded(), header.revision());
        let read = if succeeded { Vec::new() } else { found(answer.op_responses()) };
        Ok(TxnOutcome { succeeded, revision, read })
    }

    pub(super) async fn raw_txn(
        &self,
        txn: etcd_client::Txn,
    ) -> Result<etcd_client::TxnResponse, CoordError> {
        let mut kv = self.0.client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        self.call(kv.txn(txn)).await.map_err(CoordError::Txn)
    }

    /// Creates a lease. Returns its id and the time to live that was granted.
    pub async fn grant(&self, ttl: Duration) -> Result<(LeaseId, Duration), CoordError> {
        let seconds = i64::try_from(ttl.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
        let mut lease = self.0.client.lease_client();
        let granted = self.call(lease.grant(seconds, None)).await.map_err(CoordError::Grant)?;
        let ttl = Duration::from_secs(granted.ttl().max(0).unsigned_abs());
        Ok((granted.id(), ttl))
    }

    /// Ends a lease with its keys. A lease that is gone already is a success.
    pub async fn revoke(&self, lease: LeaseId) -> Result<(), CoordError> {
        match self.call(self.0.client.lease_client().revoke(lease)).await {
            Err(error) if !error.is_lease_not_found() => Err(CoordError::Revoke(error)),
            _ => Ok(()),
        }
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
        let mut watch = self.0.client.watch_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        let opened = self.call(watch.watch(prefix, Some(options))).await;
        opened.map_err(|source| CoordError::Watch { prefix: prefix.to_owned(), source })
    }

    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, CallError> {
        let patience = self.0.options.request_timeout;
        timeout(patience, call)
            .await
            .map_err(|_| CallError::Deadline(patience))?
            .map_err(Into::into)
    }
}

/// The first key after all keys that begin with `prefix`, which is ASCII and not empty.
fn prefix_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
