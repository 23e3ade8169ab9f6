//! One write transaction: reads and writes that share a revision, all or nothing.
//!
//! Invariant: everything that can be refused is refused before the first write, so an applied
//! transaction never has to be undone.

use crate::error::EtcdError;
use crate::lease::Leases;
use crate::mvcc::{Mvcc, Version, key_value};
use crate::request::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, DeleteRangeResponse, OpRequest,
    OpResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, SortOrder, SortTarget,
    TxnRequest, TxnResponse,
};
use crate::types::{KeyRange, KeyValue, Revision};
use std::cmp::Ordering;

pub(crate) struct Write<'a> {
    mvcc: &'a mut Mvcc,
    leases: &'a mut Leases,
    changed: bool,
}

impl<'a> Write<'a> {
    pub fn begin(mvcc: &'a mut Mvcc, leases: &'a mut Leases) -> Self {
        Self { mvcc, leases, changed: false }
    }

    /// Ends the transaction; it takes a revision only if something changed.
    pub fn finish(self) {
        if self.changed {
            self.mvcc.revision += 1;
        }
    }

    /// The revision that reads of this transaction see.
    fn visible(&self) -> Revision {
        self.mvcc.revision + Revision::from(self.changed)
    }

    fn next(&self) -> Revision {
        self.mvcc.revision + 1
    }

    pub fn put(&mut self, put: PutRequest) -> Result<PutResponse, EtcdError> {
        check_put_state(self.mvcc, self.leases, &put)?;
        let old = self.mvcc.get(&put.key, self.visible());
        let (old_value, old_lease) = match &old {
            Some(kv) => (kv.value.as_slice(), kv.lease),
            None => (&[][..], 0),
        };
        let value = if put.ignore_value { old_value.to_vec() } else { put.value };
        let lease = if put.ignore_lease { old_lease } else { put.lease };
        self.leases.attach(&put.key, old_lease, lease);
        self.mvcc.put(self.next(), &put.key, value, lease);
        self.changed = true;
        Ok(PutResponse { prev_kv: old.filter(|_| put.prev_kv) })
    }

    pub fn delete_range(&mut self, delete: &DeleteRangeRequest) -> DeleteRangeResponse {
        let mut gone: Vec<KeyValue> = Vec::new();
        for (key, version) in self.mvcc.live(&delete.range, self.visible()) {
            gone.extend(key_value(key, version));
        }
        for kv in &gone {
            self.leases.attach(&kv.key, kv.lease, 0);
            self.mvcc.delete(self.next(), &kv.key);
            self.changed = true;
        }
        let deleted = gone.len() as i64;
        if !delete.prev_kv {
            gone.clear();
        }
        DeleteRangeResponse { deleted, prev_kvs: gone }
    }

    pub fn txn(&mut self, txn: TxnRequest) -> Result<TxnResponse, EtcdError> {
        let decided = Decided::of(self.mvcc, txn);
        decided.check(self.mvcc, self.leases)?;
        Ok(self.run(decided))
    }

    fn run(&mut self, decided: Decided) -> TxnResponse {
        let Decided { succeeded, ops } = decided;
        let responses = ops.into_iter().map(|op| self.run_op(op)).collect();
        TxnResponse { succeeded, responses }
    }

    fn run_op(&mut self, op: DecidedOp) -> OpResponse {
        match op {
            DecidedOp::Range(r) => {
                let body = range(self.mvcc, &r, self.visible()).unwrap_or_default();
                OpResponse::Range(self.visible(), body)
            }
            DecidedOp::Put(p) => {
                let body = self.put(p).unwrap_or_default();
                OpResponse::Put(self.visible(), body)
            }
            DecidedOp::DeleteRange(d) => {
                let body = self.delete_range(&d);
                OpResponse::DeleteRange(self.visible(), body)
            }
            DecidedOp::Txn(nested) => OpResponse::Txn(self.run(nested)),
        }
    }
}

/// A transaction after its comparisons: only the branch that is taken.
struct Decided {
    succeeded: bool,
    ops: Vec<DecidedOp>,
}

enum DecidedOp {
    Range(RangeRequest),
    Put(PutRequest),
    DeleteRange(DeleteRangeRequest),
    Txn(Decided),
}

impl Decided {
    fn of(mvcc: &Mvcc, txn: TxnRequest) -> Self {
        let succeeded = txn.compare.iter().all(|c| holds(mvcc, c));
        let branch = if succeeded { txn.success } else { txn.failure };
        let ops = branch
            .into_iter()
            .map(|op| match op {
                OpRequest::Range(r) => DecidedOp::Range(r),
                OpRequest::Put(p) => DecidedOp::Put(p),
                OpRequest::DeleteRange(d) => DecidedOp::DeleteRange(d),
                OpRequest::Txn(nested) => DecidedOp::Txn(Self::of(mvcc, nested)),
            })
            .collect();
        Self { succeeded, ops }
    }

    fn check(&self, mvcc: &Mvcc, leases: &Leases) -> Result<(), EtcdError> {
        for op in &self.ops {
            match op {
                DecidedOp::Range(r) => mvcc.check_readable(r.revision, mvcc.revision)?,
                DecidedOp::Put(p) => check_put_state(mvcc, leases, p)?,
                DecidedOp::DeleteRange(_) => {}
                DecidedOp::Txn(nested) => nested.check(mvcc, leases)?,
            }
        }
        Ok(())
    }
}

/// What a put needs of the state: its lease, and the old key if it keeps a part of it.
fn check_put_state(mvcc: &Mvcc, leases: &Leases, put: &PutRequest) -> Result<(), EtcdError> {
    if put.lease != 0 && !leases.live.contains_key(&put.lease) {
        return Err(EtcdError::LeaseNotFound);
    }
    let keeps = put.ignore_value || put.ignore_lease;
    if keeps && mvcc.get(&put.key, Revision::MAX).is_none() {
        return Err(EtcdError::KeyNotFound);
    }
    Ok(())
}

fn holds(mvcc: &Mvcc, compare: &Compare) -> bool {
    let mut any = false;
    for (key, version) in mvcc.live(&compare.range, mvcc.revision) {
        any = true;
        if !holds_for(compare, key_value(key, version).as_ref()) {
            return false;
        }
    }
    any || holds_for(compare, None)
}

fn holds_for(compare: &Compare, kv: Option<&KeyValue>) -> bool {
    let number = |field: fn(&KeyValue) -> i64, given: &i64| kv.map_or(0, field).cmp(given);
    let order = match &compare.target {
        CompareTarget::Version(given) => number(|kv| kv.version, given),
        CompareTarget::Create(given) => number(|kv| kv.create_revision, given),
        CompareTarget::Mod(given) => number(|kv| kv.mod_revision, given),
        CompareTarget::Lease(given) => number(|kv| kv.lease, given),
        CompareTarget::Value(given) => match kv {
            Some(kv) => kv.value.as_slice().cmp(given),
            None => return false,
        },
    };
    match compare.result {
        CompareResult::Equal => order == Ordering::Equal,
        CompareResult::Greater => order == Ordering::Greater,
        CompareResult::Less => order == Ordering::Less,
        CompareResult::NotEqual => order != Ordering::Equal,
    }
}

/// Answers a range; `newest` is the newest revision the reader may see.
pub(crate) fn range(
    mvcc: &Mvcc,
    request: &RangeRequest,
    newest: Revision,
) -> Result<RangeResponse, EtcdError> {
    mvcc.check_readable(request.revision, newest)?;
    let at = if request.revision > 0 { request.revision } else { newest };
    if request.count_only {
        let count = mvcc.live(&request.range, at).count() as i64;
        return Ok(RangeResponse { kvs: Vec::new(), more: false, count });
    }
    let mut kvs = Vec::new();
    let mut count = 0;
    for (key, version) in mvcc.live(&request.range, at) {
        count += 1;
        if wanted(request, version) {
            kvs.extend(key_value(key, version));
        }
    }
    sort(&mut kvs, request);
    let limit = usize::try_from(request.limit).unwrap_or(0);
    let more = limit > 0 && kvs.len() > limit;
    if more {
        kvs.truncate(limit);
    }
    if request.keys_only {
        kvs.iter_mut().for_each(|kv| kv.value = Vec::new());
    }
    Ok(RangeResponse { kvs, more, count })
}

fn wanted(request: &RangeRequest, version: &Version) -> bool {
    let within = |value: Revision, min: Revision, max: Revision| {
        (min == 0 || value >= min) && (max == 0 || value <= max)
    };
    within(version.mod_revision, request.min_mod_revision, request.max_mod_revision)
        && within(version.create_revision, request.min_create_revision, request.max_create_revision)
}

fn sort(kvs: &mut [KeyValue], request: &RangeRequest) {
    match request.sort_target {
        SortTarget::Key => {}
        SortTarget::Version => kvs.sort_by_key(|kv| kv.version),
        SortTarget::Create => kvs.sort_by_key(|kv| kv.create_revision),
        SortTarget::Mod => kvs.sort_by_key(|kv| kv.mod_revision),
        SortTarget::Value => kvs.sort_by(|a, b| a.value.cmp(&b.value)),
    }
    if request.sort_order == SortOrder::Descend {
        kvs.reverse();
    }
}

/// The deletion of one key.
pub(crate) fn delete_one(key: &[u8]) -> DeleteRangeRequest {
    DeleteRangeRequest { range: KeyRange::one(key), prev_kv: false }
}
