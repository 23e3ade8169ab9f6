//! A fact of a journal: an event, or a bundle that came or went.

use super::id::EventId;
use crate::facts::{self, About, Kind};
use crate::order::Line;
use marchland_common::journal::{BundleRef, Event};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Node, Tick};

/// What a fact says.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A bundle was taken in.
    Received(BundleRef),
    /// Something happened.
    Event(Event),
    /// A bundle left.
    Sent(BundleRef),
}

/// One fact and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name.
    pub id: EventId,
    /// Its process's tick; of a client, the newest one that it had seen.
    pub tick: Tick,
    /// Where in the tick.
    pub moment: Moment,
    /// What it says.
    pub what: What,
}

impl Fact {
    /// The event, if it is no bundle.
    #[must_use]
    pub const fn event(&self) -> Option<&Event> {
        match &self.what {
            What::Event(event) => Some(event),
            What::Received(_) | What::Sent(_) => None,
        }
    }

    /// Its kind by name; `received` and `sent` for bundles.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.what {
            What::Received(_) => "received",
            What::Event(event) => Kind::of(event).name(),
            What::Sent(_) => "sent",
        }
    }

    /// Whom and what it is about.
    #[must_use]
    pub fn about(&self) -> About {
        match &self.what {
            What::Event(event) => facts::about(event),
            What::Received(bundle) | What::Sent(bundle) => {
                About { peer: Some(bundle.peer), ..About::default() }
            }
        }
    }

    /// Whether it concerns an entity, as the one that it is about or as the other one.
    #[must_use]
    pub fn concerns(&self, entity: EntityId) -> bool {
        self.about().concerns(entity)
    }

    /// In a few words, for people.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.what {
            What::Event(event) => facts::text(event),
            What::Received(bundle) => {
                let BundleRef { peer, n, src_tick } = bundle;
                format!("received bundle {n} of {peer}, sent in its tick {src_tick}")
            }
            What::Sent(bundle) => format!("sent bundle {} to {}", bundle.n, bundle.peer),
        }
    }

    /// The key that the sending and the taking in of a bundle share: `cell-1@7>base-1@5#881`.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let me = self.id.node;
        match &self.what {
            What::Received(bundle) => Some(message_key(bundle.peer, me, bundle.n)),
            What::Sent(bundle) => Some(message_key(me, bundle.peer, bundle.n)),
            What::Event(_) => None,
        }
    }

    /// As a line of the merged order, without causes.
    #[must_use]
    pub fn line(&self) -> Line {
        let About { entity, epoch, seq, msg, peer, .. } = self.about();
        let msg = match &self.what {
            What::Received(bundle) | What::Sent(bundle) => Some(format!("b{}", bundle.n)),
            What::Event(_) => msg,
        };
        Line {
            id: self.id.to_string(),
            proc: self.id.node.name.to_string(),
            inc: self.id.node.incarnation.0,
            tick: self.tick.0,
            n: self.id.n,
            kind: self.kind().to_owned(),
            entity: entity.map(|entity| entity.0),
            epoch: epoch.map(|epoch| epoch.grant()),
            seq: seq.map(|seq| seq.0),
            msg,
            peer: peer.map(|peer| peer.to_string()),
            cause: Vec::new(),
            text: self.text(),
        }
    }
}

/// The key of a bundle.
#[must_use]
pub fn message_key(from: Node, to: Node, n: u64) -> String {
    format!("{from}>{to}#{n}")
}
