//! The virtual network: one link per direction, connections that carry frames in order with a
//! drawn delay, and cuts that lose what is on its way.

use crate::config::SimConfig;
use crate::happening::{Agenda, Happening, Way};
use marchland_common::link::{Class, Delivery, LinkLimits, LinkMachine, Payload};
use marchland_common::msg::{Bundle, Frame, Outgoing};
use marchland_common::order::{Node, NodeName};
use marchland_common::rng::Rng;
use std::collections::BTreeMap;

/// A bundle on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parcel(Box<Bundle>);

impl Payload for Parcel {
    fn cost(&self) -> usize {
        // The order of magnitude is what the limits need.
        256 + 64 * self.0.msgs.len()
    }
}

/// One direction between two processes.
struct Line {
    sender: LinkMachine<Parcel>,
    receiver: LinkMachine<Parcel>,
    /// When the last frame and the last credit of this connection arrive: none overtakes.
    busy: (u64, u64),
}

pub(crate) struct Network {
    lines: BTreeMap<Way, Line>,
    lives: BTreeMap<NodeName, Node>,
    rng: Rng,
    calm: bool,
    delays: bool,
    pub(crate) cuts: u64,
    pub(crate) frames: u64,
}

impl Network {
    pub(crate) fn new(config: &SimConfig, lives: &[Node]) -> Self {
        let mut lines = BTreeMap::new();
        for a in lives {
            for b in lives.iter().filter(|b| *b != a) {
                let line = Line {
                    sender: LinkMachine::new(LinkLimits::ORDERED),
                    receiver: LinkMachine::new(LinkLimits::ORDERED),
                    busy: (0, 0),
                };
                lines.insert((a.name, b.name), line);
            }
        }
        Self {
            lines,
            lives: lives.iter().map(|n| (n.name, *n)).collect(),
            rng: Rng::child(config.seed, 0x006e_6574),
            calm: config.calm,
            delays: config.faults.delays,
            cuts: 0,
            frames: 0,
        }
    }

    pub(crate) fn ways(&self) -> Vec<Way> {
        self.lines.keys().copied().collect()
    }

    pub(crate) fn delay(&mut self) -> u64 {
        if self.delays && self.rng.chance(1, 40) {
            return self.rng.between(20_000, 400_000) as u64;
        }
        let most = if self.calm { 900 } else { 4_000 };
        self.rng.between(100, most) as u64
    }

    pub(crate) fn send(&mut self, agenda: &mut Agenda, from: NodeName, bundles: Vec<Outgoing>) {
        for outgoing in bundles {
            let way = (from, outgoing.to.name);
            let Some(line) = self.lines.get_mut(&way) else { continue };
            let sent = line.sender.send(Parcel(Box::new(outgoing.bundle)), Class::Ordered);
            assert!(sent.is_ok(), "the limits of a link are far above what a run sends");
            self.carry(agenda, way);
        }
    }

    /// Puts what waits on the connection, in order.
    fn carry(&mut self, agenda: &mut Agenda, way: Way) {
        loop {
            let delay = self.delay();
            let Some(line) = self.lines.get_mut(&way) else { return };
            let Some(connection) = line.receiver.connection() else { return };
            let Some(frame) = line.sender.poll_frame() else { return };
            let at = (agenda.now + delay).max(line.busy.0 + 1);
            line.busy.0 = at;
            self.frames += 1;
            agenda.at(at, Happening::Arrive(way, connection, frame));
        }
    }

    pub(crate) fn arrive(
        &mut self,
        way: Way,
        connection: marchland_common::link::Connection,
        frame: marchland_common::link::Frame<Parcel>,
    ) {
        if let Some(line) = self.lines.get_mut(&way) {
            let arrived = line.receiver.on_frame(connection, frame);
            assert!(arrived.is_ok(), "a link of two honest ends has no fault: {arrived:?}");
        }
    }

    pub(crate) fn credit(
        &mut self,
        way: Way,
        connection: marchland_common::link::Connection,
        ack: marchland_common::link::Ack,
    ) {
        if let Some(line) = self.lines.get_mut(&way) {
            let taken = line.sender.on_ack(connection, ack);
            assert!(taken.is_ok(), "a link of two honest ends has no fault: {taken:?}");
        }
    }

    /// Everything that arrived at a process, by sender and then in order, and credit for it.
    pub(crate) fn take_in(&mut self, agenda: &mut Agenda, to: NodeName) -> Vec<Frame> {
        let mut frames = Vec::new();
        let ways: Vec<Way> = self.lines.keys().filter(|w| w.1 == to).copied().collect();
        for way in ways {
            let delay = self.delay();
            let from = self.lives[&way.0];
            let Some(line) = self.lines.get_mut(&way) else { continue };
            while let Some(delivery) = line.receiver.pop() {
                match delivery {
                    Delivery::Frame { payload, .. } => {
                        frames.push(Frame { from, bundle: *payload.0 });
                    }
                    Delivery::PeerReset { .. } => unreachable!("no link is reset in a run"),
                }
            }
            let Some(connection) = line.sender.connection() else { continue };
            if let Some(ack) = line.receiver.ack_to_send() {
                let at = (agenda.now + delay).max(line.busy.1 + 1);
                line.busy.1 = at;
                agenda.at(at, Happening::Credit(way, connection, ack));
            }
        }
        frames
    }

    /// A connection is made: each end says where it is, and the news travels.
    pub(crate) fn connect(&mut self, agenda: &mut Agenda, way: Way) {
        let delay = self.delay();
        if let Some(line) = self.lines.get(&way) {
            let (sender, receiver) = (line.sender.resume(), line.receiver.resume());
            agenda.after(delay, Happening::Greeted(way, sender, receiver));
        }
    }

    pub(crate) fn greeted(
        &mut self,
        agenda: &mut Agenda,
        way: Way,
        sender: marchland_common::link::Resume,
        receiver: marchland_common::link::Resume,
    ) {
        let Some(line) = self.lines.get_mut(&way) else { return };
        let ends = (line.receiver.on_connected(sender), line.sender.on_connected(receiver));
        assert!(ends.0.is_ok() && ends.1.is_ok(), "two honest ends agree: {ends:?}");
        line.busy = (agenda.now, agenda.now);
        self.carry(agenda, way);
    }

    pub(crate) fn cut(&mut self, way: Way) {
        let Some(line) = self.lines.get_mut(&way) else { return };
        self.cuts += 1;
        if let Some(connection) = line.sender.connection() {
            line.sender.on_disconnected(connection);
        }
        if let Some(connection) = line.receiver.connection() {
            line.receiver.on_disconnected(connection);
        }
    }
}
