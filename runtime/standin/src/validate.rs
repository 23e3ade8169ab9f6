//! What etcd refuses before it looks at its state.

use crate::error::EtcdError;
use crate::request::{OpRequest, PutRequest, Request, TxnRequest};
use crate::types::KeyRange;
use std::collections::BTreeSet;

/// Operations that a transaction may have per branch, nested ones included in its own count.
pub const TXN_OPS_MAX: usize = 128;

/// Checks a request's form.
pub(crate) fn check(request: &Request) -> Result<(), EtcdError> {
    match request {
        Request::Range(r) => check_key(&r.range.key),
        Request::Put(p) => check_put(p),
        Request::DeleteRange(d) => check_key(&d.range.key),
        Request::Txn(txn) => {
            check_txn(txn, TXN_OPS_MAX)?;
            written_keys(&txn.success)?;
            written_keys(&txn.failure)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_key(key: &[u8]) -> Result<(), EtcdError> {
    if key.is_empty() { Err(EtcdError::EmptyKey) } else { Ok(()) }
}

fn check_put(put: &PutRequest) -> Result<(), EtcdError> {
    check_key(&put.key)?;
    if put.ignore_value && !put.value.is_empty() {
        return Err(EtcdError::ValueProvided);
    }
    if put.ignore_lease && put.lease != 0 {
        return Err(EtcdError::LeaseProvided);
    }
    Ok(())
}

fn check_txn(txn: &TxnRequest, ops_max: usize) -> Result<(), EtcdError> {
    let ops = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
    let left = ops_max.checked_sub(ops).ok_or(EtcdError::TooManyOps)?;
    for compare in &txn.compare {
        check_key(&compare.range.key)?;
    }
    for op in txn.success.iter().chain(&txn.failure) {
        match op {
            OpRequest::Range(r) => check_key(&r.range.key)?,
            OpRequest::Put(p) => check_put(p)?,
            OpRequest::DeleteRange(d) => check_key(&d.range.key)?,
            OpRequest::Txn(nested) => check_txn(nested, left)?,
        }
    }
    Ok(())
}

type Written<'a> = (BTreeSet<&'a [u8]>, Vec<&'a KeyRange>);

/// The keys that one branch may put and the ranges it may delete, or a refusal if one of its puts
/// meets another put or a deletion. The two branches of a nested transaction exclude each other,
/// so they may put the same key.
fn written_keys(ops: &[OpRequest]) -> Result<Written<'_>, EtcdError> {
    let mut deletes: Vec<&KeyRange> = Vec::new();
    for op in ops {
        if let OpRequest::DeleteRange(d) = op {
            deletes.push(&d.range);
        }
    }
    let mut puts = BTreeSet::new();
    for op in ops {
        let OpRequest::Txn(nested) = op else { continue };
        let (then_puts, then_deletes) = written_keys(&nested.success)?;
        let (else_puts, else_deletes) = written_keys(&nested.failure)?;
        for key in &then_puts {
            claim(&mut puts, &deletes, key)?;
        }
        for key in else_puts.difference(&then_puts) {
            claim(&mut puts, &deletes, key)?;
        }
        deletes.extend(then_deletes);
        deletes.extend(else_deletes);
    }
    for op in ops {
        if let OpRequest::Put(p) = op {
            claim(&mut puts, &deletes, &p.key)?;
        }
    }
    Ok((puts, deletes))
}

fn claim<'a>(
    puts: &mut BTreeSet<&'a [u8]>,
    deletes: &[&KeyRange],
    key: &'a [u8],
) -> Result<(), EtcdError> {
    if deletes.iter().any(|range| range.contains(key)) || !puts.insert(key) {
        return Err(EtcdError::DuplicateKey);
    }
    Ok(())
}
