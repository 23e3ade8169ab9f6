//! The virtual network: one link per direction between two lives, connections that carry frames in
//! order with a drawn delay, and cuts that lose what is on its way.

use crate::config::SimConfig;
use crate::faults::Class;
use crate::happening::{Agenda, Happening, Way};
use crate::reach::Reach;
use marchland_common::link::{
    Ack, Connection, Delivery, LinkFault, LinkLimits, LinkMachine, Payload, Remedy, ResetReason,
    Resume,
};
use marchland_common::msg::{BaseToCell, Bundle, Frame, Msg, Outgoing};
use marchland_common::order::{Node, NodeName};
use marchland_common::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

/// A bundle on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parcel(pub(crate) Box<Bundle>);

impl Payload for Parcel {
    fn cost(&self) -> usize {
        // The order of magnitude is what the limits need.
        256 + 64 * self.0.msgs.len()
    }
}

type OnWire = marchland_common::link::Frame<Parcel>;

/// One direction between two lives. An end is gone when its process is, or has heard that the
/// other one is over.
struct Line {
    sender: Option<LinkMachine<Parcel>>,
    receiver: Option<LinkMachine<Parcel>>,
    /// When the last frame and the last credit of this connection arrive: none overtakes.
    busy: (u64, u64),
    /// What waits in front of a blocked way.
    stuck: VecDeque<(Connection, OnWire)>,
    stuck_credit: VecDeque<(Connection, Ack)>,
    /// Counts attempts to connect, so that a late answer to an older one is none.
    attempt: u64,
    /// Whether an attempt is planned or under way.
    dialing: bool,
    /// No attempt succeeds before.
    down_until: u64,
    /// When a frame arrived last at the receiver.
    heard: u64,
    /// Attempts in a row that found nobody.
    absent: u32,
    /// The newest grants that were sent, where they are to be misdelivered.
    grants: VecDeque<Msg>,
}

/// Grants that are kept of a line.
const GRANTS_MAX: usize = 8;

/// What a life knows of its links with another one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    /// When it heard it last.
    pub(crate) heard: u64,
    /// Whether a connection stands, in either direction.
    pub(crate) stands: bool,
    /// Attempts to connect in a row that found nobody.
    pub(crate) absent: u32,
}

pub(crate) struct Network {
    lines: BTreeMap<Way, Line>,
    rng: Rng,
    calm: bool,
    delays: bool,
    /// Grants to a life that ended, for the next one of its name.
    strays: BTreeMap<(Node, NodeName), Vec<Msg>>,
    keeps_strays: bool,
    pub(crate) misdelivered: u64,
    pub(crate) delayed: u64,
    pub(crate) frames: u64,
    pub(crate) resets: u64,
}

impl Network {
    pub(crate) fn new(config: &SimConfig) -> Self {
        Self {
            lines: BTreeMap::new(),
            rng: Rng::child(config.seed, 0x006e_6574),
            calm: config.calm,
            delays: config.has(Class::Delays),
            strays: BTreeMap::new(),
            keeps_strays: config.has(Class::Misdelivered),
            misdelivered: 0,
            delayed: 0,
            frames: 0,
            resets: 0,
        }
    }

    pub(crate) fn delay(&mut self) -> u64 {
        if self.delays && self.rng.chance(1, 40) {
            self.delayed += 1;
            return self.rng.between(20_000, 400_000) as u64;
        }
        let most = if self.calm { 900 } else { 4_000 };
        self.rng.between(100, most) as u64
    }

    /// Makes the line on which a life sends to another. True when it is to be dialed.
    pub(crate) fn open(&mut self, now: u64, way: Way) -> bool {
        let line = self.lines.entry(way).or_insert_with(|| Line {
            sender: None,
            receiver: None,
            busy: (0, 0),
            stuck: VecDeque::new(),
            stuck_credit: VecDeque::new(),
            attempt: 0,
            dialing: false,
            down_until: 0,
            heard: now,
            absent: 0,
            grants: VecDeque::new(),
        });
        let sender = line.sender.get_or_insert_with(|| LinkMachine::new(LinkLimits::ORDERED));
        let is_due = sender.connection().is_none() && !line.dialing;
        line.dialing |= is_due;
        is_due
    }

    pub(crate) fn send(&mut self, agenda: &mut Agenda, from: Node, outgoing: Outgoing) {
        let way = (from, outgoing.to);
        let Some(line) = self.lines.get_mut(&way) else { return };
        let Some(sender) = line.sender.as_mut() else { return };
        let mut parcel = Parcel(Box::new(outgoing.bundle));
        if let Some(strays) = self.strays.remove(&(from, outgoing.to.name)) {
            self.misdelivered += strays.len() as u64;
            parcel.0.msgs.extend(strays);
        }
        if self.keeps_strays {
            let is_grant = |msg: &&Msg| matches!(msg, Msg::BaseToCell(BaseToCell::Grant(_)));
            line.grants.extend(parcel.0.msgs.iter().filter(is_grant).cloned());
            let surplus = line.grants.len().saturating_sub(GRANTS_MAX);
            line.grants.drain(..surplus);
        }
        if sender.send(parcel, marchland_common::link::Class::Ordered).is_err() {
            // Too much waits for a peer that takes nothing: the stream begins anew, and the gap in
            // the numbers of the bundles says so.
            drop(sender.reset(ResetReason::Overflow));
            self.resets += 1;
            self.hang_up(way);
            return;
        }
        self.carry(agenda, way);
    }

    /// Puts what waits on the connection, in order.
    fn carry(&mut self, agenda: &mut Agenda, way: Way) {
        loop {
            let delay = self.delay();
            let Some(line) = self.lines.get_mut(&way) else { return };
            let (Some(sender), Some(receiver)) = (&mut line.sender, &line.receiver) else { return };
            let Some(connection) = receiver.connection() else { return };
            let Some(frame) = sender.poll_frame() else { return };
            let at = (agenda.now + delay).max(line.busy.0 + 1);
            line.busy.0 = at;
            self.frames += 1;
            agenda.at(at, Happening::Arrive(way, connection, frame));
        }
    }

    /// A frame arrives. True when it was taken in by the receiver's machine.
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        reach: &Reach,
        (way, connection, frame): (Way, Connection, OnWire),
    ) -> bool {
        let Some(line) = self.lines.get_mut(&way) else { return false };
        let Some(receiver) = line.receiver.as_mut() else { return false };
        if !reach.passes(way.0.name, way.1.name) || !line.stuck.is_empty() {
            line.stuck.push_back((connection, frame));
            return false;
        }
        line.heard = now;
        match receiver.on_frame(connection, frame) {
            Ok(arrival) => arrival != marchland_common::link::Arrival::OldConnection,
            Err(fault) => {
                assert!(fault.remedy() == Remedy::Reconnect, "honest ends have no fault: {fault}");
                self.hang_up(way);
                false
            }
        }
    }

    pub(crate) fn credit(&mut self, reach: &Reach, way: Way, connection: Connection, ack: Ack) {
        let Some(line) = self.lines.get_mut(&way) else { return };
        let Some(sender) = line.sender.as_mut() else { return };
        if !reach.passes(way.1.name, way.0.name) || !line.stuck_credit.is_empty() {
            line.stuck_credit.push_back((connection, ack));
            return;
        }
        let taken = sender.on_ack(connection, ack);
        assert!(taken.is_ok(), "a link of two honest ends has no fault: {taken:?}");
    }

    /// Packets pass again from one process to another: what waited arrives at once, in order.
    pub(crate) fn unblock(&mut self, agenda: &mut Agenda, from: NodeName, to: NodeName) {
        let now = agenda.now;
        for (way, line) in &mut self.lines {
            if (way.0.name, way.1.name) == (from, to) {
                for (connection, frame) in std::mem::take(&mut line.stuck) {
                    line.heard = now;
                    if let Some(receiver) = &mut line.receiver {
                        // What no longer fits its connection is sent again over the next one.
                        drop(receiver.on_frame(connection, frame));
                    }
                }
            }
            if (way.1.name, way.0.name) == (from, to) {
                for (connection, ack) in std::mem::take(&mut line.stuck_credit) {
                    if let Some(sender) = &mut line.sender {
                        drop(sender.on_ack(connection, ack));
                    }
                }
            }
        }
    }

    /// Everything that arrived at a life, by sender and then in order, and credit for it.
    pub(crate) fn take_in(&mut self, agenda: &mut Agenda, to: Node) -> Vec<Frame> {
        let mut frames = Vec::new();
        let ways: Vec<Way> = self.lines.keys().filter(|w| w.1 == to).copied().collect();
        for way in ways {
            let delay = self.delay();
            let Some(line) = self.lines.get_mut(&way) else { continue };
            let Some(receiver) = &mut line.receiver else { continue };
            while let Some(delivery) = receiver.pop() {
                if let Delivery::Frame { payload, .. } = delivery {
                    frames.push(Frame { from: way.0, bundle: *payload.0 });
                }
            }
            let Some(connection) = line.sender.as_ref().and_then(LinkMachine::connection) else {
                continue;
            };
            if let Some(ack) = receiver.ack_to_send() {
                let at = (agenda.now + delay).max(line.busy.1 + 1);
                line.busy.1 = at;
                agenda.at(at, Happening::Credit(way, connection, ack));
            }
        }
        frames
    }

    /// An attempt to connect begins: its number, and what the sender says first. None when there
    /// is nothing to connect, or it must wait until the time in the error.
    pub(crate) fn dial(&mut self, now: u64, way: Way) -> Option<Result<(u64, Resume), u64>> {
        let line = self.lines.get_mut(&way)?;
        line.dialing = false;
        let sender = line.sender.as_mut()?;
        if sender.connection().is_some() {
            return None;
        }
        line.dialing = true;
        if now < line.down_until {
            return Some(Err(line.down_until));
        }
        if sender.broken().is_some() {
            drop(sender.reset(ResetReason::Overflow));
        }
        line.attempt += 1;
        Some(Ok((line.attempt, sender.resume())))
    }

    /// An attempt failed; `absent` when nobody was there.
    pub(crate) fn failed(&mut self, way: Way, absent: bool) {
        if let Some(line) = self.lines.get_mut(&way) {
            line.absent = if absent { line.absent + 1 } else { 0 };
        }
    }

    /// The receiver is greeted. Returns what it answers; none if the attempt failed.
    pub(crate) fn greet(&mut self, way: Way, attempt: u64, sender: Resume) -> Option<Resume> {
        let line = self.lines.get_mut(&way).filter(|line| line.attempt == attempt)?;
        let receiver = line.receiver.get_or_insert_with(|| LinkMachine::new(LinkLimits::ORDERED));
        let connected = receiver.on_connected(sender);
        assert!(connected.is_ok(), "a link of two honest ends has no fault: {connected:?}");
        line.stuck.clear();
        Some(receiver.resume())
    }

    /// The sender is welcomed: the connection stands. False if the attempt failed.
    pub(crate) fn welcome(
        &mut self,
        agenda: &mut Agenda,
        way: Way,
        (attempt, receiver): (u64, Resume),
    ) -> bool {
        let Some(line) = self.lines.get_mut(&way).filter(|line| line.attempt == attempt) else {
            return false;
        };
        let Some(sender) = line.sender.as_mut() else { return false };
        match sender.on_connected(receiver) {
            Ok(_) => {}
            Err(LinkFault::NoProgress { .. }) => {
                drop(sender.reset(ResetReason::Fault));
                self.resets += 1;
                return false;
            }
            Err(fault) => unreachable!("a link of two honest ends has no fault: {fault}"),
        }
        (line.dialing, line.absent) = (false, 0);
        line.stuck_credit.clear();
        line.busy = (agenda.now, agenda.now);
        self.carry(agenda, way);
        true
    }

    /// The connection of a line ends at both ends, and what is on its way is lost. It is dialed
    /// again by whoever sees that it is down.
    pub(crate) fn hang_up(&mut self, way: Way) {
        let Some(line) = self.lines.get_mut(&way) else { return };
        line.attempt += 1;
        line.stuck.clear();
        line.stuck_credit.clear();
        for machine in [&mut line.sender, &mut line.receiver].into_iter().flatten() {
            if let Some(connection) = machine.connection() {
                machine.on_disconnected(connection);
            }
        }
    }

    /// The same, and no attempt succeeds for a while. True when a connection stood.
    pub(crate) fn cut(&mut self, way: Way, until: u64) -> bool {
        let Some(line) = self.lines.get_mut(&way) else { return false };
        line.down_until = line.down_until.max(until);
        let stood = line.sender.as_ref().is_some_and(|s| s.connection().is_some());
        self.hang_up(way);
        stood
    }

    /// Hangs up everything between two processes. Returns the lines to dial again.
    pub(crate) fn hang_up_between(&mut self, a: NodeName, b: NodeName) -> Vec<Way> {
        let between = |way: &Way| {
            let names = (way.0.name, way.1.name);
            names == (a, b) || names == (b, a)
        };
        let ways: Vec<Way> = self.lines.keys().copied().filter(between).collect();
        ways.iter().for_each(|way| self.hang_up(*way));
        self.undialed(ways)
    }

    /// Of these lines, those that nobody tries to connect; from now on somebody does.
    fn undialed(&mut self, ways: Vec<Way>) -> Vec<Way> {
        let mut out = Vec::new();
        for way in ways {
            let Some(line) = self.lines.get_mut(&way) else { continue };
            let is_down = line.sender.as_ref().is_some_and(|s| s.connection().is_none());
            if is_down && !line.dialing {
                line.dialing = true;
                out.push(way);
            }
        }
        out
    }

    /// All lines of a life that are down and that nobody tries to connect.
    pub(crate) fn down_lines(&mut self, from: Node) -> Vec<Way> {
        let ways = self.lines.keys().copied().filter(|way| way.0 == from).collect();
        self.undialed(ways)
    }

    /// A life is gone: its ends are. What it had sent may still arrive, if it `lingers`. Returns
    /// the lines on which it does.
    pub(crate) fn lose(&mut self, node: Node, lingers: bool) -> Vec<Way> {
        let ways: Vec<Way> =
            self.lines.keys().copied().filter(|w| w.0 == node || w.1 == node).collect();
        let mut lingering = Vec::new();
        for way in ways {
            if lingers && way.0 == node {
                lingering.push(way);
            } else {
                self.hang_up(way);
            }
            let Some(line) = self.lines.get_mut(&way) else { continue };
            if way.0 == node {
                line.sender = None;
            } else {
                line.receiver = None;
            }
        }
        self.sweep();
        lingering
    }

    /// A life hears that another one is over: it keeps nothing for it and dials it no more.
    /// Returns how many bundles of it had arrived and are not read.
    pub(crate) fn retire(&mut self, at: Node, over: Node) -> u32 {
        let mut untaken = 0;
        self.hang_up((at, over));
        self.hang_up((over, at));
        if let Some(line) = self.lines.get_mut(&(at, over)) {
            line.sender = None;
            let grants = std::mem::take(&mut line.grants);
            if !grants.is_empty() {
                self.strays.entry((at, over.name)).or_default().extend(grants);
            }
        }
        if let Some(line) = self.lines.get_mut(&(over, at))
            && let Some(mut receiver) = line.receiver.take()
        {
            while let Some(delivery) = receiver.pop() {
                untaken += u32::from(matches!(delivery, Delivery::Frame { .. }));
            }
        }
        self.sweep();
        untaken
    }

    fn sweep(&mut self) {
        self.lines.retain(|_, line| line.sender.is_some() || line.receiver.is_some());
    }

    /// All peers that a life has a line with.
    pub(crate) fn peers_of(&self, node: Node) -> Vec<Node> {
        let mut peers: Vec<Node> = self
            .lines
            .keys()
            .filter(|w| w.0 == node || w.1 == node)
            .map(|w| if w.0 == node { w.1 } else { w.0 })
            .collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// The lines between present lives that stand, in order.
    pub(crate) fn standing(&self) -> Vec<Way> {
        let stands = |line: &Line| line.sender.as_ref().is_some_and(|s| s.connection().is_some());
        self.lines.iter().filter(|(_, line)| stands(line)).map(|(way, _)| *way).collect()
    }

    /// What a life knows of its links with another one.
    pub(crate) fn sight(&self, at: Node, of: Node) -> Option<Sight> {
        let (to, from) = (self.lines.get(&(at, of)), self.lines.get(&(of, at)));
        if to.is_none() && from.is_none() {
            return None;
        }
        let out = to.and_then(|line| line.sender.as_ref()).and_then(LinkMachine::connection);
        let inn = from.and_then(|line| line.receiver.as_ref()).and_then(LinkMachine::connection);
        Some(Sight {
            heard: from.map_or(0, |line| line.heard),
            stands: out.is_some() || inn.is_some(),
            absent: to.map_or(0, |line| line.absent),
        })
    }
}
