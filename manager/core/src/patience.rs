//! Since when slots are on their way, and who let one wait for too long.

use crate::Facts;
use marchland_common::cluster::MoveStage;
use marchland_common::order::{NodeName, SlotId, Term};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How long a slot may be on its way, in milliseconds. Its entities stand still for most of that.
pub const MOVE_MAX_MS: u64 = 5_000;
/// For how long nothing is asked of whoever let one wait for longer, in milliseconds.
pub const SLOW_FOR_MS: u64 = 30_000;

/// Who let a slot wait for too long lately. Whoever is slow in the one part may play the other: a
/// slow keeper gives nothing for a while, and may take; a slow taker takes nothing, and may give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// Keepers whose cellapps did not let a slot's entities stand still in time, whatever the
    /// reason is: they are given no orders, and their moves that got no further are called off.
    pub keepers: BTreeSet<NodeName>,
    /// Those to whom a slot that stood still was on its way for too long: they are given nothing,
    /// and moves to them are called off.
    pub takers: BTreeSet<NodeName>,
}

/// What is remembered of moves.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    since: BTreeMap<(SlotId, Term), u64>,
    keepers_until: BTreeMap<NodeName, u64>,
    takers_until: BTreeMap<NodeName, u64>,
}

impl Patience {
    /// Of whom nothing is to be asked for now, by what keepers say of slots on their way: of the
    /// facts, the members, the dead, the slots and the moves count. A move that does not stand, of
    /// an old term or an earlier life, is nobody's fault: a keeper that stands still itself may go
    /// on saying it for ever. A stage that changes begins no new time: what counts is for how long
    /// entities stand still. The stage at the end of the time says whose fault it is.
    pub fn lose(&mut self, facts: &Facts, now_ms: u64) -> Slow {
        let standing = facts.standing_moves(&facts.present_bases());
        let all: BTreeSet<_> = standing.iter().map(|(_, m)| (m.slot, m.term)).collect();
        self.since.retain(|going, _| all.contains(going));
        for (keeper, going) in standing {
            let since = *self.since.entry((going.slot, going.term)).or_insert(now_ms);
            if now_ms < since.saturating_add(MOVE_MAX_MS) {
                continue;
            }
            let until = now_ms.saturating_add(SLOW_FOR_MS);
            match going.stage {
                MoveStage::Closing => self.keepers_until.insert(keeper.name, until),
                MoveStage::Copying | MoveStage::Held(_) => {
                    self.takers_until.insert(going.to, until)
                }
            };
        }
        Slow {
            keepers: slow(&mut self.keepers_until, now_ms),
            takers: slow(&mut self.takers_until, now_ms),
        }
    }
}

/// Forgets whose time is over, and names the rest.
fn slow(until: &mut BTreeMap<NodeName, u64>, now_ms: u64) -> BTreeSet<NodeName> {
    until.retain(|_, until| now_ms < *until);
    until.keys().copied().collect()
}
