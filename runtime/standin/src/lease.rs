//! Leases: a time to live, the keys that die with it, and a deadline that renewals push out.
//!
//! Invariants: a key hangs on at most one lease; a lease past its deadline is gone for every
//! request, whether or not a timer has fired yet; a restart gives every lease its full time again,
//! as etcd does.

use crate::error::EtcdError;
use std::collections::{BTreeMap, BTreeSet};

/// Identifies a lease; never 0 for a live one.
pub type LeaseId = i64;

/// The longest time to live that etcd grants, in seconds.
pub const LEASE_TTL_MAX_S: i64 = 9_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub ttl_s: i64,
    pub deadline_ms: u64,
    pub keys: BTreeSet<Vec<u8>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leases {
    pub live: BTreeMap<LeaseId, Lease>,
    /// How many ids the machine has chosen itself.
    pub chosen: u64,
}

impl Leases {
    /// Creates a lease and returns its id. `id` 0: the machine chooses.
    pub fn grant(&mut self, now_ms: u64, id: LeaseId, ttl_s: i64) -> Result<LeaseId, EtcdError> {
        if ttl_s > LEASE_TTL_MAX_S {
            return Err(EtcdError::LeaseTtlTooLarge);
        }
        let id = if id == 0 { self.choose_id() } else { id };
        if self.live.contains_key(&id) {
            return Err(EtcdError::LeaseExists);
        }
        let deadline_ms = deadline(now_ms, ttl_s);
        self.live.insert(id, Lease { ttl_s, deadline_ms, keys: BTreeSet::new() });
        Ok(id)
    }

    /// Renews a lease; returns its time to live in seconds, 0 if there is no such lease.
    pub fn renew(&mut self, now_ms: u64, id: LeaseId) -> i64 {
        let Some(lease) = self.live.get_mut(&id) else { return 0 };
        lease.deadline_ms = deadline(now_ms, lease.ttl_s);
        lease.ttl_s
    }

    /// Gives every lease its full time from `now_ms`.
    pub fn renew_all(&mut self, now_ms: u64) {
        for lease in self.live.values_mut() {
            lease.deadline_ms = deadline(now_ms, lease.ttl_s);
        }
    }

    /// Leases whose deadline has come, in id order.
    pub fn due(&self, now_ms: u64) -> Vec<LeaseId> {
        self.live.iter().filter(|(_, l)| l.deadline_ms <= now_ms).map(|(id, _)| *id).collect()
    }

    /// When the next lease expires.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.live.values().map(|lease| lease.deadline_ms).min()
    }

    /// Moves `key` from the lease `old` to the lease `new`; 0 stands for none.
    pub fn attach(&mut self, key: &[u8], old: LeaseId, new: LeaseId) {
        if let Some(lease) = self.live.get_mut(&old) {
            lease.keys.remove(key);
        }
        if let Some(lease) = self.live.get_mut(&new) {
            lease.keys.insert(key.to_vec());
        }
    }

    fn choose_id(&mut self) -> LeaseId {
        loop {
            self.chosen += 1;
            let id = (mix(self.chosen) >> 1).cast_signed();
            if id != 0 && !self.live.contains_key(&id) {
                return id;
            }
        }
    }
}

fn deadline(now_ms: u64, ttl_s: i64) -> u64 {
    now_ms.saturating_add(ttl_s.max(0).unsigned_abs().saturating_mul(1000))
}

/// A bijection that spreads consecutive numbers (splitmix64), so that ids look like etcd's: a
/// client that mistakes one for a small number fails early.
const fn mix(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
