//! A pure state machine of the part of etcd's v3 API that Marchland uses.
//!
//! Two programs run it: the stand-in server (an embedded default where no etcd is installed) and
//! the simulator, where it may also misbehave on purpose. Revisions, error texts and error codes
//! are etcd's own wherever a client can see them.
//!
//! Invariants:
//! - The same sequence of `(now_ms, request)` gives the same answers and the same state.
//! - Revisions only grow; every write transaction that changes a key takes exactly one.
//! - Time is an input. Only leases read it; the store of keys never does.
//! - No request of a client can panic the machine.
//!
//! What it is not: it has no members, no users, no alarms and no quota.

mod engine;
mod error;
mod faults;
mod lease;
mod mvcc;
mod request;
mod snapshot;
mod txn;
mod types;
mod validate;
mod watch;

pub use engine::{Config, Handled, Outcome, Standin};
pub use error::EtcdError;
pub use faults::Faults;
pub use lease::{LEASE_TTL_MAX_S, LeaseId};
pub use request::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, DeleteRangeResponse, OpRequest,
    OpResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, Reply, Request, Response,
    SortOrder, SortTarget, TxnRequest, TxnResponse,
};
pub use snapshot::SnapshotError;
pub use types::{Event, EventKind, KeyRange, KeyValue, Revision};
pub use validate::TXN_OPS_MAX;
pub use watch::{WatchCursor, WatchPoll};
