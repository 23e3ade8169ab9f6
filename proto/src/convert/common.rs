//! Identities, values and reasons that several messages share.

use crate::link as wire;
use bytes::Bytes;
use marchland_common::msg::{HandoffRefusal, HandoffWhy, Origin};
use marchland_common::order::{Epoch, Incarnation, Node, NodeKind, NodeName, Seq, SpaceId, Tick};
use marchland_common::world::{Place, Pos, Value};
use serde::{Serialize, de::DeserializeOwned};

/// Why a message of a peer does not decode. It closes that stream and hurts nobody else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// A field that must be there is not.
    #[error("the field {0} is missing")]
    Missing(&'static str),
    /// A value is outside its range.
    #[error("the field {0} is out of range")]
    Range(&'static str),
    /// An enumeration has a value that this version does not know.
    #[error("the field {0} has an unknown value")]
    Unknown(&'static str),
    /// Packed bytes do not decode.
    #[error("the packed field {0} does not decode")]
    Packed(&'static str),
    /// A bundle holds more of something than it may.
    #[error("there are more {0} than a bundle may hold")]
    TooMany(&'static str),
}

/// Packs a value of the domain into a bytes field.
pub(super) fn pack<T: Serialize + ?Sized>(value: &T) -> Bytes {
    postcard::to_stdvec(value).expect("derived serializers of plain values do not fail").into()
}

/// Unpacks a bytes field whole: trailing bytes are refused.
pub(super) fn unpack<T: DeserializeOwned>(
    bytes: &[u8],
    field: &'static str,
) -> Result<T, BadMessage> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(BadMessage::Packed(field)),
    }
}

/// A field that fits a smaller type.
pub(super) fn narrow<A, B: TryFrom<A>>(value: A, field: &'static str) -> Result<B, BadMessage> {
    B::try_from(value).map_err(|_| BadMessage::Range(field))
}

/// A message field that must be there.
pub(super) fn need<T>(value: Option<T>, field: &'static str) -> Result<T, BadMessage> {
    value.ok_or(BadMessage::Missing(field))
}

/// The wire's form of a life.
#[must_use]
pub fn node_to_wire(node: Node) -> wire::Node {
    let kind = match node.name.kind {
        NodeKind::Cell => wire::Kind::Cell,
        NodeKind::Base => wire::Kind::Base,
        NodeKind::Manager => wire::Kind::Manager,
        NodeKind::Client => wire::Kind::Client,
    };
    wire::Node {
        kind: kind.into(),
        number: node.name.number.into(),
        incarnation: node.incarnation.0,
    }
}

/// Reads a life.
///
/// # Errors
/// [`BadMessage`] when it is absent, of an unknown kind or out of range.
pub fn node_from_wire(node: Option<wire::Node>) -> Result<Node, BadMessage> {
    let node = need(node, "node")?;
    let kind = match wire::Kind::try_from(node.kind) {
        Ok(wire::Kind::Cell) => NodeKind::Cell,
        Ok(wire::Kind::Base) => NodeKind::Base,
        Ok(wire::Kind::Manager) => NodeKind::Manager,
        Ok(wire::Kind::Client) => NodeKind::Client,
        Ok(wire::Kind::Unspecified) | Err(_) => return Err(BadMessage::Unknown("node.kind")),
    };
    let number = narrow(node.number, "node.number")?;
    Ok(Node { name: NodeName { kind, number }, incarnation: Incarnation(node.incarnation) })
}

macro_rules! refusals {
    ($($name:ident),* $(,)?) => {
        pub(super) fn refusal_to_wire(reason: HandoffRefusal) -> i32 {
            match reason {
                $(HandoffRefusal::$name => wire::HandoffRefusal::$name,)*
            }
            .into()
        }

        pub(super) fn refusal_from_wire(reason: i32) -> Result<HandoffRefusal, BadMessage> {
            match wire::HandoffRefusal::try_from(reason) {
                $(Ok(wire::HandoffRefusal::$name) => Ok(HandoffRefusal::$name),)*
                Ok(wire::HandoffRefusal::Unspecified) | Err(_) => {
                    Err(BadMessage::Unknown("reason"))
                }
            }
        }
    };
}

refusals!(
    TargetSilent,
    TargetNotAccepting,
    TargetTooOld,
    TargetDead,
    NotInSpace,
    InProgress,
    NotOwned,
    AlreadyThere,
    NoSuchEntity,
    Deadline,
);

pub(super) fn why_to_wire(why: HandoffWhy) -> wire::HandoffWhy {
    use wire::handoff_why::Why;
    let why = match why {
        HandoffWhy::Border => Why::Border(true),
        HandoffWhy::Order(order) => Why::Order(order),
        HandoffWhy::Teleport => Why::Teleport(true),
        HandoffWhy::Drain => Why::Drain(true),
    };
    wire::HandoffWhy { why: Some(why) }
}

pub(super) fn why_from_wire(why: Option<wire::HandoffWhy>) -> Result<HandoffWhy, BadMessage> {
    use wire::handoff_why::Why;
    Ok(match need(why.and_then(|w| w.why), "why")? {
        Why::Border(_) => HandoffWhy::Border,
        Why::Order(order) => HandoffWhy::Order(order),
        Why::Teleport(_) => HandoffWhy::Teleport,
        Why::Drain(_) => HandoffWhy::Drain,
    })
}

pub(super) fn origin_to_wire(origin: Origin) -> wire::Origin {
    wire::Origin {
        authority: Some(node_to_wire(origin.authority)),
        epoch: origin.epoch.0,
        seq: origin.seq.0,
        tick: origin.tick.0,
    }
}

pub(super) fn origin_from_wire(origin: Option<wire::Origin>) -> Result<Origin, BadMessage> {
    let origin = need(origin, "origin")?;
    Ok(Origin {
        authority: node_from_wire(origin.authority)?,
        epoch: Epoch(origin.epoch),
        seq: Seq(origin.seq),
        tick: Tick(origin.tick),
    })
}

pub(super) fn place_to_wire(place: Place) -> wire::Place {
    wire::Place {
        space: place.space.0,
        x: place.pos.x,
        y: place.pos.y,
        heading: place.heading.into(),
    }
}

pub(super) fn place_from_wire(place: Option<wire::Place>) -> Result<Place, BadMessage> {
    let place = need(place, "place")?;
    Ok(Place {
        space: SpaceId(place.space),
        pos: Pos::new(place.x, place.y),
        heading: narrow(place.heading, "place.heading")?,
    })
}

pub(super) fn prop_to_wire((index, value): (u8, Value)) -> wire::Prop {
    let value = match value {
        Value::Int(number) => wire::prop::Value::Number(number),
        Value::Bytes(data) => wire::prop::Value::Data(data.into()),
    };
    wire::Prop { index: index.into(), value: Some(value) }
}

pub(super) fn prop_from_wire(prop: wire::Prop) -> Result<(u8, Value), BadMessage> {
    let value = match need(prop.value, "prop.value")? {
        wire::prop::Value::Number(number) => Value::Int(number),
        wire::prop::Value::Data(data) => Value::Bytes(data.to_vec()),
    };
    Ok((narrow(prop.index, "prop.index")?, value))
}
