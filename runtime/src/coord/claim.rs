//! Taking a name that a key says is taken: ask the holder first.
//!
//! It answers: we give up and name it. Its address refuses or is unreachable: one transaction gives
//! the old life up and registers ours, if nothing changed meanwhile. It is silent, or what is there
//! is not it: only its lease can tell, so we wait for that, at most its time and two seconds, and
//! say so.

use super::client::CoordClient;
use super::error::CoordError;
use super::lease::chain;
use super::member::{Member, MemberInfo};
use super::register::{
    Attempt, Granted, RegisterError, RegisterOptions, Registration, attempt, may_retry, register,
};
use super::tombstone::{Tombstone, Verdict};
use super::txn::{Guard, Txn};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What the address of a name's holder does when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The process answers.
    Answers,
    /// Nobody is there: refused, unreachable, no such host.
    Refused,
    /// Neither its answer nor a refusal: stopped, cut off, or something else is there.
    Silent,
}

/// Why a name could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Its holder is alive.
    #[error("the name is held by {0}, which answers; stop it or choose another name")]
    Held(Box<Member>),
    /// Its holder is silent, but its registration did not end.
    #[error(
        "the name is held by {holder}, which does not answer but stayed registered for {waited:?}; \
             stop it or choose another name"
    )]
    Silent {
        /// The holder.
        holder: Box<Member>,
        /// How long we waited.
        waited: Duration,
    },
    /// etcd failed.
    #[error(transparent)]
    Coord(#[from] CoordError),
}

/// How long a key may outlive its lease: leases are looked at now and then, and a restart of etcd
/// starts them anew.
const GRACE: Duration = Duration::from_secs(2);

/// Between two looks at a key that we wait for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Takeovers that may fail because the key changed under them.
const TAKEOVERS_MAX: u32 = 8;

/// Registers a process, taking over the name of a life that is certainly over.
pub async fn claim_name<P: Future<Output = Probe>>(
    client: &CoordClient,
    info: MemberInfo,
    options: RegisterOptions,
    probe: impl Fn(MemberInfo) -> P,
) -> Result<Registration, ClaimError> {
    let started = Instant::now();
    let (mut announced, mut takeovers) = (false, 0);
    loop {
        let holder = match register(client, info.clone(), options).await {
            Ok(registration) => return Ok(registration),
            Err(RegisterError::Coord(error)) => return Err(error.into()),
            Err(RegisterError::NameTaken(holder)) => holder,
        };
        match probe(holder.info.clone()).await {
            Probe::Answers => return Err(ClaimError::Held(holder)),
            Probe::Refused => {
                if let Some(taken) = take_over(client, &info, options, &holder).await? {
                    return Ok(taken);
                }
                takeovers += 1;
                if takeovers == TAKEOVERS_MAX {
                    let key = client.keys().member(info.name);
                    return Err(CoordError::Contended { key, attempts: takeovers }.into());
                }
            }
            Probe::Silent => {
                let (ttl, waited) = (options.ttl + GRACE, started.elapsed());
                if waited >= ttl {
                    return Err(ClaimError::Silent { holder, waited });
                }
                if !announced {
                    tracing::warn!(%holder, at_most = ?ttl, "name held by a silent process");
                    announced = true;
                }
                if let Some(taken) = wait_and_take(client, &info, options, &holder).await? {
                    return Ok(taken);
                }
            }
        }
    }
}

/// Gives the old life up and registers ours, if its key is unchanged.
async fn take_over(
    client: &CoordClient,
    info: &MemberInfo,
    options: RegisterOptions,
    old: &Member,
) -> Result<Option<Registration>, CoordError> {
    let unchanged = Guard::UnchangedSince(client.keys().member(info.name), old.mod_revision);
    replace(client, info, options, old, unchanged, "its address refuses").await
}

/// Waits a moment; if the silent holder's key is gone then, gives it up and registers ours.
async fn wait_and_take(
    client: &CoordClient,
    info: &MemberInfo,
    options: RegisterOptions,
    old: &Member,
) -> Result<Option<Registration>, CoordError> {
    sleep(LOOK_EVERY).await;
    let key = client.keys().member(info.name);
    match client.get(&key).await {
        Ok(None) => {
            let gone = Guard::Absent(key);
            replace(client, info, options, old, gone, "silent until its lease ended").await
        }
        Ok(Some(_)) => Ok(None),
        Err(error) if may_retry(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The transaction of a takeover. `None`: something changed meanwhile, look again.
async fn replace(
    client: &CoordClient,
    info: &MemberInfo,
    options: RegisterOptions,
    old: &Member,
    guard: Guard,
    evidence: &str,
) -> Result<Option<Registration>, CoordError> {
    let granted = Granted::ask(client, options.ttl).await?;
    let by = format!("{} (pid {} on {})", info.name, info.pid, info.host);
    let stone = Tombstone { verdict: Verdict::Replaced, reason: evidence.to_owned(), by };
    let dead = client.keys().dead_of(old.incarnation);
    let txn = Txn::new().when(guard).put(&dead, stone.to_value());
    let incarnation = match attempt(client, info, &granted, txn).await {
        Ok(Attempt::Ours(incarnation)) => incarnation,
        Ok(Attempt::Taken(_)) => {
            granted.give_back(client).await;
            return Ok(None);
        }
        Err(error) if may_retry(&error) => {
            // It may have been applied. Without its lease our key goes again, and the name is free.
            tracing::debug!(error = %chain(&error), "taking over again");
            granted.give_back(client).await;
            return Ok(None);
        }
        Err(error) => {
            granted.give_back(client).await;
            return Err(error);
        }
    };
    tracing::info!(replaced = %old.node(), evidence, "took over the name");
    Ok(Some(Registration::start(client, info.clone(), options, incarnation, granted)))
}
