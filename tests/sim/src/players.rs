//! Players and their streams: as a real client does, they try until they are welcomed.

use crate::client::{Heard, Player, Stream};
use crate::faults::Class;
use crate::happening::Happening;
use crate::run::Run;
use marchland_baseapp_core::io::{ClientEvent, ClientFrame, ToClient};
use marchland_common::order::Node;

/// Between two attempts.
const PAUSE_US: (i64, i64) = (50_000, 1_000_000);

impl Run {
    fn say(&mut self, player: usize, to: Node, said: Vec<ClientEvent>) {
        for event in said {
            let delay = 500 + self.rng.below(20_000);
            let p = &mut self.players[player];
            p.busy = (self.agenda.now + delay).max(p.busy + 1);
            let at = p.busy;
            self.agenda.at(at, Happening::Said(to, event));
        }
    }

    pub(crate) fn act(&mut self, player: usize) {
        let Stream::Open(node) = self.players[player].stream else { return };
        let others = self.everybody();
        let said = self.players[player].act(&others, &mut self.heard);
        self.say(player, node, said);
    }

    /// A frame leaves a baseapp; it reaches its client in order.
    pub(crate) fn tell(&mut self, from: Node, told: ToClient) {
        self.agenda.after(0, Happening::Told(from, told));
    }

    pub(crate) fn told(&mut self, from: Node, told: ToClient) {
        let number = match &told.what {
            ClientFrame::Welcome { request, .. }
            | ClientFrame::NotYet { request, .. }
            | ClientFrame::Refused { request, .. } => Some(Player::of_request(*request)),
            _ => self.players.iter().position(|p| p.listens(from, &told)),
        };
        let listens = |n: &usize| self.players.get(*n).is_some_and(|p| p.listens(from, &told));
        let Some(number) = number.filter(listens) else { return };
        match self.players[number].hear(from, told, &mut self.heard) {
            Heard::Says(said) => self.say(number, from, said),
            Heard::Refused(reason) => {
                if reason.starts_with("unknown session") {
                    self.settled.complain(format!("player {number} lost its session: {reason}"));
                }
                self.try_again(number);
            }
        }
    }

    fn try_again(&mut self, player: usize) {
        let after = self.rng.between(PAUSE_US.0, PAUSE_US.1) as u64;
        self.agenda.after(after, Happening::Return(player));
    }

    pub(crate) fn hangup(&mut self, player: usize) {
        if let Some((node, event)) = self.players[player].hangup() {
            self.count(Class::Clients);
            self.say(player, node, vec![event]);
            self.try_again(player);
        }
    }

    /// The life at the other end of a stream is gone.
    pub(crate) fn broken(&mut self, player: usize, node: Node) {
        let to = match self.players[player].stream {
            Stream::None => return,
            Stream::Asked(to, _) | Stream::Open(to) => to,
        };
        if to == node {
            self.players[player].stream = Stream::None;
            self.try_again(player);
        }
    }

    pub(crate) fn come_back(&mut self, player: usize) {
        if self.players[player].stream != Stream::None {
            return;
        }
        let (slot, base) = (self.players[player].slot(), self.players[player].base);
        let Some(node) = self.route(slot, base) else { return self.try_again(player) };
        self.players[player].base = node.name;
        let hello = self.players[player].hello(node);
        self.say(player, node, vec![hello]);
    }
}
