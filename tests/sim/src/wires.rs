//! Processes and their links: who dials whom, who refuses whom, and what both notice.

use crate::happening::{Happening, Way};
use crate::links::Parcel;
use crate::run::Run;
use marchland_common::journal::{Event, Refused};
use marchland_common::link::{Connection, Frame, Resume};
use marchland_common::order::{Node, NodeKind, NodeName};

/// Between two attempts that found nobody.
const REFUSED_AGAIN_US: u64 = 50_000;
/// After an attempt without any answer.
const UNANSWERED_US: (i64, i64) = (150_000, 400_000);
/// Until keep-alives notice that nothing comes back.
const KEEP_ALIVE_US: (i64, i64) = (300_000, 700_000);

impl Run {
    /// Dials everything of a life that is down.
    pub(crate) fn redial(&mut self, from: Node) {
        for way in self.net.down_lines(from) {
            let delay = 1_000 + self.rng.below(20_000);
            self.agenda.after(delay, Happening::Dial(way));
        }
    }

    pub(crate) fn redial_all(&mut self) {
        let lives: Vec<Node> = self.processes.values().map(|p| p.node).collect();
        for node in lives {
            self.redial(node);
        }
    }

    pub(crate) fn dial(&mut self, way: Way) {
        let now = self.agenda.now;
        let Some(process) = self.life(way.0) else { return };
        if process.pulse.stands(now) {
            return self.agenda.after(20_000, Happening::Dial(way));
        }
        if process.refuses(way.1) {
            return;
        }
        let (attempt, resume) = match self.net.dial(now, way) {
            None => return,
            Some(Err(until)) => return self.agenda.at(until, Happening::Dial(way)),
            Some(Ok(begun)) => begun,
        };
        if !self.reach.answers(way.0.name, way.1.name) || self.stands(way.1.name) {
            self.net.failed(way, false);
            let again = self.rng.between(UNANSWERED_US.0, UNANSWERED_US.1) as u64;
            return self.agenda.after(again, Happening::Dial(way));
        }
        if self.life(way.1).is_none() {
            self.net.failed(way, true);
            return self.agenda.after(REFUSED_AGAIN_US, Happening::Dial(way));
        }
        let delay = self.net.delay();
        self.agenda.after(delay, Happening::Hello(way, attempt, resume));
    }

    /// Whether a process stands still at present.
    pub(crate) fn stands(&self, name: NodeName) -> bool {
        self.processes.get(&name).is_some_and(|p| p.pulse.stands(self.agenda.now))
    }

    fn dial_later(&mut self, way: Way) {
        self.agenda.after(REFUSED_AGAIN_US, Happening::Dial(way));
    }

    pub(crate) fn hello(&mut self, way: Way, attempt: u64, resume: Resume) {
        let is_reached = self.reach.answers(way.0.name, way.1.name) && !self.stands(way.1.name);
        let Some(receiver) = self.life(way.1).filter(|_| is_reached) else {
            return self.dial_later(way);
        };
        // A life that is over here is told so, and goes on trying until it knows.
        if receiver.refuses(way.0) {
            return self.dial_later(way);
        }
        self.sees(way.1, way.0);
        match self.net.greet(way, attempt, resume) {
            Some(answer) => {
                let delay = self.net.delay();
                self.agenda.after(delay, Happening::Welcome(way, attempt, answer));
            }
            None => self.dial_later(way),
        }
    }

    pub(crate) fn welcome(&mut self, way: Way, attempt: u64, resume: Resume) {
        let is_reached = self.reach.passes(way.1.name, way.0.name);
        if self.life(way.0).is_none() {
            return;
        }
        let stands = self.life(way.1).is_some();
        if !is_reached || !stands || !self.net.welcome(&mut self.agenda, way, (attempt, resume)) {
            self.dial_later(way);
        }
    }

    /// A life was seen, in a hello or in the registry: older ones of its name are over.
    pub(crate) fn sees(&mut self, at: Node, node: Node) {
        let Some(process) = self.life(at) else { return };
        process.known.saw(node);
        self.retire_over(at);
    }

    pub(crate) fn buries(&mut self, at: Node, node: Node) {
        let Some(process) = self.life(at) else { return };
        process.known.bury(node);
        self.retire_over(at);
    }

    /// Ends what is kept for lives that are over; what they had sent and nobody read is refused.
    fn retire_over(&mut self, at: Node) {
        for peer in self.net.peers_of(at) {
            let Some(process) = self.life(at) else { return };
            if !process.known.is_over(peer) {
                continue;
            }
            let count = self.net.retire(at, peer);
            let fact = Event::Refusal {
                reason: Refused::StaleIncarnation,
                from: Some(peer),
                entity: None,
                count,
            };
            if let Some(process) = self.life(at).filter(|_| count > 0) {
                process.facts.push(fact);
            }
        }
    }

    pub(crate) fn arrive(&mut self, way: Way, connection: Connection, frame: Frame<Parcel>) {
        let now = self.agenda.now;
        let bundle = &frame.payload.0;
        let (tick, phase) = (bundle.src_tick, bundle.phase_us);
        if self.net.arrive(now, &self.reach, (way, connection, frame))
            && let Some(process) = self.life(way.1)
        {
            process.pulse.observe(now, way.0, tick, phase);
        }
        // A receiver that could not take it hung up.
        self.redial(way.0);
    }

    /// Packets between two processes do not pass any more.
    pub(crate) fn block(&mut self, from: NodeName, to: NodeName) {
        self.reach.block(from, to);
        let after = self.rng.between(KEEP_ALIVE_US.0, KEEP_ALIVE_US.1) as u64;
        self.agenda.after(after, Happening::Lapse(from, to));
    }

    pub(crate) fn lift(&mut self, from: NodeName, to: NodeName) {
        if self.reach.lift(from, to) {
            self.net.unblock(&mut self.agenda, from, to);
        }
    }

    /// If two processes had no answer from each other for the time of a keep-alive, both hang up.
    pub(crate) fn lapse(&mut self, a: NodeName, b: NodeName) {
        let is_cut = !self.reach.answers(a, b) || self.stands(a) || self.stands(b);
        if !is_cut {
            return;
        }
        for way in self.net.hang_up_between(a, b) {
            self.agenda.after(1_000, Happening::Dial(way));
        }
    }

    /// A process stands still from now on: nobody gets an answer of it.
    pub(crate) fn lapse_all(&mut self, name: NodeName) {
        let others: Vec<NodeName> = self.processes.keys().copied().collect();
        for other in others.into_iter().filter(|other| *other != name) {
            let after = self.rng.between(KEEP_ALIVE_US.0, KEEP_ALIVE_US.1) as u64;
            self.agenda.after(after, Happening::Lapse(name, other));
        }
    }

    /// Makes the lines to all members that a life knows, and dials them.
    pub(crate) fn meet(&mut self, node: Node) {
        let Some(process) = self.life(node) else { return };
        let is_peer = |n: &Node| matches!(n.name.kind, NodeKind::Cell | NodeKind::Base);
        let members = process.watch.members().iter().map(|m| m.node);
        let peers: Vec<Node> = members.filter(|n| is_peer(n) && n.name != node.name).collect();
        for peer in peers {
            self.sees(node, peer);
            let Some(process) = self.life(node) else { return };
            if !process.refuses(peer) && self.net.open(self.agenda.now, (node, peer)) {
                let delay = if self.agenda.now == 0 { 0 } else { 1_000 + self.rng.below(20_000) };
                self.agenda.after(delay, Happening::Dial((node, peer)));
            }
        }
    }
}
