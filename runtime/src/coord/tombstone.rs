//! Giving up a life: a tombstone that no registration can come behind.
//!
//! Invariant: a tombstone and a (re-)registration of the same incarnation exclude each other,
//! each by one transaction that compares what the other writes. Exactly one wins.

use super::client::{CoordClient, KeyValue};
use super::error::CoordError;
use super::leader::{LeaderError, Leadership};
use super::member::Member;
use super::txn::{Guard, Txn, TxnOutcome};
use bytes::Bytes;
use marchland_common::order::Node;
use serde::{Deserialize, Serialize};

/// Attempts before a key that changes under each of them is given up.
const ATTEMPTS_MAX: u32 = 8;

/// Why a life was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Its stream ended and its address refuses.
    Dead,
    /// Nobody heard of it for too long.
    Silent,
    /// A new process took its name after its address had refused.
    Replaced,
}

/// What is written of a life that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence, in words.
    pub reason: String,
    /// Who wrote it.
    pub by: String,
}

impl Tombstone {
    pub(super) fn to_value(&self) -> Bytes {
        serde_json::to_vec(self).expect("strings always encode").into()
    }

    /// Reads a tombstone. One that cannot be read still is one.
    #[must_use]
    pub fn read(kv: &KeyValue) -> Self {
        serde_json::from_slice(&kv.value).unwrap_or_else(|error| Self {
            verdict: Verdict::Dead,
            reason: format!("the tombstone cannot be read: {error}"),
            by: String::new(),
        })
    }
}

/// What a tombstone asks of the registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TombstoneMode {
    /// Only if the life is not registered any more.
    IfGone,
    /// In any case: its registration is deleted in the same transaction.
    Evict,
}

/// What became of a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TombstoneOutcome {
    /// It stands now.
    Written,
    /// There was one already; it stays as it is.
    AlreadyThere(Tombstone),
    /// The life is registered, and the mode does not evict.
    StillRegistered(Box<Member>),
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum TombstoneError {
    /// The writer does not lead.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// etcd could not be asked.
    #[error(transparent)]
    Coord(#[from] CoordError),
}

/// Gives up one life of a process. With a leadership the write is guarded by it.
pub async fn tombstone(
    client: &CoordClient,
    leadership: Option<&Leadership>,
    node: Node,
    stone: &Tombstone,
    mode: TombstoneMode,
) -> Result<TombstoneOutcome, TombstoneError> {
    let dead = client.keys().dead_of(node.incarnation);
    let member = client.keys().member(node.name);
    let base = || Txn::new().when(Guard::Absent(dead.clone())).put(&dead, stone.to_value());
    let mut txn = base().when(Guard::Absent(member.clone()));
    for _ in 0..ATTEMPTS_MAX {
        let outcome = write(client, leadership, txn.read_else(&dead).read_else(&member)).await?;
        if outcome.succeeded {
            return Ok(TombstoneOutcome::Written);
        }
        let [stone_there, member_there] = <[_; 2]>::try_from(outcome.read).unwrap_or([None, None]);
        if let Some(kv) = stone_there {
            return Ok(TombstoneOutcome::AlreadyThere(Tombstone::read(&kv)));
        }
        txn = match member_there {
            None => base().when(Guard::Absent(member.clone())),
            Some(kv) => {
                let unchanged = Guard::UnchangedSince(member.clone(), kv.mod_revision);
                // Garbage in the key registers nobody.
                let found = Member::parse(&member, &kv).ok();
                match (found.filter(|m| m.incarnation == node.incarnation), mode) {
                    (None, _) => base().when(unchanged),
                    (Some(_), TombstoneMode::Evict) => base().when(unchanged).delete(&member),
                    (Some(found), TombstoneMode::IfGone) => {
                        return Ok(TombstoneOutcome::StillRegistered(Box::new(found)));
                    }
                }
            }
        };
    }
    Err(CoordError::Contended { key: member, attempts: ATTEMPTS_MAX }.into())
}

async fn write(
    client: &CoordClient,
    leadership: Option<&Leadership>,
    txn: Txn,
) -> Result<TxnOutcome, TombstoneError> {
    match leadership {
        Some(leadership) => Ok(leadership.guarded_txn(txn).await?),
        None => Ok(client.txn(txn).await?),
    }
}
