//! What a plan rests on.

use crate::Slow;
use marchland_common::cluster::{Member, SlotMove, SlotOwner, TakeOverState};
use marchland_common::order::{Incarnation, Node, NodeKind, NodeName, SlotId, SpaceId};
use marchland_common::world::{Layout, Rect};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A space that the operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceSpec {
    /// The space.
    pub id: SpaceId,
    /// Its extent.
    pub bounds: Rect,
    /// Over how many cellapps it is split; 0 is all that are there when it is laid out.
    pub cells: u32,
}

/// How busy a cellapp is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellLoad {
    /// Reals that it simulates.
    pub reals: u64,
}

/// Where a baseapp's log is, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPlace {
    /// The life that wrote to it last.
    pub life: Incarnation,
    /// Its folder; empty if others cannot find it.
    pub folder: String,
}

/// Everything that the planner looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Registered processes.
    pub members: Vec<Member>,
    /// Lives that were declared dead.
    pub dead: BTreeSet<Incarnation>,
    /// Who keeps which slot.
    pub slots: Vec<SlotOwner>,
    /// What lives of baseapps say about slots that are on their way from them. Whoever has not
    /// said anything is asked for nothing and given nothing: it may still be reading its log.
    pub moves: BTreeMap<Node, Vec<SlotMove>>,
    /// Baseapps of which nothing is asked for a while.
    pub slow: Slow,
    /// Lives of baseapps that say that they take nothing at present.
    pub unwilling: BTreeSet<Node>,
    /// The log of each baseapp.
    pub logs: BTreeMap<NodeName, LogPlace>,
    /// Baseapps that have been away for so long that others take their slots over.
    pub overdue: BTreeSet<NodeName>,
    /// What lives of baseapps say about slots that they take over.
    pub takes: BTreeMap<Node, Vec<TakeOverState>>,
    /// The layouts that stand.
    pub layouts: BTreeMap<SpaceId, Layout>,
    /// The spaces that are wanted.
    pub specs: BTreeMap<SpaceId, SpaceSpec>,
    /// How busy cellapps are, as far as known.
    pub loads: BTreeMap<Node, CellLoad>,
    /// How many cellapps are awaited before the first layout.
    pub cells_awaited: usize,
    /// How many baseapps are awaited before slots are given.
    pub bases_awaited: usize,
    /// Whether the time to wait for them is over.
    pub waited_enough: bool,
}

impl Facts {
    /// Of these baseapps the lives that wrote to their logs last. One that never wrote to it has
    /// nothing to be given up for, and may be reading it.
    #[must_use]
    pub fn lives_of(&self, names: &BTreeSet<NodeName>) -> BTreeSet<Node> {
        let logs = self.logs.iter().filter(|(name, _)| names.contains(name));
        logs.map(|(name, log)| Node { name: *name, incarnation: log.life }).collect()
    }

    /// The present life of each baseapp that was not given up.
    pub(crate) fn present_bases(&self) -> BTreeMap<NodeName, Node> {
        let nodes = self.members.iter().map(|m| m.node);
        let bases =
            nodes.filter(|n| n.name.kind == NodeKind::Base && !self.dead.contains(&n.incarnation));
        let mut present: BTreeMap<NodeName, Node> = BTreeMap::new();
        for node in bases {
            let known = present.entry(node.name).or_insert(node);
            *known = (*known).max(node);
        }
        present
    }

    /// What is on its way, with its keeper, as far as it stands: the present life of a slot's
    /// keeper says it, under the term that the slot's key has.
    pub(crate) fn standing_moves(
        &self,
        present: &BTreeMap<NodeName, Node>,
    ) -> Vec<(Node, SlotMove)> {
        let owners: BTreeMap<SlotId, _> = self.slots.iter().map(|s| (s.slot, *s)).collect();
        let (mut standing, mut named) = (Vec::new(), BTreeSet::new());
        for (keeper, reported) in &self.moves {
            let is_present = present.get(&keeper.name) == Some(keeper);
            let stands = |m: &&SlotMove| {
                let owner = owners.get(&m.slot);
                is_present && owner.is_some_and(|o| (o.base, o.term) == (keeper.name, m.term))
            };
            for going in reported.iter().filter(stands) {
                if named.insert(going.slot) {
                    standing.push((*keeper, *going));
                }
            }
        }
        standing
    }
}
