//! What can go wrong between us and etcd. A variant names the operation; its source says how.

use std::time::Duration;
use tonic::{Code, ConnectError};

/// How a single call ended without its answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody answered in time. Whether the request was applied is unknown.
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    /// etcd refused, or the connection failed (then whether it was applied is unknown).
    #[error(transparent)]
    Etcd(#[from] etcd_client::Error),
    /// The answer lacks a part that etcd always sends.
    #[error("the answer has no {0}")]
    Incomplete(&'static str),
}

impl CallError {
    /// Whether the same call may succeed later without a change on our side.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Deadline(_) => true,
            Self::Incomplete(_) => false,
            Self::Etcd(error) => match error {
                etcd_client::Error::GRpcStatus(status) => !matches!(
                    status.code(),
                    Code::InvalidArgument
                        | Code::NotFound
                        | Code::AlreadyExists
                        | Code::PermissionDenied
                        | Code::FailedPrecondition
                        | Code::OutOfRange
                        | Code::Unimplemented
                        | Code::Unauthenticated
                ),
                etcd_client::Error::InvalidArgs(_)
                | etcd_client::Error::InvalidUri(_)
                | etcd_client::Error::InvalidMetadataValue(_)
                | etcd_client::Error::Utf8Error(_) => false,
                _ => true,
            },
        }
    }

    /// Whether the request certainly did not reach any server: no connection was made for it.
    #[must_use]
    pub fn never_sent(&self) -> bool {
        let status = self.status().map(|s| s as &dyn std::error::Error);
        std::iter::successors(status, |e| e.source())
            .any(<dyn std::error::Error>::is::<ConnectError>)
    }

    fn status(&self) -> Option<&tonic::Status> {
        match self {
            Self::Etcd(etcd_client::Error::GRpcStatus(status)) => Some(status),
            _ => None,
        }
    }

    /// Whether etcd says that the asked revision is gone.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.status().is_some_and(|s| {
            s.code() == Code::OutOfRange && s.message().contains("revision has been compacted")
        })
    }

    /// Whether etcd says that there is no such lease.
    #[must_use]
    pub fn is_lease_not_found(&self) -> bool {
        match self {
            Self::Etcd(etcd_client::Error::LeaseKeepAliveError(text)) => text.contains("not found"),
            _ => self.status().is_some_and(|s| {
                s.code() == Code::NotFound && s.message().contains("lease not found")
            }),
        }
    }
}

/// Why something that needs etcd did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CoordError {
    /// Nobody answers at the given addresses.
    #[error("no etcd answers at {endpoints}; start one there or name another address")]
    Connect {
        /// The addresses that were tried.
        endpoints: String,
        /// The last attempt.
        #[source]
        source: CallError,
    },
    /// The cluster's name cannot be part of a key.
    #[error(transparent)]
    ClusterName(#[from] super::BadClusterName),
    /// A key could not be read.
    #[error("cannot read {key} from etcd")]
    Get {
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// The keys under a prefix could not be listed.
    #[error("cannot list {prefix} in etcd")]
    List {
        /// The prefix.
        prefix: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// A transaction failed. Unless etcd refused it, it may have been applied.
    #[error("a transaction in etcd failed")]
    Txn(#[source] CallError),
    /// No lease was granted.
    #[error("cannot get a lease from etcd")]
    Grant(#[source] CallError),
    /// A lease could not be renewed.
    #[error("cannot renew a lease in etcd")]
    Renew(#[source] CallError),
    /// A lease could not be given back; it runs out by itself.
    #[error("cannot give a lease back to etcd")]
    Revoke(#[source] CallError),
    /// A watch could not be opened or ended.
    #[error("the watch of {prefix} in etcd failed")]
    Watch {
        /// The prefix.
        prefix: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// A key holds something that this program cannot read.
    #[error("{key} in etcd holds something unexpected")]
    Malformed {
        /// The key.
        key: String,
        /// Why it cannot be read.
        #[source]
        source: serde_json::Error,
    },
    /// Others changed the same keys again and again between our read and our write.
    #[error("{key} in etcd changed under each of {attempts} attempts to write it")]
    Contended {
        /// The key.
        key: String,
        /// How often it was tried.
        attempts: u32,
    },
}

impl CoordError {
    /// The failed call, if it was one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Connect { source, .. }
            | Self::Get { source, .. }
            | Self::List { source, .. }
            | Self::Watch { source, .. }
            | Self::Txn(source)
            | Self::Grant(source)
            | Self::Renew(source)
            | Self::Revoke(source) => Some(source),
            Self::ClusterName(_) | Self::Malformed { .. } | Self::Contended { .. } => None,
        }
    }

    /// Whether the same operation may succeed later without a change on our side.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Contended { .. } => true,
            // A compaction came between two pages; a new listing begins at a newer revision.
            Self::List { source, .. } if source.is_compacted() => true,
            other => other.call().is_some_and(CallError::is_transient),
        }
    }
}
