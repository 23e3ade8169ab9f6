//! What the values of the cluster's keys look like: JSON, so that an operator can read them with
//! any tool of the store.

use super::member::as_text;
use marchland_common::order::{Incarnation, NodeName};
use marchland_common::world::{Layout, Rect};
use serde::{Deserialize, Serialize};

/// The value of `slot/<k>`. The slot's term is the revision of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotValue {
    /// The baseapp that keeps the slot, in whichever life.
    #[serde(with = "as_text")]
    pub base: NodeName,
}

/// The value of `log/<name>`. A life of a baseapp writes it when it holds the lock of its log, before
/// anything of it gets into the log: so whoever finds another life here knows that no later one wrote
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogValue {
    /// The life.
    pub incarnation: Incarnation,
    /// The folder, as that life sees it; empty if others cannot find it.
    pub folder: String,
}

/// The value of `space/<id>`: what was asked for, and the layout that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceValue {
    /// Over how many cellapps the space is split; 0 is all that were there.
    pub cells: u32,
    /// The layout; a larger version replaces a smaller one.
    pub layout: Layout,
}

/// The value of `wanted/<id>`: a space that is to be there. Written with the cluster's clock for the
/// spaces of the world, later by whoever leads for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedValue {
    /// Its extent.
    pub bounds: Rect,
    /// Over how many cellapps it is split; 0 is all that are there when it is laid out.
    pub cells: u32,
}

/// The value of `clock`: where the cluster's ticks begin. Written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockValue {
    /// Calendar time of tick 0 in milliseconds since 1970. Used once, by a process that has heard
    /// no peer yet; from then on peers align with each other.
    pub origin_wall_ms: u64,
    /// The length of a tick in microseconds.
    pub step_us: u64,
}

/// The value of `meta`. Its identity is written once; which protocols are spoken, by whoever leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaValue {
    /// Tells this cluster from every other, also one of the same name.
    pub cluster_id: u64,
    /// The oldest protocol that its members speak.
    pub proto_min: u32,
    /// The newest one.
    pub proto_max: u32,
    /// Where the ticks of a cluster begin that lost its store and goes on: its clock is this one's,
    /// whoever sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_wall_ms: Option<u64>,
}

impl MetaValue {
    /// Whether the cluster speaks this protocol.
    #[must_use]
    pub const fn speaks(&self, proto: u32) -> bool {
        self.proto_min <= proto && proto <= self.proto_max
    }
}

/// The value of `losses`: how often a baseapp began without the log that it had. Entity and session
/// ids of slots that nobody has a record of begin in a range of their own after each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossesValue {
    /// So many times.
    pub count: u64,
}
