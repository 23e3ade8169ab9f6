//! How a process learns that its life was given up: its tombstone is in the store, or another life
//! holds its name. Nothing that it still says is taken by anybody, so it need not hurry; but it
//! should not stay either.

use super::feed::MapFeed;
use crate::coord::{Member, RegState, Registration, Tombstone};
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// How long the registration may take to say why, once the map says that.
const WHY_MAX: Duration = Duration::from_secs(1);

/// Why a life is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifeOver {
    /// A verdict gave it up; what was written of it, if that was read.
    GivenUp(Option<Tombstone>),
    /// Another life holds its name.
    Replaced(Box<Member>),
}

impl fmt::Display for LifeOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp(None) => f.write_str("this life was given up"),
            Self::GivenUp(Some(stone)) => {
                let Tombstone { verdict, reason, by } = stone;
                write!(f, "this life was given up as {verdict:?} by {by}: {reason}")
            }
            Self::Replaced(holder) => write!(f, "the name is now held by {holder}"),
        }
    }
}

/// Returns when this life is over.
pub async fn life_over(registration: &Registration, feed: &MapFeed) -> LifeOver {
    let own = registration.node().incarnation;
    let (mut state, mut seen) = (registration.state(), feed.subscribe());
    let told = tokio::select! {
        told = state.wait_for(RegState::is_final) => told.is_ok(),
        Ok(_) = seen.wait_for(|seen| seen.dead.contains(&own)) => false,
    };
    if !told {
        registration.checks().ask();
        let _ = timeout(WHY_MAX, state.wait_for(RegState::is_final)).await;
    }
    match &*state.borrow() {
        RegState::Replaced { holder } => LifeOver::Replaced(holder.clone()),
        RegState::Tombstoned { stone } => LifeOver::GivenUp(Some(stone.clone())),
        _ => LifeOver::GivenUp(None),
    }
}
