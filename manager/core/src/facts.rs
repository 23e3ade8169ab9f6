//! What a plan rests on.

use marchland_common::cluster::{Member, SlotMove, SlotOwner};
use marchland_common::order::{Incarnation, Node, NodeName, SpaceId};
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
    /// said anything is asked for nothing.
    pub moves: BTreeMap<Node, Vec<SlotMove>>,
    /// Baseapps to which a move took too long lately: nothing is given to them.
    pub slow: BTreeSet<NodeName>,
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
