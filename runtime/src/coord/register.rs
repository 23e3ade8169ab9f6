//! Registering a process under its name.
//!
//! A registration lives on a lease, but does not die with it: see the module `supervise`. A name
//! that is taken is an answer with its holder, for the caller to judge.

use super::checks::SelfCheck;
use super::client::{CoordClient, LeaseId};
use super::error::{CallError, CoordError};
use super::lease::{LeaseProof, chain};
use super::member::{Member, MemberInfo};
use super::supervise::{RegState, Supervisor};
use super::txn::{Guard, Txn};
use marchland_common::order::{Incarnation, Node, NodeName};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

/// How a process registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterOptions {
    /// The lease's time to live. etcd grants at least 2 s.
    pub ttl: Duration,
    /// How often the process looks whether its key is there. Below a third of the time to live, so
    /// that a key deleted by hand is back before anyone would have missed a renewal.
    pub self_check: Duration,
    /// How long a registration is tried while etcd fails.
    pub deadline: Duration,
}

impl Default for RegisterOptions {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(5),
            self_check: Duration::from_millis(1250),
            deadline: Duration::from_secs(10),
        }
    }
}

/// Why a process is not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Another process holds the name.
    #[error("the name is taken by {0}")]
    NameTaken(Box<Member>),
    /// etcd failed for longer than the deadline.
    #[error(transparent)]
    Coord(#[from] CoordError),
}

/// A lease that a registration is to be written under.
pub(super) struct Granted {
    pub lease: LeaseId,
    pub proof: LeaseProof,
}

impl Granted {
    pub async fn ask(client: &CoordClient, ttl: Duration) -> Result<Self, CoordError> {
        let asked_at = Instant::now();
        let (lease, ttl) = client.grant(ttl).await?;
        Ok(Self { lease, proof: LeaseProof::granted(asked_at, ttl) })
    }

    /// Gives an unused lease back, if that is quick; else it runs out.
    pub async fn give_back(&self, client: &CoordClient) {
        if let Err(error) = client.revoke(self.lease).await {
            tracing::debug!(error = %chain(&error), "an unused lease is left to run out");
        }
    }
}

/// What a single attempt to take a name found.
pub(super) enum Attempt {
    Ours(Incarnation),
    Taken(Box<Member>),
}

/// Writes the member key if the guards hold, which must imply that nobody holds the name. An
/// earlier attempt whose answer was lost is recognised by its lease.
pub(super) async fn attempt(
    client: &CoordClient,
    info: &MemberInfo,
    granted: &Granted,
    txn: Txn,
) -> Result<Attempt, CoordError> {
    let key = client.keys().member(info.name);
    let txn = txn.put_leased(&key, info.to_value(None), granted.lease).read_else(&key);
    let outcome = client.txn(txn).await?;
    if outcome.succeeded {
        return Ok(Attempt::Ours(Incarnation(outcome.revision.max(0).unsigned_abs())));
    }
    match outcome.read.into_iter().next().flatten() {
        None => Err(CoordError::Contended { key, attempts: 1 }),
        Some(kv) => {
            let member = Member::parse(&key, &kv)?;
            let ours = member.lease == granted.lease;
            Ok(if ours { Attempt::Ours(member.incarnation) } else { Attempt::Taken(member.into()) })
        }
    }
}

/// Registers a process, if nobody holds its name. Failures of etcd are retried until the deadline.
pub async fn register(
    client: &CoordClient,
    info: MemberInfo,
    options: RegisterOptions,
) -> Result<Registration, RegisterError> {
    let deadline = Instant::now() + options.deadline;
    let mut backoff = client.backoff(Duration::from_millis(50), Duration::from_secs(1));
    let mut kept = None;
    loop {
        let error = match try_register(client, &info, options.ttl, &mut kept).await {
            Ok(Ok((incarnation, granted))) => {
                return Ok(Registration::start(client, info, options, incarnation, granted));
            }
            Ok(Err(holder)) => return Err(RegisterError::NameTaken(holder)),
            Err(error) => error,
        };
        let delay = backoff.next_delay();
        if !may_retry(&error) || Instant::now() + delay >= deadline {
            return Err(error.into());
        }
        tracing::debug!(error = %chain(&error), "registering again");
        sleep(delay).await;
    }
}

/// One attempt. A lease is kept for the next one, because an attempt without an answer may have
/// used it; only one that is gone is not.
async fn try_register(
    client: &CoordClient,
    info: &MemberInfo,
    ttl: Duration,
    kept: &mut Option<Granted>,
) -> Result<Result<(Incarnation, Granted), Box<Member>>, CoordError> {
    let granted = match kept.take() {
        Some(granted) => granted,
        None => Granted::ask(client, ttl).await?,
    };
    let free = Txn::new().when(Guard::Absent(client.keys().member(info.name)));
    match attempt(client, info, &granted, free).await {
        Ok(Attempt::Ours(incarnation)) => Ok(Ok((incarnation, granted))),
        Ok(Attempt::Taken(holder)) => {
            granted.give_back(client).await;
            Ok(Err(holder))
        }
        Err(error) => {
            let gone = error.call().is_some_and(CallError::is_lease_not_found);
            *kept = Some(granted).filter(|_| !gone);
            Err(error)
        }
    }
}

pub(super) fn may_retry(error: &CoordError) -> bool {
    error.is_transient() || error.call().is_some_and(CallError::is_lease_not_found)
}

/// A process's place among the members. Dropped without `close` it runs out with its lease.
pub struct Registration {
    node: Node,
    state: watch::Receiver<RegState>,
    proof: watch::Receiver<LeaseProof>,
    lease: watch::Receiver<LeaseId>,
    info: watch::Sender<MemberInfo>,
    checks: SelfCheck,
    client: CoordClient,
    task: AbortHandle,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Registration {
    pub(super) fn start(
        client: &CoordClient,
        info: MemberInfo,
        options: RegisterOptions,
        incarnation: Incarnation,
        granted: Granted,
    ) -> Self {
        let node = Node { name: info.name, incarnation };
        let (publish_proof, proof) = watch::channel(granted.proof);
        let (publish_lease, lease) = watch::channel(granted.lease);
        let (publish_state, state) = watch::channel(RegState::Registered);
        let (info, desired) = watch::channel(info);
        let checks = SelfCheck::default();
        let supervisor = Supervisor {
            client: client.clone(),
            node,
            options,
            desired,
            state: publish_state,
            proof: publish_proof,
            lease: publish_lease,
            checks: checks.clone(),
        };
        let task = tokio::spawn(supervisor.run()).abort_handle();
        let client = client.clone();
        Self { node, state, proof, lease, info, checks, client, task }
    }

    /// Who we are: the name and the incarnation that was won.
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }

    /// Our name.
    #[must_use]
    pub fn name(&self) -> NodeName {
        self.node.name
    }

    /// The state and its changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<RegState> {
        self.state.clone()
    }

    /// What is known about the present lease.
    #[must_use]
    pub fn proof(&self) -> LeaseProof {
        *self.proof.borrow()
    }

    /// What is known about the lease, as it changes.
    #[must_use]
    pub fn proofs(&self) -> watch::Receiver<LeaseProof> {
        self.proof.clone()
    }

    /// The present lease, for keys that shall die with this registration's lease.
    #[must_use]
    pub fn lease(&self) -> LeaseId {
        *self.lease.borrow()
    }

    /// Changes what we say of ourselves. Written as soon as etcd can be reached; the latest wins.
    pub fn publish(&self, change: impl FnOnce(&mut MemberInfo)) {
        self.info.send_modify(change);
    }

    /// Asks for looks at our own key now, from threads that cannot wait as well, and tells what
    /// they found.
    #[must_use]
    pub fn checks(&self) -> SelfCheck {
        self.checks.clone()
    }

    /// Gives the name back, waiting at most `within`. After an error the name is free once the
    /// lease has run out.
    pub async fn close(self, within: Duration) -> Result<(), CoordError> {
        self.task.abort();
        let late = CoordError::Revoke(CallError::Deadline(within));
        timeout(within, self.give_up()).await.unwrap_or(Err(late))
    }

    async fn give_up(&self) -> Result<(), CoordError> {
        self.client.revoke(self.lease()).await?;
        // The task may have been about to register again under a lease that we do not know.
        let key = self.client.keys().member(self.node.name);
        let Some(kv) = self.client.get(&key).await? else { return Ok(()) };
        if Member::parse(&key, &kv)?.incarnation == self.node.incarnation {
            let unchanged = Guard::UnchangedSince(key.clone(), kv.mod_revision);
            self.client.txn(Txn::new().when(unchanged).delete(&key)).await?;
        }
        Ok(())
    }
}
