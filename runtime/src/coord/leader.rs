//! Leadership: one key under a lease, and transactions that only its holder can make.
//!
//! The term is the create revision of the leader key; terms never repeat and always grow. Safety
//! rests on the comparison in etcd alone; the local deadline only keeps a leader that cannot know
//! better from acting on old belief.

use super::client::{CoordClient, LeaseId, Revision};
use super::error::{CallError, CoordError};
use super::lease::{LeaseProof, chain, keep_alive};
use super::member::{as_text, first_proto};
use super::txn::{Guard, Txn, TxnOutcome};
use super::watcher::{Watcher, WatcherOptions};
use etcd_client::proto::PbTxnOpResponse;
use etcd_client::{Compare, CompareOp, TxnOp};
use marchland_common::order::{Incarnation, NodeName, Term};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

/// What a leader says of itself in its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderInfo {
    /// Its name.
    #[serde(with = "as_text")]
    pub name: NodeName,
    /// Which of its lives.
    pub incarnation: Incarnation,
    /// Where an operator reaches it.
    #[serde(default)]
    pub operator_addr: String,
    /// The protocol of the link plane that it speaks, and with it the cluster.
    #[serde(default = "first_proto")]
    pub proto: u32,
}

/// Who leads, as read from the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBy {
    /// What the leader says of itself.
    pub info: LeaderInfo,
    /// Its term.
    pub term: Term,
}

/// Why a write under the leader key was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLeader {
    /// The lease has not been proven for too long, so nothing was sent.
    #[error("the leadership of term {0} has not been proven for too long")]
    Unproven(Term),
    /// The leader key is another one, or gone. This leadership is over.
    #[error("the leadership of term {0} is over")]
    Deposed(Term),
}

/// Why a guarded transaction was not applied.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// We do not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// etcd could not be asked; the transaction may have been applied.
    #[error(transparent)]
    Coord(#[from] CoordError),
}

/// What a single attempt to lead led to.
pub enum CampaignOutcome {
    /// We lead.
    Won(Leadership),
    /// Another one does.
    Held(HeldBy),
}

/// The right to write as the leader, for as long as it lasts. Dropped without `resign` it runs out
/// with its lease.
pub struct Leadership {
    client: CoordClient,
    key: String,
    created_at: Revision,
    lease: LeaseId,
    proof: Arc<watch::Sender<LeaseProof>>,
    renewing: AbortHandle,
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Leadership {
    /// The term.
    #[must_use]
    pub fn term(&self) -> Term {
        term(self.created_at)
    }

    /// Whether we may write now, as far as we know ourselves.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.proof.borrow().holds(Instant::now())
    }

    /// What is known about the lease of the leader key.
    #[must_use]
    pub fn proof(&self) -> LeaseProof {
        *self.proof.borrow()
    }

    /// Resolves when the leadership is certainly over: its lease is gone, or it was seen deposed.
    pub async fn lost(&self) {
        let mut proof = self.proof.subscribe();
        // The sender lives in this value: the wait cannot end otherwise.
        let _ = proof.wait_for(|p| p.gone).await;
    }

    /// Applies a transaction if and only if we still lead when etcd applies it. Its own guards
    /// failing is an outcome, not an error. etcd allows 127 guards, writes or reads in it.
    pub async fn guarded_txn(&self, txn: Txn) -> Result<TxnOutcome, LeaderError> {
        if !self.may_write() {
            return Err(NotLeader::Unproven(self.term()).into());
        }
        let leads = Compare::create_revision(&*self.key, CompareOp::Equal, self.created_at);
        let guarded = etcd_client::Txn::new().when([leads]).and_then([TxnOp::txn(txn.into_etcd())]);
        let answer = self.client.raw_txn(guarded).await?;
        if !answer.succeeded {
            self.proof.send_modify(|p| p.gone = true);
            return Err(NotLeader::Deposed(self.term()).into());
        }
        let revision = answer.header.map_or(0, |header| header.revision);
        let inner = answer.responses.into_iter().next().and_then(|op| op.response);
        let Some(PbTxnOpResponse::ResponseTxn(inner)) = inner else {
            let missing = CallError::Incomplete("inner transaction");
            return Err(CoordError::Txn(missing).into());
        };
        // Only the outer answer's header says at which revision.
        Ok(TxnOutcome { revision, ..TxnOutcome::of(inner)? })
    }

    /// Gives the leadership back, waiting at most `within`. After an error it runs out by itself.
    pub async fn resign(self, within: Duration) -> Result<(), CoordError> {
        self.renewing.abort();
        let revoked = timeout(within, self.client.revoke(self.lease)).await;
        let late = CoordError::Revoke(CallError::Deadline(within));
        revoked.unwrap_or(Err(late))
    }
}

fn term(created_at: Revision) -> Term {
    Term(created_at.max(0).unsigned_abs())
}

/// Tries once to lead.
pub async fn try_campaign(
    client: &CoordClient,
    info: &LeaderInfo,
    ttl: Duration,
) -> Result<CampaignOutcome, CoordError> {
    let asked_at = Instant::now();
    let (lease, ttl) = client.grant(ttl).await?;
    let outcome = campaign_with(client, info, lease, LeaseProof::granted(asked_at, ttl)).await;
    if !matches!(outcome, Ok(CampaignOutcome::Won(_)))
        && let Err(error) = client.revoke(lease).await
    {
        tracing::debug!(error = %chain(&error), "an unused lease is left to run out");
    }
    outcome
}

async fn campaign_with(
    client: &CoordClient,
    info: &LeaderInfo,
    lease: LeaseId,
    proof: LeaseProof,
) -> Result<CampaignOutcome, CoordError> {
    let key = client.keys().leader();
    let value = serde_json::to_vec(info).expect("strings and numbers always encode");
    let txn =
        Txn::new().when(Guard::Absent(key.clone())).put_leased(&key, value, lease).read_else(&key);
    let outcome = client.txn(txn).await?;
    let created_at = match outcome.read.into_iter().next().flatten() {
        _ if outcome.succeeded => outcome.revision,
        // Gone between the comparison and now cannot be: both are one transaction.
        None => return Err(CoordError::Txn(CallError::Incomplete("leader key"))),
        Some(kv) => {
            let term = term(kv.create_revision);
            return Ok(CampaignOutcome::Held(HeldBy { info: kv.json(&key)?, term }));
        }
    };
    let proof = Arc::new(watch::Sender::new(proof));
    let (client, published) = (client.clone(), Arc::clone(&proof));
    let renew = client.clone();
    let renewing = tokio::spawn(async move { keep_alive(&renew, lease, &published).await });
    let renewing = renewing.abort_handle();
    let leadership = Leadership { client, key, created_at, lease, proof, renewing };
    Ok(CampaignOutcome::Won(leadership))
}

/// Waits until we lead. Goes on through every failure of etcd; drop the future to give up.
pub async fn campaign(client: &CoordClient, info: &LeaderInfo, ttl: Duration) -> Leadership {
    let mut leader = Watcher::spawn(
        client.clone(),
        client.keys().leader(),
        WatcherOptions { relist_every: Duration::from_secs(5), ..WatcherOptions::default() },
    );
    let mut backoff = client.backoff(Duration::from_millis(50), Duration::from_secs(1));
    loop {
        match try_campaign(client, info, ttl).await {
            Ok(CampaignOutcome::Won(leadership)) => return leadership,
            Ok(CampaignOutcome::Held(by)) => {
                tracing::debug!(leader = %by.info.name, term = %by.term, "waiting to lead");
                backoff.reset();
                vacant(&mut leader).await;
            }
            Err(error) => tracing::warn!(error = %chain(&error), "cannot campaign now"),
        }
        sleep(backoff.next_delay()).await;
    }
}

/// Waits until the leader key is seen gone.
async fn vacant(leader: &mut Watcher) {
    let mut fresh = leader.subscribe();
    while let Ok(change) = fresh.changed().await {
        if change.snapshot.is_empty() {
            return;
        }
    }
}
