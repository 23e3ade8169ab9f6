//! The first message of a connection: who speaks to whom, and whether they can understand each
//! other.
//!
//! The dialer sends [`Hello`], the other end answers [`HelloAnswer`]. A wrong peer is refused
//! with a stable code before any other byte is exchanged; nothing of it reaches a core. A schema
//! that differs is no refusal: releases that follow each other run side by side, and what may
//! move between them is decided entity by entity.

use super::fault::LinkFault;
use super::types::{ChannelId, Resume};
use crate::order::{Incarnation, Node, NodeName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the dialer says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The cluster it belongs to.
    pub cluster: u64,
    /// Oldest protocol it speaks.
    pub proto_min: u32,
    /// Newest protocol it speaks.
    pub proto_max: u32,
    /// Digest of the entity kinds it was built with.
    pub schema_hash: u64,
    /// Who it is.
    pub from: Node,
    /// Whom it means.
    pub to: Node,
    /// Which channel this connection is for.
    pub channel: ChannelId,
    /// Where its streams are.
    pub resume: Resume,
}

/// The answer to a hello that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol that both will speak.
    pub proto: u32,
    /// Digest of the entity kinds of the answerer.
    pub schema_hash: u64,
    /// Where the answerer's streams are.
    pub resume: Resume,
}

/// The answer to a hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HelloAnswer {
    /// The connection may be used.
    Welcome(Welcome),
    /// The connection will be closed.
    Refused(HelloRefusal),
}

/// Why a hello was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum HelloRefusal {
    /// The peer belongs to another cluster.
    #[error("cluster {theirs:#x} is not ours ({ours:#x}): check the address and the cluster id")]
    OtherCluster {
        /// Ours.
        ours: u64,
        /// The dialer's.
        theirs: u64,
    },
    /// No protocol version that both speak.
    #[error(
        "protocol {their_min}..={their_max} does not meet ours, {our_min}..={our_max}: \
         upgrade the older process"
    )]
    NoCommonProtocol {
        /// Our oldest.
        our_min: u32,
        /// Our newest.
        our_max: u32,
        /// The dialer's oldest.
        their_min: u32,
        /// The dialer's newest.
        their_max: u32,
    },
    /// The dialer means another process, or another life of this one.
    #[error("{wanted} is not here, this is {here}: look its address up again")]
    WrongDestination {
        /// Whom it means.
        wanted: Node,
        /// Who answers.
        here: Node,
    },
    /// The dialer gives this process's own name as its name.
    #[error("{0} is the name of the answering process itself: two processes use one name")]
    OwnName(NodeName),
    /// A newer life of the dialer was seen, or this one was declared dead.
    #[error("{from} is over, incarnation {oldest_valid} or a later one has its name now")]
    OldIncarnation {
        /// The dialer.
        from: Node,
        /// The oldest life of that name that may speak.
        oldest_valid: Incarnation,
    },
    /// No such channel here.
    #[error("channel {} is not known here", .0.0)]
    UnknownChannel(ChannelId),
    /// As many processes greeted as a cluster may have, and this one is not registered.
    #[error("{from} is not registered here, and {names} others greeted: register it first")]
    TooManyPeers {
        /// The dialer.
        from: Node,
        /// How many names are known.
        names: usize,
    },
    /// The streams cannot be continued; the fault says which side must do what.
    #[error("the streams cannot be continued: {0}")]
    CannotResume(LinkFault),
}

impl HelloRefusal {
    /// The stable name of the reason, for logs, counters and the wire.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OtherCluster { .. } => "other-cluster",
            Self::NoCommonProtocol { .. } => "no-common-protocol",
            Self::WrongDestination { .. } => "wrong-destination",
            Self::OwnName(_) => "own-name",
            Self::OldIncarnation { .. } => "old-incarnation",
            Self::UnknownChannel(_) => "unknown-channel",
            Self::TooManyPeers { .. } => "too-many-peers",
            Self::CannotResume(_) => "cannot-resume",
        }
    }

    /// Whether the same dialer may succeed later with the same identity.
    #[must_use]
    pub const fn may_retry(&self) -> bool {
        matches!(
            self,
            Self::CannotResume(_) | Self::WrongDestination { .. } | Self::TooManyPeers { .. }
        )
    }
}

/// What this process says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalIdentity {
    /// The cluster it belongs to.
    pub cluster: u64,
    /// Oldest protocol it speaks.
    pub proto_min: u32,
    /// Newest protocol it speaks.
    pub proto_max: u32,
    /// Digest of its entity kinds.
    pub schema_hash: u64,
    /// Who it is.
    pub node: Node,
}

/// Most names that a process keeps because they greeted it: more than a cluster has. The registry of
/// members may name others beyond that.
pub const NAMES_MAX: usize = 1_024;

/// The oldest life of each name that may still speak. Bounded by [`NAMES_MAX`] and by the number of
/// names that were ever registered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownIncarnations(BTreeMap<NodeName, Incarnation>);

impl KnownIncarnations {
    /// Nothing was seen yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A life was seen: older ones of its name are over. True if this was news.
    pub fn saw(&mut self, node: Node) -> bool {
        self.raise(node.name, node.incarnation)
    }

    /// A life was declared dead: it and older ones of its name are over. True if this was news.
    pub fn bury(&mut self, node: Node) -> bool {
        self.raise(node.name, Incarnation(node.incarnation.0.saturating_add(1)))
    }

    fn raise(&mut self, name: NodeName, to: Incarnation) -> bool {
        let oldest = self.0.entry(name).or_default();
        let news = to > *oldest;
        *oldest = to.max(*oldest);
        news
    }

    /// Whether there is room for a name that nobody but itself has told of.
    #[must_use]
    pub fn has_room_for(&self, name: NodeName) -> bool {
        self.0.len() < NAMES_MAX || self.0.contains_key(&name)
    }

    /// The oldest life of this name that may speak.
    #[must_use]
    pub fn oldest_valid(&self, name: NodeName) -> Incarnation {
        self.0.get(&name).copied().unwrap_or_default()
    }

    /// Whether this life is over.
    #[must_use]
    pub fn is_over(&self, node: Node) -> bool {
        node.incarnation < self.oldest_valid(node.name)
    }
}

/// What two processes agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The newest protocol that both speak.
    pub proto: u32,
    /// Whether both were built with the same entity kinds.
    pub same_schema: bool,
}

/// Judges a hello, without changing anything.
///
/// # Errors
/// The first reason that applies, in the order: cluster, protocol, destination, own name,
/// incarnation, channel, number of peers.
pub fn check_hello(
    local: &LocalIdentity,
    channels: &[ChannelId],
    known: &KnownIncarnations,
    hello: &Hello,
) -> Result<Agreed, HelloRefusal> {
    if hello.cluster != local.cluster {
        let (ours, theirs) = (local.cluster, hello.cluster);
        return Err(HelloRefusal::OtherCluster { ours, theirs });
    }
    let proto = hello.proto_max.min(local.proto_max);
    if proto < hello.proto_min.max(local.proto_min) {
        return Err(HelloRefusal::NoCommonProtocol {
            our_min: local.proto_min,
            our_max: local.proto_max,
            their_min: hello.proto_min,
            their_max: hello.proto_max,
        });
    }
    if hello.to != local.node {
        return Err(HelloRefusal::WrongDestination { wanted: hello.to, here: local.node });
    }
    if hello.from.name == local.node.name {
        return Err(HelloRefusal::OwnName(local.node.name));
    }
    if known.is_over(hello.from) {
        let oldest_valid = known.oldest_valid(hello.from.name);
        return Err(HelloRefusal::OldIncarnation { from: hello.from, oldest_valid });
    }
    if !channels.contains(&hello.channel) {
        return Err(HelloRefusal::UnknownChannel(hello.channel));
    }
    if !known.has_room_for(hello.from.name) {
        return Err(HelloRefusal::TooManyPeers { from: hello.from, names: known.0.len() });
    }
    Ok(Agreed { proto, same_schema: hello.schema_hash == local.schema_hash })
}
