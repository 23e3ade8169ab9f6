//! What the machine refuses, in etcd's words: clients match on the code and on the text.

/// A refusal. The text of each is exactly etcd's; `grpc_code` is the code it travels with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// A request without a key.
    #[error("etcdserver: key is not provided")]
    EmptyKey,
    /// A put that keeps the old value or lease of a key that does not exist.
    #[error("etcdserver: key not found")]
    KeyNotFound,
    /// A put that both gives a value and keeps the old one.
    #[error("etcdserver: value is provided")]
    ValueProvided,
    /// A put that both names a lease and keeps the old one.
    #[error("etcdserver: lease is provided")]
    LeaseProvided,
    /// A transaction with more operations than allowed.
    #[error("etcdserver: too many operations in txn request")]
    TooManyOps,
    /// A transaction that writes one key twice.
    #[error("etcdserver: duplicate key given in txn request")]
    DuplicateKey,
    /// The asked revision is older than the last compaction.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted,
    /// The asked revision does not exist yet.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision,
    /// No such lease.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// A grant with the id of a live lease.
    #[error("etcdserver: lease already exists")]
    LeaseExists,
    /// A grant beyond the longest time to live.
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
    /// A request over the size limit.
    #[error("etcdserver: request is too large")]
    RequestTooLarge,
    /// Nobody serves writes or renewals now; only by deliberate misbehaviour.
    #[error("etcdserver: no leader")]
    NoLeader,
}

impl EtcdError {
    /// The numeric gRPC status code that etcd sends this refusal with.
    #[must_use]
    pub const fn grpc_code(self) -> i32 {
        match self {
            Self::EmptyKey
            | Self::KeyNotFound
            | Self::ValueProvided
            | Self::LeaseProvided
            | Self::TooManyOps
            | Self::DuplicateKey
            | Self::RequestTooLarge => 3,
            Self::LeaseNotFound => 5,
            Self::LeaseExists => 9,
            Self::Compacted | Self::FutureRevision | Self::LeaseTtlTooLarge => 11,
            Self::NoLeader => 14,
        }
    }
}
