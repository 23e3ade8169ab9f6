//! One fact of a journal, or one bundle that was sent or taken in, as a browser shows it.

use super::fields;
use marchland_common::journal::{BundleRef, Event, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Node};
use marchland_observe::facts::{self, Kind};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;

/// The name of something that happened: whose it is, and its number in that life's journal. All of
/// a record is counted: the bundles that it took in, its facts, the bundles that it sent. As text:
/// `cell-2@7:9911`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName {
    /// Whose.
    pub node: Node,
    /// Its number, from 0.
    pub n: u64,
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.n)
    }
}

/// Why a text names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no event: they look like cell-2@7:9911, as /api/events gives them")]
pub struct BadEventName(String);

impl FromStr for EventName {
    type Err = BadEventName;

    fn from_str(text: &str) -> Result<Self, BadEventName> {
        let named = || {
            let (life, n) = text.split_once(':')?;
            let (name, incarnation) = life.split_once('@')?;
            let node = Node { name: name.parse().ok()?, incarnation: incarnation.parse().ok()? };
            Some(Self { node, n: n.parse().ok()? })
        };
        named().ok_or_else(|| BadEventName(text.chars().take(80).collect()))
    }
}

/// Something that happened, as a browser is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventJson {
    /// Its name; see [`EventName`].
    pub id: String,
    /// Where.
    pub process: String,
    /// In which life.
    pub incarnation: String,
    /// When, in ticks of that process.
    pub tick: u64,
    /// Where in that tick: flush, release-1, release-2, release-3.
    pub moment: String,
    /// The kind of the fact, or `sent`, or `received`.
    pub kind: &'static str,
    /// Which entity it is about.
    pub entity: Option<String>,
    /// In a few words.
    pub text: String,
    /// Everything that it says.
    pub fields: Map<String, Value>,
    /// What is wrong about it, if something is: `refused:StaleEpoch`.
    pub anomaly: Option<String>,
    /// What the two ends of a bundle have in common: `cell-1@5>cell-2@7#881`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The kinds of facts that an entity's history tells: who had it, and why.
pub(crate) const HISTORY: [&str; 12] = [
    "Created",
    "Destroyed",
    "OwnerChanged",
    "Activated",
    "Frozen",
    "Unfrozen",
    "Deactivated",
    "FirstStep",
    "HandoffRefused",
    "FencedSent",
    "SessionOpened",
    "SessionClosed",
];

/// The name of a moment.
#[must_use]
pub fn moment_name(moment: Moment) -> String {
    match moment {
        Moment::Flush => "flush".to_owned(),
        Moment::Release(n) => format!("release-{n}"),
    }
}

/// A record of a journal, with whose it is and the number of the first thing in it.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Whose.
    pub node: Node,
    /// The record.
    pub record: &'a TickRecord,
    /// The number of the first thing in it.
    pub first: u64,
}

/// One thing in a record with its number: cheap to look at, and told to a browser only if it is
/// wanted.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A bundle that came in.
    Received(u64, &'a BundleRef),
    /// A fact.
    Fact(u64, &'a Event),
    /// A bundle that left.
    Sent(u64, &'a BundleRef),
}

impl<'a> Recorded<'a> {
    /// Everything in it: what came in, what happened, what left.
    pub fn items(self) -> impl Iterator<Item = Item<'a>> {
        let TickRecord { received, events, sent, .. } = self.record;
        let facts_from = self.first + received.len() as u64;
        let sent_from = facts_from + events.len() as u64;
        let came = (self.first..).zip(received).map(|(n, bundle)| Item::Received(n, bundle));
        let facts = (facts_from..).zip(events).map(|(n, event)| Item::Fact(n, event));
        let left = (sent_from..).zip(sent).map(|(n, bundle)| Item::Sent(n, bundle));
        came.chain(facts).chain(left)
    }

    /// One of its items as a browser is told.
    #[must_use]
    pub fn json(self, item: Item<'_>) -> EventJson {
        match item {
            Item::Fact(n, event) => self.fact(n, event),
            Item::Received(n, bundle) => self.bundle(n, bundle, false),
            Item::Sent(n, bundle) => self.bundle(n, bundle, true),
        }
    }

    fn fact(self, n: u64, event: &Event) -> EventJson {
        let about = facts::about(event);
        let (_, fields) = fields::of(event);
        EventJson {
            kind: Kind::of(event).variant(),
            entity: about.entity.map(|entity| entity.to_string()),
            text: facts::text(event),
            fields,
            anomaly: anomaly(event),
            ..self.blank(n)
        }
    }

    fn bundle(self, number: u64, bundle: &BundleRef, is_sent: bool) -> EventJson {
        let BundleRef { peer, n, src_tick } = *bundle;
        let (kind, from, to, way) = match is_sent {
            true => ("sent", self.node, peer, "to"),
            false => ("received", peer, self.node, "from"),
        };
        let fields = [
            ("peer".to_owned(), json!(peer.to_string())),
            ("n".to_owned(), json!(n)),
            ("src_tick".to_owned(), json!(src_tick.0)),
        ];
        EventJson {
            kind,
            text: format!("bundle {n} {way} {}, of its tick {src_tick}", peer.name),
            fields: fields.into_iter().collect(),
            message: Some(format!("{from}>{to}#{n}")),
            ..self.blank(number)
        }
    }

    fn blank(self, n: u64) -> EventJson {
        EventJson {
            id: EventName { node: self.node, n }.to_string(),
            process: self.node.name.to_string(),
            incarnation: self.node.incarnation.to_string(),
            tick: self.record.tick.0,
            moment: moment_name(self.record.moment),
            kind: "",
            entity: None,
            text: String::new(),
            fields: Map::new(),
            anomaly: None,
            message: None,
        }
    }
}

impl Item<'_> {
    /// The kind that a browser is told.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Received(..) => "received",
            Self::Fact(_, event) => Kind::of(event).variant(),
            Self::Sent(..) => "sent",
        }
    }

    /// Whether it is about this entity.
    #[must_use]
    pub fn concerns(self, entity: EntityId) -> bool {
        matches!(self, Self::Fact(_, event) if facts::about(event).concerns(entity))
    }

    /// Whether something is wrong about it.
    #[must_use]
    pub fn is_anomaly(self) -> bool {
        matches!(self, Self::Fact(_, event) if anomaly(event).is_some())
    }
}

/// What is wrong about a fact: something was refused, held back, called off, dropped or given up.
#[must_use]
pub fn anomaly(event: &Event) -> Option<String> {
    let text = match event {
        Event::Refusal { reason, .. } => format!("refused:{reason:?}"),
        Event::HandoffRefused { reason, .. } => format!("handoff-refused:{reason:?}"),
        Event::OrderEnded { refused: Some(reason), .. } => format!("order-refused:{reason:?}"),
        Event::Unfrozen { reason, .. } => format!("called-off:{reason:?}"),
        Event::WindowClosed { .. } => "held:window".to_owned(),
        Event::SlotFollowed { base: None, .. } => "held:slot".to_owned(),
        Event::FencedSent { .. } => "fenced".to_owned(),
        Event::Deactivated { why, .. } if !is_ordinary_end(*why) => format!("ended:{why:?}"),
        Event::GhostEnded { why, .. } if is_abandoned(*why) => "ghost-abandoned".to_owned(),
        Event::SignalSkipped { .. } => "signals-skipped".to_owned(),
        Event::TimerLate { .. } => "timer-late".to_owned(),
        Event::TicksDropped(_) => "ticks-dropped".to_owned(),
        Event::Burned { .. } => "value-burned".to_owned(),
        Event::LinkEnded { .. } => "link-ended".to_owned(),
        Event::OwnerChanged { why, .. } if is_rescue(*why) => format!("restored:{why:?}"),
        _ => return None,
    };
    Some(text)
}

const fn is_ordinary_end(why: marchland_common::journal::EndWhy) -> bool {
    use marchland_common::journal::EndWhy::{Destroyed, Released};
    matches!(why, Released | Destroyed)
}

const fn is_abandoned(why: marchland_common::journal::GhostEnd) -> bool {
    matches!(why, marchland_common::journal::GhostEnd::Abandoned)
}

const fn is_rescue(why: marchland_common::journal::OwnerWhy) -> bool {
    use marchland_common::journal::OwnerWhy::{GrantDeadline, Verdict};
    matches!(why, GrantDeadline | Verdict)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::journal::Refused;
    use marchland_common::order::NodeKind;

    #[test]
    fn a_name_of_an_event_reads_back_and_what_is_none_is_refused() {
        let name = EventName { node: Node::new(NodeKind::Cell, 2, 7), n: 9911 };
        assert_eq!(name.to_string(), "cell-2@7:9911");
        assert_eq!("cell-2@7:9911".parse(), Ok(name));
        for bad in ["", "cell-2:9", "cell-2@7", "cell-2@7:x", "cell-2@:3", "a:b:c"] {
            assert!(bad.parse::<EventName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_refused_says_its_reason_and_what_is_ordinary_says_nothing() {
        let refused =
            Event::Refusal { reason: Refused::StaleEpoch, from: None, entity: None, count: 1 };
        assert_eq!(anomaly(&refused).unwrap(), "refused:StaleEpoch");
        let ordinary = Event::Durable { lsn: marchland_common::order::Lsn(1) };
        assert_eq!(anomaly(&ordinary), None);
    }
}
