//! The task that keeps a registration true.
//!
//! ```text
//!             renewal fails, or half the lease passes
//!   Registered ------------------------------------> Unproven
//!      ^  ^  <------------- a renewal ----------------  |
//!      |  |                                             |
//!      |  +---- same incarnation, new lease ---- Lost <-+  lease or key gone
//!      |                                          |
//!      |                          tombstone there |---> Tombstoned
//!      |                        name is another's +---> Replaced
//! ```
//!
//! Invariants: the task ends only in `Tombstoned` or `Replaced`; a new registration never writes
//! over a key of another incarnation, and never behind a tombstone of its own.

use super::checks::SelfCheck;
use super::client::{CoordClient, LeaseId};
use super::error::CoordError;
use super::lease::{LeaseProof, chain, keep_alive};
use super::member::{Member, MemberInfo};
use super::register::{Granted, RegisterOptions};
use super::tombstone::Tombstone;
use super::txn::{Guard, Txn};
use marchland_common::order::Node;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// How soon a look at our own key is tried again while somebody waits for it.
const RETRY: Duration = Duration::from_millis(100);

/// How a registration was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// etcd says that the lease is gone.
    LeaseGone,
    /// The key was deleted although the lease lives.
    KeyGone,
    /// The key hangs on another lease than ours.
    OtherLease,
}

/// Where a registration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegState {
    /// The key is there and the lease is renewed.
    Registered,
    /// Renewals have failed since then. Not a death: ownership does not rest on the lease.
    Unproven {
        /// Since when.
        since: Instant,
    },
    /// The registration is gone and is being made again, under the same incarnation.
    Lost {
        /// How.
        reason: LossReason,
    },
    /// This life was given up by a verdict. Final.
    Tombstoned {
        /// What was written.
        stone: Tombstone,
    },
    /// The name belongs to another life now. Final.
    Replaced {
        /// Whose it is.
        holder: Box<Member>,
    },
}

impl RegState {
    /// Whether this life is over and the process must give up what it owns.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Tombstoned { .. } | Self::Replaced { .. })
    }
}

pub(super) struct Supervisor {
    pub client: CoordClient,
    pub node: Node,
    pub options: RegisterOptions,
    pub desired: watch::Receiver<MemberInfo>,
    pub state: watch::Sender<RegState>,
    pub proof: watch::Sender<LeaseProof>,
    pub lease: watch::Sender<LeaseId>,
    pub checks: SelfCheck,
}

/// Why the present registration ended.
enum End {
    Lost(LossReason),
    Final(RegState),
}

impl Supervisor {
    pub async fn run(self) {
        loop {
            let lease = *self.lease.borrow();
            let end = tokio::select! {
                _gone = keep_alive(&self.client, lease, &self.proof) => {
                    End::Lost(LossReason::LeaseGone)
                }
                end = self.self_check(lease) => end,
                never = self.write_changes(lease) => match never {},
                never = self.show_doubt() => match never {},
            };
            let last = match end {
                End::Final(state) => state,
                End::Lost(reason) => {
                    tracing::warn!(node = %self.node, ?reason, "registration lost");
                    self.state.send_replace(RegState::Lost { reason });
                    match self.register_again().await {
                        Ok(granted) => {
                            tracing::info!(node = %self.node, "registered again");
                            self.proof.send_replace(granted.proof);
                            self.lease.send_replace(granted.lease);
                            self.state.send_replace(RegState::Registered);
                            continue;
                        }
                        Err(state) => *state,
                    }
                }
            };
            tracing::error!(node = %self.node, state = ?last, "this life is over");
            self.state.send_replace(last);
            return;
        }
    }

    /// Moves between `Registered` and `Unproven` as the proof of the lease comes and goes.
    async fn show_doubt(&self) -> std::convert::Infallible {
        let mut proof = self.proof.subscribe();
        loop {
            let (now, known) = (Instant::now(), *proof.borrow_and_update());
            let doubt = known.unproven_since(now);
            self.report_doubt(doubt.is_some(), &known, now);
            self.state.send_if_modified(|state| {
                let next = match doubt {
                    Some(since) => RegState::Unproven { since },
                    None => RegState::Registered,
                };
                let differs = *state != next;
                *state = next;
                differs
            });
            let half = known.proven_at + known.ttl / 2;
            let due = if half > now { half } else { now + known.ttl };
            tokio::select! {
                changed = proof.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = sleep_until(due) => {}
            }
        }
    }

    /// Says once when doubt begins and once when it ends.
    fn report_doubt(&self, doubted: bool, known: &LeaseProof, now: Instant) {
        let was_doubted = matches!(*self.state.borrow(), RegState::Unproven { .. });
        match (was_doubted, doubted) {
            (false, true) => {
                let left = known.remaining(now);
                tracing::warn!(node = %self.node, ?left, "etcd does not renew our lease");
            }
            (true, false) => tracing::info!(node = %self.node, "our lease is renewed again"),
            _ => {}
        }
    }

    /// Looks now and then whether our key is there, ours, and on our lease.
    async fn self_check(&self, lease: LeaseId) -> End {
        let key = self.client.keys().member(self.node.name);
        loop {
            self.checks.next(self.options.self_check, RETRY).await;
            let number = self.checks.begin();
            self.client.begun("self_checks");
            let found = match self.client.get(&key).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::debug!(error = %chain(&error), "cannot look at our own key");
                    continue;
                }
            };
            let Some(kv) = found else { return End::Lost(LossReason::KeyGone) };
            match Member::parse(&key, &kv) {
                Ok(member) if member.incarnation != self.node.incarnation => {
                    return End::Final(RegState::Replaced { holder: Box::new(member) });
                }
                Ok(member) if member.lease != lease => return End::Lost(LossReason::OtherLease),
                Ok(_) => self.checks.prove(number),
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "our own key holds garbage");
                    return End::Lost(LossReason::KeyGone);
                }
            }
        }
    }

    /// Writes what we say of ourselves whenever it changes.
    async fn write_changes(&self, lease: LeaseId) -> std::convert::Infallible {
        let mut desired = self.desired.clone();
        let mut backoff = self.client.backoff(Duration::from_millis(50), Duration::from_secs(1));
        loop {
            if desired.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            loop {
                let info = desired.borrow_and_update().clone();
                match self.write_info(&info, lease).await {
                    Ok(()) => break,
                    Err(error) => tracing::debug!(error = %chain(&error), "cannot publish"),
                }
                sleep(backoff.next_delay()).await;
            }
            backoff.reset();
        }
    }

    /// Writes our info over our own key. If the key is not ours any more, the self-check ends this
    /// registration, and the next one carries the newest info anyway.
    async fn write_info(&self, info: &MemberInfo, lease: LeaseId) -> Result<(), CoordError> {
        let key = self.client.keys().member(self.node.name);
        let found = self.client.get(&key).await?;
        let member = found.map(|kv| Member::parse(&key, &kv)).transpose()?;
        let ours = |m: &Member| m.incarnation == self.node.incarnation && m.lease == lease;
        let Some(member) = member.filter(ours) else {
            self.checks.ask();
            return Ok(());
        };
        let at = member.mod_revision;
        let txn = self.guarded(Guard::UnchangedSince(key.clone(), at));
        let value = info.to_value(Some(self.node.incarnation));
        let outcome = self.client.txn(txn.put_leased(&key, value, lease)).await?;
        if outcome.succeeded { Ok(()) } else { Err(CoordError::Contended { key, attempts: 1 }) }
    }

    /// Registers the same incarnation under a new lease; ends only with success or a final state.
    async fn register_again(&self) -> Result<Granted, Box<RegState>> {
        let mut backoff = self.client.backoff(Duration::from_millis(50), Duration::from_secs(1));
        loop {
            match self.try_again().await {
                Ok(done) => return done,
                Err(error) => tracing::debug!(error = %chain(&error), "cannot register again"),
            }
            sleep(backoff.next_delay()).await;
        }
    }

    async fn try_again(&self) -> Result<Result<Granted, Box<RegState>>, CoordError> {
        let number = self.checks.begin();
        let granted = Granted::ask(&self.client, self.options.ttl).await?;
        let written = self.write_again(&granted).await;
        if !matches!(written, Ok(Ok(()))) {
            granted.give_back(&self.client).await;
        }
        Ok(written?.map(|()| {
            self.checks.prove(number);
            granted
        }))
    }

    /// One transaction: unless our tombstone is there, and unless another holds the name.
    async fn write_again(
        &self,
        granted: &Granted,
    ) -> Result<Result<(), Box<RegState>>, CoordError> {
        let (key, dead) = (
            self.client.keys().member(self.node.name),
            self.client.keys().dead_of(self.node.incarnation),
        );
        let value = self.desired.borrow().to_value(Some(self.node.incarnation));
        let mut free = Guard::Absent(key.clone());
        for _ in 0..2 {
            let txn = self
                .guarded(free)
                .put_leased(&key, value.clone(), granted.lease)
                .read_else(&dead)
                .read_else(&key);
            let outcome = self.client.txn(txn).await?;
            if outcome.succeeded {
                return Ok(Ok(()));
            }
            let [stone, holder] = <[_; 2]>::try_from(outcome.read).unwrap_or([None, None]);
            if let Some(kv) = stone {
                let stone = Tombstone::read(&kv);
                return Ok(Err(Box::new(RegState::Tombstoned { stone })));
            }
            let Some(kv) = holder else { break };
            match Member::parse(&key, &kv) {
                Ok(holder) if holder.incarnation != self.node.incarnation => {
                    return Ok(Err(Box::new(RegState::Replaced { holder: Box::new(holder) })));
                }
                // Ours under an old lease, or garbage that somebody wrote over it.
                _ => free = Guard::UnchangedSince(key.clone(), kv.mod_revision),
            }
        }
        Err(CoordError::Contended { key, attempts: 2 })
    }

    /// A transaction that a tombstone of this life forbids.
    fn guarded(&self, guard: Guard) -> Txn {
        let dead = self.client.keys().dead_of(self.node.incarnation);
        Txn::new().when(Guard::Absent(dead)).when(guard)
    }
}
