//! All links of one process: by the life of the peer and the channel.
//!
//! A peer is its life, never its address: when a newer life shows itself, or a life is declared
//! dead, everything kept for the old one is handed back at once, and nothing waits for an answer
//! that cannot come.

use super::fault::LinkFault;
use super::hello::{
    Agreed, Hello, HelloRefusal, KnownIncarnations, LocalIdentity, Welcome, check_hello,
};
use super::machine::LinkMachine;
use super::receive::Delivery;
use super::send::{Abandoned, ResetReason};
use super::stats::LinkStats;
use super::types::{ChannelId, Connection, Direction, LinkLimits, Payload, Resume};
use crate::order::{Node, NodeName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why there is no link to a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenRefusal {
    /// That life is over: address the newest one.
    #[error("{0} is over: look the newest life of that name up")]
    Over(Node),
    /// This process itself.
    #[error("{0} is this process itself")]
    Itself(Node),
    /// No such channel is configured.
    #[error("channel {} is not known here", .0.0)]
    UnknownChannel(ChannelId),
}

/// Why a welcome did not begin a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WelcomeRefusal {
    /// The life that was dialed was retired meanwhile, or was never dialed.
    #[error("there is no link to {0}: that life is over or was never dialed")]
    Over(Node),
    /// The streams cannot be continued; the fault names the remedy.
    #[error("the streams cannot be continued: {0}")]
    CannotResume(LinkFault),
}

/// What was kept for a life that is over.
#[must_use = "the frames it hands back will not arrive by themselves"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retired<P> {
    /// The life that is over.
    pub peer: Node,
    /// The channel.
    pub channel: ChannelId,
    /// Who had dialed.
    pub direction: Direction,
    /// What was sent to it and not acknowledged.
    pub abandoned: Abandoned<P>,
    /// What it had sent and the consumer had not taken, in order: the caller decides whether the
    /// words of a life that is over still count.
    pub untaken: Vec<Delivery<P>>,
    /// Frames that waited behind a hole which can no longer be closed.
    pub held: usize,
    /// The final counters.
    pub stats: LinkStats,
}

/// A hello that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted<P> {
    /// What both speak.
    pub agreed: Agreed,
    /// The answer to send.
    pub welcome: Welcome,
    /// The connection that began.
    pub connection: Connection,
    /// What was kept for older lives of the dialer.
    pub retired: Vec<Retired<P>>,
}

type Key = (Node, ChannelId, Direction);

/// The registry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Links<P> {
    local: LocalIdentity,
    channels: BTreeMap<ChannelId, LinkLimits>,
    known: KnownIncarnations,
    machines: BTreeMap<Key, LinkMachine<P>>,
    refusals: BTreeMap<String, u64>,
}

impl<P: Payload> Links<P> {
    /// A process without links, that knows these channels.
    #[must_use]
    pub const fn new(local: LocalIdentity, channels: BTreeMap<ChannelId, LinkLimits>) -> Self {
        Self {
            local,
            channels,
            known: KnownIncarnations::new(),
            machines: BTreeMap::new(),
            refusals: BTreeMap::new(),
        }
    }

    /// The link on which this process sends to a peer, made if there is none. Sending may begin
    /// before any connection.
    ///
    /// # Errors
    /// That life is over, or is this process, or the channel is unknown.
    pub fn open(
        &mut self,
        peer: Node,
        channel: ChannelId,
    ) -> Result<&mut LinkMachine<P>, OpenRefusal> {
        if peer.name == self.local.node.name {
            return Err(OpenRefusal::Itself(peer));
        }
        if self.known.is_over(peer) {
            return Err(OpenRefusal::Over(peer));
        }
        let limits = *self.channels.get(&channel).ok_or(OpenRefusal::UnknownChannel(channel))?;
        let machine = self.machines.entry((peer, channel, Direction::Outgoing));
        Ok(machine.or_insert_with(|| LinkMachine::new(limits)))
    }

    /// A link, if there is one.
    pub fn get(
        &mut self,
        peer: Node,
        channel: ChannelId,
        direction: Direction,
    ) -> Option<&mut LinkMachine<P>> {
        self.machines.get_mut(&(peer, channel, direction))
    }

    /// All links, in order of peer, channel and direction.
    pub fn iter_mut(
        &mut self,
    ) -> impl Iterator<Item = (Node, ChannelId, Direction, &mut LinkMachine<P>)> {
        self.machines
            .iter_mut()
            .map(|((peer, channel, direction), machine)| (*peer, *channel, *direction, machine))
    }

    /// What to say first on a connection that this process dials.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn hello(&mut self, to: Node, channel: ChannelId) -> Result<Hello, OpenRefusal> {
        let resume = self.open(to, channel)?.resume();
        let local = &self.local;
        Ok(Hello {
            cluster: local.cluster,
            proto_min: local.proto_min,
            proto_max: local.proto_max,
            schema_hash: local.schema_hash,
            from: local.node,
            to,
            channel,
            resume,
        })
    }

    /// A peer dialed. On success its older lives are retired and the connection has begun.
    ///
    /// # Errors
    /// The answer to send before closing the connection. After `CannotResume` with the remedy
    /// `Reset` the caller resets that link; the dialer's next attempt then succeeds.
    pub fn on_hello(&mut self, hello: &Hello) -> Result<Accepted<P>, HelloRefusal> {
        let accepted = self.try_hello(hello);
        if let Err(refusal) = &accepted {
            *self.refusals.entry(refusal.code().to_owned()).or_default() += 1;
        }
        accepted
    }

    fn try_hello(&mut self, hello: &Hello) -> Result<Accepted<P>, HelloRefusal> {
        let channels: Vec<ChannelId> = self.channels.keys().copied().collect();
        let agreed = check_hello(&self.local, &channels, &self.known, hello)?;
        let (connection, resume) = self.connect(hello).map_err(HelloRefusal::CannotResume)?;
        let welcome = Welcome { proto: agreed.proto, schema_hash: self.local.schema_hash, resume };
        Ok(Accepted { agreed, welcome, connection, retired: self.saw(hello.from) })
    }

    /// A hello that fails leaves no link behind, or failing hellos could fill the registry.
    fn connect(&mut self, hello: &Hello) -> Result<(Connection, Resume), LinkFault> {
        let key = (hello.from, hello.channel, Direction::Incoming);
        let limits = self.channels[&hello.channel];
        let fresh = || LinkMachine::new(limits);
        let mut machine = self.machines.remove(&key);
        let known = machine.is_some();
        let connected = machine.get_or_insert_with(fresh).on_connected(hello.resume);
        let machine = machine.filter(|_| known || connected.is_ok());
        let resume = machine.as_ref().map(LinkMachine::resume).unwrap_or_default();
        self.machines.extend(machine.map(|machine| (key, machine)));
        connected.map(|connection| (connection, resume))
    }

    /// The peer that this process dialed said welcome.
    ///
    /// # Errors
    /// The streams cannot be continued, or that life was retired meanwhile.
    pub fn on_welcome(
        &mut self,
        from: Node,
        channel: ChannelId,
        welcome: &Welcome,
    ) -> Result<Connection, WelcomeRefusal> {
        let machine =
            self.get(from, channel, Direction::Outgoing).ok_or(WelcomeRefusal::Over(from))?;
        machine.on_connected(welcome.resume).map_err(WelcomeRefusal::CannotResume)
    }

    /// A life was seen, in a hello or in the registry of members: older ones are retired.
    pub fn saw(&mut self, node: Node) -> Vec<Retired<P>> {
        self.known.saw(node);
        self.retire(node.name)
    }

    /// A life was declared dead: it and older ones are retired.
    pub fn bury(&mut self, node: Node) -> Vec<Retired<P>> {
        self.known.bury(node);
        self.retire(node.name)
    }

    fn retire(&mut self, name: NodeName) -> Vec<Retired<P>> {
        let over: Vec<Key> = self
            .machines
            .keys()
            .filter(|(peer, ..)| peer.name == name && self.known.is_over(*peer))
            .copied()
            .collect();
        over.into_iter()
            .filter_map(|key| {
                let mut machine = self.machines.remove(&key)?;
                let untaken: Vec<_> = std::iter::from_fn(|| machine.pop()).collect();
                let held = machine.waiting().0;
                let abandoned = machine.reset(ResetReason::PeerGone);
                let (peer, channel, direction) = key;
                let stats = *machine.stats();
                Some(Retired { peer, channel, direction, abandoned, untaken, held, stats })
            })
            .collect()
    }

    /// How many hellos were refused, by code.
    #[must_use]
    pub const fn refusals(&self) -> &BTreeMap<String, u64> {
        &self.refusals
    }

    /// Which lives may still speak.
    #[must_use]
    pub const fn known(&self) -> &KnownIncarnations {
        &self.known
    }
}
