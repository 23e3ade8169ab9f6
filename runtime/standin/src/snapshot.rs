//! The whole state as bytes, so that a restart keeps revisions, history and leases.
//!
//! A snapshot is read back with suspicion: it comes from a disk. Whatever it holds, reading it
//! gives a consistent machine or an error.

use crate::engine::{Config, Standin};
use crate::lease::{Lease, Leases};
use crate::mvcc::{Mvcc, NEVER_COMPACTED, Version};
use crate::types::Revision;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const FORMAT: u32 = 1;

/// No counter of a real run comes near this; beyond it, adding one could overflow.
const COUNT_MAX: i64 = 1 << 60;

/// Why bytes are not a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// They do not decode.
    #[error("the snapshot does not decode")]
    Decode(#[source] postcard::Error),
    /// They were written by a version that uses another format.
    #[error("the snapshot has format {found}, this program reads format {FORMAT}")]
    Format {
        /// The format that was found.
        found: u32,
    },
    /// They decode, but contradict themselves.
    #[error("the snapshot contradicts itself: {0}")]
    Inconsistent(&'static str),
}

#[derive(Serialize, Deserialize)]
struct Body {
    revision: Revision,
    compacted: Revision,
    keys: Vec<(Vec<u8>, Vec<Version>)>,
    /// The order of changes: inside one revision it is the order of the transaction.
    history: Vec<(Revision, Vec<u8>)>,
    /// Id and time to live in seconds. What hangs on a lease follows from the keys.
    leases: Vec<(i64, i64)>,
    leases_chosen: u64,
}

impl Standin {
    /// The state as bytes: a format number, then the body.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let (mvcc, leases) = (self.mvcc(), self.leases());
        let body = Body {
            revision: mvcc.revision,
            compacted: mvcc.compacted,
            keys: mvcc.keys.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            history: mvcc.history.iter().cloned().collect(),
            leases: leases.live.iter().map(|(id, l)| (*id, l.ttl_s)).collect(),
            leases_chosen: leases.chosen,
        };
        postcard::to_stdvec(&(FORMAT, body)).expect("plain data of known length always encodes")
    }

    /// Rebuilds a machine from [`Standin::snapshot`]. Leases get their full time from `now_ms`.
    pub fn restore(config: Config, bytes: &[u8], now_ms: u64) -> Result<Self, SnapshotError> {
        let (found, rest) =
            postcard::take_from_bytes::<u32>(bytes).map_err(SnapshotError::Decode)?;
        if found != FORMAT {
            return Err(SnapshotError::Format { found });
        }
        let body: Body = postcard::from_bytes(rest).map_err(SnapshotError::Decode)?;
        let mut leases = Leases { live: BTreeMap::new(), chosen: body.leases_chosen };
        for (id, ttl_s) in &body.leases {
            leases.live.insert(*id, Lease { ttl_s: *ttl_s, deadline_ms: 0, keys: BTreeSet::new() });
        }
        leases.renew_all(now_ms);
        let mvcc = rebuild(body, &mut leases)?;
        Ok(Self::from_parts(config, mvcc, leases))
    }
}

fn rebuild(body: Body, leases: &mut Leases) -> Result<Mvcc, SnapshotError> {
    let inconsistent = |what| Err(SnapshotError::Inconsistent(what));
    if body.revision > COUNT_MAX || body.leases_chosen > COUNT_MAX.unsigned_abs() {
        return inconsistent("counters beyond what any run reaches");
    }
    if body.revision < 1 || body.compacted < NEVER_COMPACTED || body.compacted > body.revision {
        return inconsistent("revisions out of range");
    }
    let (mut keys, mut bytes) = (BTreeMap::new(), 0);
    let mut changes: Vec<(Revision, Vec<u8>)> = Vec::new();
    for (key, versions) in body.keys {
        let ascending = versions.windows(2).all(|w| w[0].mod_revision < w[1].mod_revision);
        let Some(last) = versions.last() else { return inconsistent("a key without versions") };
        let counted = versions.iter().all(|v| (0..COUNT_MAX).contains(&v.version));
        if key.is_empty() || !ascending || !counted || last.mod_revision > body.revision {
            return inconsistent("versions out of order");
        }
        if last.value.is_some() && last.lease != 0 {
            let Some(lease) = leases.live.get_mut(&last.lease) else {
                return inconsistent("a key on a lease that is not there");
            };
            lease.keys.insert(key.clone());
        }
        let kept = versions.iter().filter(|v| v.mod_revision >= body.compacted);
        changes.extend(kept.map(|v| (v.mod_revision, key.clone())));
        bytes += versions.iter().map(|v| v.bytes(&key)).sum::<usize>();
        keys.insert(key, versions);
    }
    changes.sort();
    let mut sorted = body.history.clone();
    sorted.sort();
    if sorted != changes || !body.history.is_sorted_by_key(|(at, _)| *at) {
        return inconsistent("a history that is not that of its keys");
    }
    let history = body.history.into();
    Ok(Mvcc { revision: body.revision, compacted: body.compacted, keys, history, bytes })
}
