//! The machine's single door: a request with the time it arrived at, an answer, and the records
//! that would rebuild what it changed.

use crate::error::EtcdError;
use crate::faults::Faults;
use crate::lease::{LeaseId, Leases};
use crate::mvcc::Mvcc;
use crate::request::{Reply, Request, Response};
use crate::txn::{Write, delete_one, range};
use crate::types::Revision;
use crate::validate;

/// What a machine is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Shortest time to live that is granted, in seconds. etcd's is 1.5 election timeouts rounded
    /// up: 2 with its defaults.
    pub ttl_min_s: i64,
    /// Revisions kept readable before the machine compacts by itself, so that a long run does not
    /// only grow. 0 turns that off, as in etcd.
    pub history_revisions_max: i64,
    /// Bytes of kept versions above which the machine compacts down to the living keys, if they
    /// are less than half of that.
    pub history_bytes_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { ttl_min_s: 2, history_revisions_max: 1_000, history_bytes_max: 16 << 20 }
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handled {
    /// It was answered.
    Answered(Result<Reply, EtcdError>),
    /// It was neither applied nor answered: the machine is stalled on purpose.
    Stalled,
}

/// What became of a request, and what to remember of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub handled: Handled,
    /// Changes in the order they were applied: expired leases, the request itself, a compaction.
    /// [`Standin::replay`] of the same records gives the same state.
    pub log: Vec<Request>,
}

/// The state machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standin {
    config: Config,
    mvcc: Mvcc,
    leases: Leases,
    faults: Faults,
}

impl Standin {
    /// An empty store at revision 1.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    pub(crate) fn from_parts(config: Config, mvcc: Mvcc, leases: Leases) -> Self {
        Self { config, mvcc, leases, faults: Faults::default() }
    }

    /// The newest revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.mvcc.revision
    }

    /// The oldest readable revision, or -1 before the first compaction.
    #[must_use]
    pub fn compacted(&self) -> Revision {
        self.mvcc.compacted
    }

    /// Keys that live now.
    #[must_use]
    pub fn key_count(&self) -> usize {
        let everything = crate::KeyRange::prefix(Vec::new());
        self.mvcc.live(&everything, self.mvcc.revision).count()
    }

    /// Which promises are broken at the moment.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Breaks promises, or keeps them again.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// When the next lease runs out, on the clock of `now_ms`.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.leases.next_deadline_ms()
    }

    pub(crate) fn mvcc(&self) -> &Mvcc {
        &self.mvcc
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Applies one request that arrived at `now_ms`, a monotonic clock in milliseconds with any
    /// origin. Leases that ran out by then are gone before the request is looked at.
    pub fn handle(&mut self, now_ms: u64, request: Request) -> Outcome {
        if self.faults.stall {
            return Outcome { handled: Handled::Stalled, log: Vec::new() };
        }
        let mut log = self.expire(now_ms);
        let answer = self.answer(now_ms, request, &mut log);
        if !log.is_empty() {
            log.extend(self.compact_by_itself());
        }
        Outcome { handled: Handled::Answered(answer), log }
    }

    /// Revokes the leases that ran out by `now_ms`; returns the records of that.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Request> {
        if self.faults.stall {
            return Vec::new();
        }
        let due = self.leases.due(now_ms);
        for id in &due {
            self.revoke(*id);
        }
        due.into_iter().map(|id| Request::LeaseRevoke { id }).collect()
    }

    /// Applies a record of a log again. Leases get their full time from `now_ms`. A record that
    /// does not apply is an error: the log does not belong to this state.
    pub fn replay(&mut self, now_ms: u64, record: Request) -> Result<(), EtcdError> {
        self.answer(now_ms, record, &mut Vec::new()).map(|_| ())
    }

    /// Gives every lease its full time from `now_ms`, as etcd does after a restart.
    pub fn renew_leases(&mut self, now_ms: u64) {
        self.leases.renew_all(now_ms);
    }

    fn answer(
        &mut self,
        now_ms: u64,
        request: Request,
        log: &mut Vec<Request>,
    ) -> Result<Reply, EtcdError> {
        validate::check(&request)?;
        let record = is_write(&request).then(|| request.clone());
        let before = self.mvcc.revision;
        let body = match request {
            Request::Range(r) => Response::Range(range(&self.mvcc, &r, self.mvcc.revision)?),
            Request::Put(p) => Response::Put(self.write(|w| w.put(p))?),
            Request::DeleteRange(d) => {
                Response::DeleteRange(self.write(|w| Ok(w.delete_range(&d)))?)
            }
            Request::Txn(txn) => Response::Txn(self.write(|w| w.txn(txn))?),
            Request::Compact { revision } => {
                self.mvcc.compact(revision)?;
                log.extend(record);
                return Ok(self.reply(Response::Compact));
            }
            other => return self.answer_lease(now_ms, other, log),
        };
        if self.mvcc.revision != before {
            log.extend(record);
        }
        Ok(self.reply(body))
    }

    fn answer_lease(
        &mut self,
        now_ms: u64,
        request: Request,
        log: &mut Vec<Request>,
    ) -> Result<Reply, EtcdError> {
        let body = match request {
            Request::LeaseGrant { id, ttl_s } => {
                let ttl_s = ttl_s.max(self.config.ttl_min_s);
                // Recorded as asked, with id 0 if the machine chooses: a replay then chooses the
                // same one, and the count of chosen ids survives, so that none is given twice.
                let record = Request::LeaseGrant { id, ttl_s };
                let id = self.leases.grant(now_ms, id, ttl_s)?;
                log.push(record);
                Response::LeaseGrant { id, ttl_s }
            }
            Request::LeaseRevoke { id } => {
                if !self.revoke(id) {
                    return Err(EtcdError::LeaseNotFound);
                }
                log.push(Request::LeaseRevoke { id });
                Response::LeaseRevoke
            }
            Request::LeaseKeepAlive { id } => {
                if self.faults.refuse_keep_alives {
                    return Err(EtcdError::NoLeader);
                }
                Response::LeaseKeepAlive { id, ttl_s: self.leases.renew(now_ms, id) }
            }
            Request::LeaseTimeToLive { id, keys } => self.time_to_live(now_ms, id, keys),
            _ => Response::Leases(self.lease_ids()),
        };
        Ok(self.reply(body))
    }

    fn reply(&self, body: Response) -> Reply {
        Reply { revision: self.mvcc.revision, body }
    }

    fn write<T>(
        &mut self,
        ops: impl FnOnce(&mut Write<'_>) -> Result<T, EtcdError>,
    ) -> Result<T, EtcdError> {
        let mut write = Write::begin(&mut self.mvcc, &mut self.leases);
        let result = ops(&mut write);
        write.finish();
        result
    }

    /// Ends a lease with its keys, all in one revision. False if there is no such lease.
    fn revoke(&mut self, id: LeaseId) -> bool {
        let Some(lease) = self.leases.live.remove(&id) else { return false };
        let mut write = Write::begin(&mut self.mvcc, &mut self.leases);
        for key in &lease.keys {
            write.delete_range(&delete_one(key));
        }
        write.finish();
        true
    }

    fn time_to_live(&self, now_ms: u64, id: LeaseId, with_keys: bool) -> Response {
        let Some(lease) = self.leases.live.get(&id) else {
            return Response::LeaseTimeToLive { id, ttl_s: -1, granted_ttl_s: 0, keys: Vec::new() };
        };
        let left_ms = lease.deadline_ms.saturating_sub(now_ms);
        Response::LeaseTimeToLive {
            id,
            ttl_s: (left_ms / 1000).cast_signed(),
            granted_ttl_s: lease.ttl_s,
            keys: lease.keys.iter().filter(|_| with_keys).cloned().collect(),
        }
    }

    fn lease_ids(&self) -> Vec<LeaseId> {
        let mut ids: Vec<_> = self.leases.live.iter().map(|(id, l)| (l.deadline_ms, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    fn compact_by_itself(&mut self) -> Option<Request> {
        let keep = self.config.history_revisions_max;
        if keep <= 0 {
            return None;
        }
        let oldest = self.mvcc.compacted.max(0);
        // Only when twice as much is there: a compaction walks every key.
        let revision = if self.mvcc.revision - oldest > 2 * keep {
            self.mvcc.revision - keep
        } else if self.mvcc.bytes > self.config.history_bytes_max
            && self.mvcc.bytes > 2 * self.mvcc.living_bytes()
        {
            self.mvcc.revision
        } else {
            return None;
        };
        self.mvcc.compact(revision).ok()?;
        Some(Request::Compact { revision })
    }
}

fn is_write(request: &Request) -> bool {
    matches!(
        request,
        Request::Put(_) | Request::DeleteRange(_) | Request::Txn(_) | Request::Compact { .. }
    )
}
