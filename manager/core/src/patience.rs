//! Since when slots are on their way, and who let one wait for too long.

use marchland_common::cluster::SlotMove;
use marchland_common::order::{Node, NodeName, SlotId, Term};
use std::collections::{BTreeMap, BTreeSet};

/// How long a slot may be on its way, in milliseconds. Its entities stand still for most of that.
pub const MOVE_MAX_MS: u64 = 5_000;
/// For how long nothing is given to whoever let one wait for longer, in milliseconds.
pub const SLOW_FOR_MS: u64 = 30_000;

/// What is remembered of moves.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    since: BTreeMap<(SlotId, Term), u64>,
    slow_until: BTreeMap<NodeName, u64>,
}

impl Patience {
    /// To whom nothing is to be given for now, by what keepers say of slots on their way. A stage
    /// that changes counts for nothing: what counts is for how long entities stand still.
    pub fn lose(
        &mut self,
        moves: &BTreeMap<Node, Vec<SlotMove>>,
        now_ms: u64,
    ) -> BTreeSet<NodeName> {
        let all: BTreeMap<(SlotId, Term), NodeName> =
            moves.values().flatten().map(|m| ((m.slot, m.term), m.to)).collect();
        self.since.retain(|going, _| all.contains_key(going));
        for (going, to) in all {
            let since = *self.since.entry(going).or_insert(now_ms);
            if now_ms >= since.saturating_add(MOVE_MAX_MS) {
                self.slow_until.insert(to, now_ms.saturating_add(SLOW_FOR_MS));
            }
        }
        self.slow_until.retain(|_, until| now_ms < *until);
        self.slow_until.keys().copied().collect()
    }
}
