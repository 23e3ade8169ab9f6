//! Requests and their answers, field for field those of etcd's v3 API that Marchland uses.

use crate::types::{KeyRange, KeyValue, Revision};
use serde::{Deserialize, Serialize};

/// Everything a client can ask for in one call. Writes also serve as records of a log: applied
/// again in the same order they give the same state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Read keys.
    Range(RangeRequest),
    /// Write one key.
    Put(PutRequest),
    /// Delete keys.
    DeleteRange(DeleteRangeRequest),
    /// Compare, then read and write, as one.
    Txn(TxnRequest),
    /// Forget history before `revision`.
    Compact {
        /// Oldest revision that stays readable.
        revision: Revision,
    },
    /// Create a lease of `ttl_s` seconds; `id` 0 lets the machine choose.
    LeaseGrant {
        /// Wanted id, or 0.
        id: i64,
        /// Time to live in seconds; raised to the configured minimum.
        ttl_s: i64,
    },
    /// End a lease and delete its keys.
    LeaseRevoke {
        /// The lease.
        id: i64,
    },
    /// Renew a lease to its full time to live.
    LeaseKeepAlive {
        /// The lease.
        id: i64,
    },
    /// Ask how long a lease still lives.
    LeaseTimeToLive {
        /// The lease.
        id: i64,
        /// Also list the keys attached to it.
        keys: bool,
    },
    /// List all leases.
    Leases,
}

/// An answer with the revision at which it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The store's revision after the request.
    pub revision: Revision,
    /// The answer itself.
    pub body: Response,
}

/// The answer to a [`Request`], variant by variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To `Range`.
    Range(RangeResponse),
    /// To `Put`.
    Put(PutResponse),
    /// To `DeleteRange`.
    DeleteRange(DeleteRangeResponse),
    /// To `Txn`.
    Txn(TxnResponse),
    /// To `Compact`.
    Compact,
    /// To `LeaseGrant`.
    LeaseGrant {
        /// The lease's id.
        id: i64,
        /// The granted time to live in seconds.
        ttl_s: i64,
    },
    /// To `LeaseRevoke`.
    LeaseRevoke,
    /// To `LeaseKeepAlive`; `ttl_s` is 0 if there is no such lease.
    LeaseKeepAlive {
        /// The lease that was named.
        id: i64,
        /// Seconds it lives from now, or 0.
        ttl_s: i64,
    },
    /// To `LeaseTimeToLive`; `ttl_s` is -1 if there is no such lease.
    LeaseTimeToLive {
        /// The lease that was named.
        id: i64,
        /// Seconds left, or -1.
        ttl_s: i64,
        /// Seconds it was granted with.
        granted_ttl_s: i64,
        /// Attached keys, if asked for.
        keys: Vec<Vec<u8>>,
    },
    /// To `Leases`: ids, the one that expires first comes first.
    Leases(Vec<i64>),
}

/// What a range is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortTarget {
    /// The key.
    #[default]
    Key,
    /// The number of changes.
    Version,
    /// The create revision.
    Create,
    /// The mod revision.
    Mod,
    /// The value.
    Value,
}

/// How a range is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortOrder {
    /// By key; ascending if the target is another one.
    #[default]
    None,
    /// Smallest first.
    Ascend,
    /// Largest first.
    Descend,
}

/// Read keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRequest {
    /// Which keys.
    pub range: KeyRange,
    /// At most this many; 0 or less means all.
    pub limit: i64,
    /// As of this revision; 0 or less means now.
    pub revision: Revision,
    /// Order.
    pub sort_order: SortOrder,
    /// Ordered by.
    pub sort_target: SortTarget,
    /// Leave the values out.
    pub keys_only: bool,
    /// Return the count alone.
    pub count_only: bool,
    /// Leave out older changes; 0 = no bound. The three below likewise.
    pub min_mod_revision: Revision,
    /// Leave out younger changes.
    pub max_mod_revision: Revision,
    /// Leave out older creations.
    pub min_create_revision: Revision,
    /// Leave out younger creations.
    pub max_create_revision: Revision,
}

/// Answer to a [`RangeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeResponse {
    /// The keys.
    pub kvs: Vec<KeyValue>,
    /// Whether the limit cut some off.
    pub more: bool,
    /// How many keys the range holds, limit and revision bounds apart.
    pub count: i64,
}

/// Write one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutRequest {
    /// The key.
    pub key: Vec<u8>,
    /// Its new value.
    pub value: Vec<u8>,
    /// The lease it shall die with; 0 = none.
    pub lease: i64,
    /// Return what was there before.
    pub prev_kv: bool,
    /// Keep the old value.
    pub ignore_value: bool,
    /// Keep the old lease.
    pub ignore_lease: bool,
}

/// Answer to a [`PutRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutResponse {
    /// What was there before, if asked for.
    pub prev_kv: Option<KeyValue>,
}

/// Delete keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteRangeRequest {
    /// Which keys.
    pub range: KeyRange,
    /// Return what was there before.
    pub prev_kv: bool,
}

/// Answer to a [`DeleteRangeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRangeResponse {
    /// How many keys were deleted.
    pub deleted: i64,
    /// What was there before, if asked for.
    pub prev_kvs: Vec<KeyValue>,
}

/// The outcome that a comparison asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareResult {
    /// Stored = given.
    #[default]
    Equal,
    /// Stored > given.
    Greater,
    /// Stored < given.
    Less,
    /// Stored != given.
    NotEqual,
}

/// What a comparison looks at, with the value it is compared to. A missing key counts as all
/// zero, except that a comparison of its value always fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareTarget {
    /// The number of changes.
    Version(i64),
    /// The create revision; 0 = the key does not exist.
    Create(Revision),
    /// The mod revision.
    Mod(Revision),
    /// The value.
    Value(Vec<u8>),
    /// The lease.
    Lease(i64),
}

/// One condition of a transaction: it must hold for every key of the range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// Which keys.
    pub range: KeyRange,
    /// Looked at, and compared to.
    pub target: CompareTarget,
    /// Wanted outcome.
    pub result: CompareResult,
}

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpRequest {
    /// Read keys.
    Range(RangeRequest),
    /// Write one key.
    Put(PutRequest),
    /// Delete keys.
    DeleteRange(DeleteRangeRequest),
    /// A transaction inside the transaction.
    Txn(TxnRequest),
}

/// Compare, then read and write, as one. All comparisons, those of nested transactions too, see
/// the state before the first operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxnRequest {
    /// Conditions; all must hold.
    pub compare: Vec<Compare>,
    /// Done if they hold.
    pub success: Vec<OpRequest>,
    /// Done if not.
    pub failure: Vec<OpRequest>,
}

/// Answer to one [`OpRequest`], with the revision it was given at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpResponse {
    /// To `Range`.
    Range(Revision, RangeResponse),
    /// To `Put`.
    Put(Revision, PutResponse),
    /// To `DeleteRange`.
    DeleteRange(Revision, DeleteRangeResponse),
    /// To `Txn`. Like etcd's, it names no revision of its own.
    Txn(TxnResponse),
}

/// Answer to a [`TxnRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnResponse {
    /// Whether the conditions held.
    pub succeeded: bool,
    /// One answer per operation of the branch that was taken.
    pub responses: Vec<OpResponse>,
}
