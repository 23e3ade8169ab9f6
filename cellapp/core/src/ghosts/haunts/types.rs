//! What a haunt is made of.

use super::super::indexes::Indexes;
use marchland_codec_core::PoseChange;
use marchland_common::order::{EntityId, Epoch, Node, Seq, SpaceId, Tick};
use marchland_common::world::{KindDef, Place, Pos, Value};
use serde::{Deserialize, Serialize};

/// Where ghosts are made and for how long they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GhostRange {
    /// From how far a cell gets a ghost, in millimetres.
    pub distance: i32,
    /// How much farther the ghost stays, in millimetres.
    pub margin: i32,
    /// How many ticks it stays at least.
    pub min_life: u64,
}

/// A real that begins here.
#[derive(Clone, Copy, Debug)]
pub struct NewReal<'a> {
    /// Who.
    pub entity: EntityId,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// Its kind.
    pub kind: &'a KindDef,
    /// Where it is.
    pub place: Place,
    /// Its property values, by the kind's index.
    pub props: &'a [Value],
}

/// Where a new real comes from.
#[derive(Clone, Copy, Debug)]
pub enum Beginning<'a> {
    /// It was born.
    Birth,
    /// It goes on from its base's image: what ghosts and clients saw last may be taken back.
    Restore,
    /// It goes on from an offload.
    Handoff {
        /// The owner before.
        from: Node,
        /// The ghost sequence of the offloaded state.
        ghost_seq: Seq,
        /// Since which epoch the ghosts' lineage is unbroken.
        ghost_since: Epoch,
        /// Who holds ghosts.
        hosts: &'a [Node],
    },
}

/// What of a real's ghosts travels in its offload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The ghost sequence that was reached.
    pub ghost_seq: Seq,
    /// Since which epoch the lineage is unbroken.
    pub ghost_since: Epoch,
    /// Who holds ghosts, by name and life.
    pub hosts: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::ghosts) struct Host {
    pub(in crate::ghosts) node: Node,
    pub(in crate::ghosts) index: u32,
    pub(in crate::ghosts) since: Tick,
    /// Whether a whole ghost is due.
    pub(in crate::ghosts) whole_due: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::ghosts) struct Haunt {
    pub(in crate::ghosts) epoch: Epoch,
    pub(in crate::ghosts) space: SpaceId,
    pub(in crate::ghosts) pos: Pos,
    /// Where the hosts were found last, and how far from there they stay the same.
    pub(in crate::ghosts) checked: Pos,
    pub(in crate::ghosts) slack: i64,
    pub(in crate::ghosts) is_frozen: bool,
    /// The round in which it was brought up to date last.
    pub(in crate::ghosts) round: u64,
    /// By name and life.
    pub(in crate::ghosts) hosts: Vec<Host>,
}

/// The delta of one ghost, to be packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ghosts) struct Due {
    pub(in crate::ghosts) index: u32,
    pub(in crate::ghosts) entity: EntityId,
    pub(in crate::ghosts) pose: PoseChange,
    pub(in crate::ghosts) fields: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::ghosts) struct Link {
    pub(in crate::ghosts) indexes: Indexes,
    /// Empty between two ticks.
    #[serde(skip)]
    pub(in crate::ghosts) due: Vec<Due>,
}
