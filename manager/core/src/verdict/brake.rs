//! The brake: when nobody is given up, because too much is lost at once to be the others' fault.
//!
//! It holds for one lease time after the last moment at which there was reason for it. Whoever is
//! lost then still, is judged then.

use super::JudgeConfig;
use super::evidence::OwnView;
use super::judge::Life;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why there are no verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Brake {
    /// More than a third of the members were lost within one lease time.
    TooMany {
        /// So many.
        lost: usize,
        /// Of so many.
        of: usize,
    },
    /// The manager heard none of so many members.
    HeardNobody {
        /// How many there are.
        of: usize,
    },
    /// The store did not answer the manager for so long.
    StoreSilent {
        /// For how long.
        for_ms: u64,
    },
}

impl fmt::Display for Brake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { lost, of } => write!(f, "{lost} of {of} members were lost at once"),
            Self::HeardNobody { of } => write!(f, "the manager heard none of {of} members"),
            Self::StoreSilent { for_ms } => {
                write!(f, "the store has not answered the manager for {for_ms} ms")
            }
        }
    }
}

/// What holds, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Latch {
    held: Option<(Brake, u64)>,
}

impl Latch {
    /// Looks whether there is reason to brake. `members` are the lives that count as such.
    pub fn look(
        &mut self,
        config: &JudgeConfig,
        now_ms: u64,
        store_answered_ms: u64,
        members: &[(&Life, &OwnView)],
    ) -> Option<Brake> {
        let of = members.len();
        self.held = self.held.filter(|(_, until_ms)| now_ms < *until_ms);
        let store_ms = now_ms.saturating_sub(store_answered_ms);
        if store_ms > config.brake_ms / 2 {
            self.hold(Brake::StoreSilent { for_ms: store_ms }, now_ms + config.brake_ms);
        }
        if of > 1 && members.iter().all(|(_, own)| own.is_lost(config)) {
            self.hold(Brake::HeardNobody { of }, now_ms + config.brake_ms);
        }
        let lost_at = |life: &Life| life.lost_ms.filter(|at| at + config.brake_ms > now_ms);
        let losses: Vec<u64> = members.iter().filter_map(|(life, _)| lost_at(life)).collect();
        if let Some(newest) = losses.iter().max()
            && too_many(losses.len(), of)
        {
            let brake = Brake::TooMany { lost: losses.len(), of };
            self.hold(brake, newest + config.brake_ms);
        }
        self.held.map(|(brake, _)| brake).or_else(|| {
            // Who is only suspect may be well; but while that many are, nobody is judged.
            let fresh = |life: &Life, own: &OwnView| match life.lost_ms {
                Some(_) => lost_at(life).is_some(),
                None => own.is_suspect(),
            };
            let lost = members.iter().filter(|(life, own)| fresh(life, own)).count();
            too_many(lost, of).then_some(Brake::TooMany { lost, of })
        })
    }

    fn hold(&mut self, brake: Brake, until_ms: u64) {
        if self.held.is_none_or(|(_, until)| until < until_ms) {
            self.held = Some((brake, until_ms));
        }
    }
}

/// One loss is never too many: of two members it would be half.
const fn too_many(lost: usize, of: usize) -> bool {
    lost > 1 && lost * 3 > of
}
