//! The look of one entity: what others may know of it.
//!
//! A real's look is what its ghosts are told: its rounded pose and its ghosted properties, as of
//! its last SyncBuild phase. Private and own-client properties are never part of it, so that
//! nothing built from looks can leak them.

use crate::behaviour::Other;
use marchland_codec_core::{Pose, Prop, PropValue, dequantise, dequantise_heading, ghost_digest};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SpaceId};
use marchland_common::world::{Heading, KindDef, Place, Pos, Value};
use serde::{Deserialize, Serialize};

/// The field bit of the position; the bits below 24 are the properties of the kind by index.
pub const POSITION: u32 = 1 << 24;
/// The field bit of the heading.
pub const HEADING: u32 = 1 << 25;

/// Largest absolute coordinate in millimetres: up to here squared distances fit an `i64`.
pub const COORDINATE_MAX: i32 = 1_000_000_000;

/// The nearest point whose coordinates are at most [`COORDINATE_MAX`].
#[must_use]
pub fn inside(pos: Pos) -> Pos {
    let within = |v: i32| v.clamp(-COORDINATE_MAX, COORDINATE_MAX);
    Pos::new(within(pos.x), within(pos.y))
}

/// The rounded pose of a place, brought [`inside`] where it is not.
#[must_use]
pub fn pose_of(place: &Place) -> Pose {
    let pos = inside(place.pos);
    Pose::of_world(pos.x, pos.y, place.heading)
}

/// Whether a rounded pose lies where distances can be computed.
#[must_use]
pub const fn is_inside(pose: Pose) -> bool {
    dequantise(pose.x()).unsigned_abs() <= COORDINATE_MAX as u32
        && dequantise(pose.y()).unsigned_abs() <= COORDINATE_MAX as u32
}

/// The ghosted properties of a real, by ascending index.
#[must_use]
pub fn ghosted_props(kind: &KindDef, props: &[Value]) -> Vec<(u8, Value)> {
    (0_u8..)
        .zip(kind.props.iter().zip(props))
        .filter(|(_, (def, _))| def.scope.is_ghosted())
        .map(|(index, (_, value))| (index, value.clone()))
        .collect()
}

/// A property as the packed encodings take it.
#[must_use]
pub fn as_prop((index, value): &(u8, Value)) -> Prop<'_> {
    match value {
        Value::Int(number) => Prop::int(*index, *number),
        Value::Bytes(bytes) => Prop::bytes(*index, bytes),
    }
}

/// A received property as a value.
#[must_use]
pub fn to_value(value: PropValue<'_>) -> Value {
    match value {
        PropValue::Int(number) => Value::Int(number),
        PropValue::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// The whole look of an entity, to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its kind.
    pub kind: KindId,
    /// Where it is.
    pub space: SpaceId,
    /// Where it stands there.
    pub pose: Pose,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The ghost sequence of this state.
    pub seq: Seq,
    /// Since which epoch its lineage is unbroken.
    pub since: Epoch,
    /// The ghosted properties, by ascending index.
    pub props: Vec<(u8, Value)>,
    /// Whether the entity is real here.
    pub is_real: bool,
}

/// The look of an entity that is known here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    pub(super) id: EntityId,
    pub(super) kind: KindId,
    pub(super) space: SpaceId,
    #[serde(with = "pose_parts")]
    pub(super) pose: Pose,
    pub(super) epoch: Epoch,
    pub(super) seq: Seq,
    pub(super) since: Epoch,
    pub(super) is_real: bool,
    pub(super) is_stale: bool,
    pub(super) props: Vec<(u8, Value)>,
    /// The ghost sequence of the newest change of each property, and of the pose's two halves.
    pub(super) prop_seqs: Vec<Seq>,
    pub(super) moved: Seq,
    pub(super) turned: Seq,
    /// The largest of `prop_seqs`.
    pub(super) prop_newest: Seq,
}

impl Look {
    pub(super) fn new(id: EntityId, shown: Shown) -> Self {
        let Shown { kind, space, pose, epoch, seq, since, props, is_real } = shown;
        let prop_seqs = vec![seq; props.len()];
        Self {
            id,
            kind,
            space,
            pose,
            epoch,
            seq,
            since,
            is_real,
            is_stale: false,
            props,
            prop_seqs,
            moved: seq,
            turned: seq,
            prop_newest: seq,
        }
    }

    /// Who.
    #[must_use]
    pub const fn id(&self) -> EntityId {
        self.id
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> KindId {
        self.kind
    }

    /// The space that it is in.
    #[must_use]
    pub const fn space(&self) -> SpaceId {
        self.space
    }

    /// Where it stands, rounded.
    #[must_use]
    pub const fn pose(&self) -> Pose {
        self.pose
    }

    /// Where it stands, in millimetres.
    #[must_use]
    pub const fn pos(&self) -> Pos {
        Pos { x: dequantise(self.pose.x()), y: dequantise(self.pose.y()) }
    }

    /// Where it looks.
    #[must_use]
    pub const fn heading(&self) -> Heading {
        dequantise_heading(self.pose.heading())
    }

    /// The owner's epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The ghost sequence.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// Since which epoch its lineage is unbroken.
    #[must_use]
    pub const fn since(&self) -> Epoch {
        self.since
    }

    /// Whether the entity is real here.
    #[must_use]
    pub const fn is_real(&self) -> bool {
        self.is_real
    }

    /// Whether it is a ghost whose owner has been silent for long.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The ghosted properties, by ascending index.
    #[must_use]
    pub fn props(&self) -> &[(u8, Value)] {
        &self.props
    }

    /// What a behaviour may see.
    #[must_use]
    pub fn other(&self) -> Other<'_> {
        Other::new(self.id, self.kind, self.pos(), self.heading(), &self.props)
    }

    /// The digest that a real and its ghosts compare.
    #[must_use]
    pub fn digest(&self) -> u64 {
        ghost_digest(self.pose, self.props.iter().map(as_prop))
    }

    /// The fields that changed after a ghost sequence, by bit.
    #[must_use]
    pub fn fields_after(&self, seq: Seq) -> u32 {
        let mut fields = 0;
        if self.moved > seq {
            fields |= POSITION;
        }
        if self.turned > seq {
            fields |= HEADING;
        }
        if self.prop_newest > seq {
            for ((index, _), changed) in self.props.iter().zip(&self.prop_seqs) {
                fields |= u32::from(*changed > seq) << index;
            }
        }
        fields
    }

    pub(super) fn mark_all(&mut self, seq: Seq) {
        self.prop_seqs.fill(seq);
        (self.moved, self.turned, self.prop_newest) = (seq, seq, seq);
    }
}

/// A rounded pose as its three numbers.
mod pose_parts {
    use marchland_codec_core::Pose;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(pose: &Pose, to: S) -> Result<S::Ok, S::Error> {
        (pose.x(), pose.y(), pose.heading()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pose, D::Error> {
        let (x, y, heading) = <(i32, i32, u8)>::deserialize(from)?;
        Pose::from_quanta(x, y, heading)
            .ok_or_else(|| serde::de::Error::custom("a pose outside the world"))
    }
}
