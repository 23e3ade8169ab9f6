//! Since when slots are on their way, and who let one wait for too long.

use crate::{Facts, Take};
use marchland_common::cluster::{MoveStage, TakeOverStage, TakeOverState};
use marchland_common::order::{Node, NodeName, SlotId, Term};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How long a slot may be on its way, in milliseconds. Its entities stand still for most of that.
pub const MOVE_MAX_MS: u64 = 5_000;
/// For how long nothing is asked of whoever let one wait for longer, in milliseconds.
pub const SLOW_FOR_MS: u64 = 30_000;
/// After what time somebody is asked again to take over what it refused, in milliseconds.
pub const ASK_AGAIN_MS: u64 = 5_000;

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
    /// Lives that refused lately to take over the slots of a life, with that life.
    pub refused: BTreeSet<(Node, Node)>,
}

/// What is remembered of moves.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    since: BTreeMap<(SlotId, Term), u64>,
    keepers_until: BTreeMap<NodeName, u64>,
    takers_until: BTreeMap<NodeName, u64>,
    refused_until: BTreeMap<(Node, Node), u64>,
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
            refused: self.refused(facts, now_ms),
        }
    }

    /// These were asked to take something over: what they say next is their answer.
    pub fn asked(&mut self, takes: &[Take], now_ms: u64) {
        for Take { taker, order } in takes {
            let until = now_ms.saturating_add(ASK_AGAIN_MS);
            self.refused_until.insert((*taker, order.from), until);
        }
    }

    /// Whoever refuses goes on saying so until it is asked again.
    fn refused(&mut self, facts: &Facts, now_ms: u64) -> BTreeSet<(Node, Node)> {
        let said = facts.takes.iter().flat_map(|(node, said)| said.iter().map(|s| (*node, s)));
        let refusals = said.filter(|(_, state)| is_in_vain(state));
        let refusals: BTreeSet<_> = refusals.map(|(node, state)| (node, state.from)).collect();
        self.refused_until.retain(|who, until| refusals.contains(who) || now_ms < *until);
        let is_early = |who: &(Node, Node)| {
            let until = self.refused_until.entry(*who).or_insert(now_ms + ASK_AGAIN_MS);
            now_ms < *until
        };
        refusals.into_iter().filter(is_early).collect()
    }
}

/// Whether nothing comes of it: it is refused, or the log has none of the slots.
fn is_in_vain(state: &TakeOverState) -> bool {
    match state.stage {
        TakeOverStage::Refused(_) => true,
        TakeOverStage::Held => state.slots.is_empty(),
        TakeOverStage::Reading => false,
    }
}

/// Forgets whose time is over, and names the rest.
fn slow(until: &mut BTreeMap<NodeName, u64>, now_ms: u64) -> BTreeSet<NodeName> {
    until.retain(|_, until| now_ms < *until);
    until.keys().copied().collect()
}
