//! What a link plane has to tell: nothing that it refuses, loses or drops stays unsaid.

use marchland_common::journal::{Event, Refused};
use marchland_common::link::{ChannelId, Direction, ResetReason};
use marchland_common::order::{EntityId, Node};

/// One thing that happened to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A connection began.
    Connected {
        /// The other end.
        peer: Node,
        /// The channel.
        channel: ChannelId,
        /// Who dialed.
        direction: Direction,
    },
    /// A connection ended. The link goes on with the next one.
    Disconnected {
        /// The other end.
        peer: Node,
        /// The channel.
        channel: ChannelId,
        /// Who had dialed.
        direction: Direction,
        /// Why, for people.
        why: String,
    },
    /// The peer refused the greeting. Told once for each reason in a row.
    HelloRefused {
        /// The other end.
        peer: Node,
        /// The stable name of the reason.
        code: String,
        /// What to do, for people.
        message: String,
    },
    /// More than the soft limit waits to be taken by the peer. Told once until it falls.
    Congested {
        /// The slow peer.
        peer: Node,
        /// Frames not acknowledged.
        items: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// A stream was given up; the peer sees a gap in the numbers of the bundles.
    Lost {
        /// The other end.
        peer: Node,
        /// The channel.
        channel: ChannelId,
        /// Frames that were handed back.
        frames: usize,
        /// Why.
        why: ResetReason,
    },
    /// The peer gave its stream up; a gap in the numbers of its bundles follows.
    PeerReset {
        /// The other end.
        peer: Node,
        /// The channel.
        channel: ChannelId,
    },
    /// A newer life of the peer was seen, or this one was declared dead.
    Retired {
        /// The life that is over.
        peer: Node,
        /// Frames to it that were not acknowledged.
        unsent: usize,
        /// Frames from it that nobody will take.
        untaken: usize,
    },
    /// A bundle for a life that is over, or for this process itself.
    NoLink {
        /// For whom it was.
        to: Node,
        /// Its number.
        n: u64,
    },
    /// A bundle above the limit: it was not sent.
    TooLarge {
        /// For whom it was.
        to: Node,
        /// Its number.
        n: u64,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Bundles whose record the journal never wrote: they were not sent.
    NeverReleased {
        /// How many.
        bundles: usize,
    },
    /// A large offload that found the bulk channel full, or the peer's life over. Its entity goes
    /// on from the image.
    OffloadDropped {
        /// The peer.
        peer: Node,
        /// The entity.
        entity: EntityId,
    },
    /// What a peer sent does not decode. The connection it came on was ended.
    Malformed {
        /// Who sent it.
        peer: Node,
        /// What is wrong, for people.
        what: String,
    },
}

impl LinkEvent {
    /// The life to which numbered bundles of ours were lost. It sees the gap in their numbers and
    /// begins anew by itself; this side has nothing but this to learn it from.
    #[must_use]
    pub fn lost_to(&self) -> Option<Node> {
        match *self {
            Self::Lost { peer, channel: ChannelId::ORDERED, frames, .. } if frames > 0 => {
                Some(peer)
            }
            Self::TooLarge { to, .. } => Some(to),
            _ => None,
        }
    }

    /// The entry in the journal: when the connection that carries what is ordered began and ended,
    /// and what was refused or dropped.
    #[must_use]
    pub fn fact(&self) -> Option<Event> {
        match *self {
            Self::Connected { peer, channel: ChannelId::ORDERED, direction } => {
                Some(Event::LinkBegan { peer, dialed: direction == Direction::Outgoing })
            }
            Self::Disconnected { peer, channel: ChannelId::ORDERED, direction, .. } => {
                Some(Event::LinkEnded { peer, dialed: direction == Direction::Outgoing })
            }
            _ => self.refusal(),
        }
    }

    /// What was refused or dropped; the same reason is the counter.
    #[must_use]
    pub fn refusal(&self) -> Option<Event> {
        let entry = |reason, from, entity, count: usize| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            Some(Event::Refusal { reason, from, entity, count })
        };
        match *self {
            Self::Lost { peer, frames, .. } => entry(Refused::QueueFull, Some(peer), None, frames),
            Self::Retired { peer, unsent, untaken } if unsent + untaken > 0 => {
                entry(Refused::PeerGone, Some(peer), None, unsent + untaken)
            }
            Self::NoLink { to, .. } => entry(Refused::PeerGone, Some(to), None, 1),
            Self::TooLarge { to, .. } => entry(Refused::TooLarge, Some(to), None, 1),
            Self::NeverReleased { bundles } => entry(Refused::QueueFull, None, None, bundles),
            Self::OffloadDropped { peer, entity } => {
                entry(Refused::QueueFull, Some(peer), Some(entity), 1)
            }
            Self::Malformed { peer, .. } => entry(Refused::Malformed, Some(peer), None, 1),
            Self::Connected { .. }
            | Self::Disconnected { .. }
            | Self::HelloRefused { .. }
            | Self::Congested { .. }
            | Self::PeerReset { .. }
            | Self::Retired { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::NodeKind;

    #[test]
    fn the_journal_is_told_of_the_connections_that_carry_what_is_ordered_and_of_no_others() {
        let peer = Node::new(NodeKind::Base, 1, 7);
        for (direction, dialed) in [(Direction::Outgoing, true), (Direction::Incoming, false)] {
            let told = |channel| {
                let why = String::new();
                let ended = LinkEvent::Disconnected { peer, channel, direction, why };
                [LinkEvent::Connected { peer, channel, direction }.fact(), ended.fact()]
            };
            let expected = [Event::LinkBegan { peer, dialed }, Event::LinkEnded { peer, dialed }];
            assert_eq!(told(ChannelId::ORDERED), expected.map(Some));
            assert_eq!(told(ChannelId::BULK), [None, None]);
        }
        let lost = LinkEvent::NoLink { to: peer, n: 3 };
        assert_eq!((lost.fact().is_some(), lost.fact()), (true, lost.refusal()));
    }
}
