//! Transactions in Marchland's own words: guards, then writes, else a look at what was in the way.

use super::client::{KeyValue, LeaseId, Revision};
use super::error::{CallError, CoordError};
use bytes::Bytes;
use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Compare, CompareOp, PutOptions, TxnOp};

/// A condition under which a transaction writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The key does not exist.
    Absent(String),
    /// The key was last created at this revision: it is the same one, whatever it holds.
    CreatedAt(String, Revision),
    /// The key was last changed at this revision: it holds what we read.
    UnchangedSince(String, Revision),
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Write a key.
    Put {
        /// The key.
        key: String,
        /// Its new value.
        value: Bytes,
        /// The lease that it dies with, if any.
        lease: Option<LeaseId>,
    },
    /// Delete a key.
    Delete {
        /// The key.
        key: String,
    },
}

/// Guards and the writes under them: all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    /// All must hold.
    pub guards: Vec<Guard>,
    /// Done if they hold. No key twice.
    pub then: Vec<Op>,
    /// Read if they do not hold.
    pub read_else: Vec<String>,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOutcome {
    /// Whether the guards held and the writes were applied.
    pub succeeded: bool,
    /// The store's revision afterwards; if something was written, that of the writes.
    pub revision: Revision,
    /// If the guards did not hold: the keys of `read_else`, in that order.
    pub read: Vec<Option<KeyValue>>,
}

impl Txn {
    /// An empty transaction.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a guard.
    #[must_use]
    pub fn when(mut self, guard: Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Adds a write without a lease.
    #[must_use]
    pub fn put(self, key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.then(Op::Put { key: key.into(), value: value.into(), lease: None })
    }

    /// Adds a write that dies with a lease.
    #[must_use]
    pub fn put_leased(
        self,
        key: impl Into<String>,
        value: impl Into<Bytes>,
        lease: LeaseId,
    ) -> Self {
        self.then(Op::Put { key: key.into(), value: value.into(), lease: Some(lease) })
    }

    /// Adds a deletion.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.then(Op::Delete { key: key.into() })
    }

    /// Adds a write.
    #[must_use]
    pub fn then(mut self, op: Op) -> Self {
        self.then.push(op);
        self
    }

    /// Adds a key to read if the guards do not hold.
    #[must_use]
    pub fn read_else(mut self, key: impl Into<String>) -> Self {
        self.read_else.push(key.into());
        self
    }

    /// The transaction as etcd takes it.
    pub(super) fn into_etcd(self) -> etcd_client::Txn {
        etcd_client::Txn::new()
            .when(self.guards.into_iter().map(compare).collect::<Vec<_>>())
            .and_then(self.then.into_iter().map(op).collect::<Vec<_>>())
            .or_else(self.read_else.into_iter().map(|k| TxnOp::get(k, None)).collect::<Vec<_>>())
    }
}

fn compare(guard: Guard) -> Compare {
    match guard {
        Guard::Absent(key) => Compare::create_revision(key, CompareOp::Equal, 0),
        Guard::CreatedAt(key, at) => Compare::create_revision(key, CompareOp::Equal, at),
        Guard::UnchangedSince(key, at) => Compare::mod_revision(key, CompareOp::Equal, at),
    }
}

fn op(op: Op) -> TxnOp {
    match op {
        Op::Put { key, value, lease } => {
            let options = lease.map(|lease| PutOptions::new().with_lease(lease));
            TxnOp::put(key, value, options)
        }
        Op::Delete { key } => TxnOp::delete(key, None),
    }
}

impl TxnOutcome {
    /// Reads etcd's answer to a transaction made by `Txn::into_etcd`.
    pub(super) fn of(answer: PbTxnResponse) -> Result<Self, CoordError> {
        let header = answer.header.ok_or(CoordError::Txn(CallError::Incomplete("header")))?;
        let mut read = Vec::new();
        for op in answer.responses {
            if let Some(PbTxnOpResponse::ResponseRange(range)) = op.response {
                read.push(range.kvs.into_iter().next().map(Into::into));
            }
        }
        Ok(Self { succeeded: answer.succeeded, revision: header.revision, read })
    }
}
