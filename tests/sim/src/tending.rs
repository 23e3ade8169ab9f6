//! Processes and the store: who hears of what, and who keeps its registration.

use crate::faults::Class;
use crate::happening::Happening;
use crate::lives::RENEW_US;
use crate::reach::STORE;
use crate::run::Run;
use crate::store::Renewal;
use crate::watch::{Misbehaviour, Seen};
use marchland_common::order::{Node, NodeName};

/// Between two attempts to reach the store.
const STORE_AGAIN_US: u64 = 100_000;
/// Everything is listed this often, whatever the watch says; sooner where watches lose events, so
/// that a run sees it often enough.
const LIST_US: u64 = 30_000_000;
const LIST_OFTEN_US: u64 = 3_000_000;

impl Run {
    pub(crate) fn reaches_store(&self, name: NodeName) -> bool {
        !self.store.is_away(self.agenda.now) && self.reach.answers(name, STORE)
    }

    /// The store changed: everybody's watch has something to tell.
    pub(crate) fn tell_all(&mut self) {
        let late = self.config.has(Class::OldEvents) || self.config.has(Class::LostEvents);
        let late = late && self.agenda.now < self.config.heal_us();
        let most = if late { 2_000_000 } else { 15_000 };
        let lives: Vec<Node> = self.processes.values().map(|p| p.node).collect();
        for node in lives {
            let delay = self.rng.between(500, most) as u64;
            self.agenda.after(delay, Happening::Watch(node));
        }
    }

    /// Whether a process can go to the store now; if not, it tries again.
    fn asks(&mut self, node: Node, again: Happening) -> bool {
        let reached = self.reaches_store(node.name);
        if self.life(node).is_none() {
            return false;
        }
        if self.stands(node.name) {
            // When it goes on, it does not learn everything at once.
            let after = 20_000 + self.rng.below(600_000);
            self.agenda.after(after, again);
            return false;
        }
        if !reached {
            self.agenda.after(STORE_AGAIN_US, again);
        }
        reached
    }

    pub(crate) fn look_at_watch(&mut self, node: Node) {
        if !self.asks(node, Happening::Watch(node)) {
            return;
        }
        let how = self.misbehaviour();
        let Self { store, processes, .. } = self;
        let Some(process) = processes.get_mut(&node.name) else { return };
        match process.watch.poll(store, how) {
            Seen::News => self.hear_news(node),
            Seen::Over => {
                let after = self.rng.between(50_000, 500_000) as u64;
                if !how.ends {
                    self.count(Class::Compacted);
                }
                self.agenda.after(after, Happening::List(node));
            }
        }
    }

    fn misbehaviour(&mut self) -> Misbehaviour {
        let is_healed = self.agenda.now >= self.config.heal_us();
        let mut happens = |class, one_in| {
            let happens = !is_healed && self.config.has(class) && self.rng.chance(1, one_in);
            if happens {
                *self.faults.entry(class).or_default() += 1;
            }
            happens
        };
        let loses = happens(Class::LostEvents, 4);
        let back = happens(Class::OldEvents, 2);
        let ends = happens(Class::Cancelled, 4);
        let goes_back = if back { 1 + self.rng.below(6) as i64 } else { 0 };
        Misbehaviour { loses, goes_back, ends }
    }

    pub(crate) fn list(&mut self, node: Node) {
        if !self.asks(node, Happening::List(node)) {
            return;
        }
        let now = self.agenda.now;
        let often = self.config.has(Class::LostEvents);
        let Self { store, processes, agenda, .. } = self;
        let Some(process) = processes.get_mut(&node.name) else { return };
        process.watch.list(store, now);
        if now >= process.listed_again {
            process.listed_again = now + if often { LIST_OFTEN_US } else { LIST_US };
            agenda.at(process.listed_again, Happening::List(node));
        }
        self.hear_news(node);
    }

    /// What a process hears of the map goes to its core, and to its links.
    fn hear_news(&mut self, node: Node) {
        let peers = self.net.peers_of(node);
        let Some(process) = self.life(node) else { return };
        let news = process.watch.news();
        process.map.extend(news);
        let dead: Vec<Node> =
            peers.into_iter().filter(|p| process.watch.is_dead(p.incarnation)).collect();
        let is_over = process.watch.is_dead(node.incarnation);
        for peer in dead {
            self.buries(node, peer);
        }
        self.meet(node);
        if is_over {
            let after = self.rng.between(20_000, 300_000) as u64;
            self.agenda.after(after, Happening::Over(node));
        }
    }

    pub(crate) fn renew(&mut self, node: Node) {
        if !self.asks(node, Happening::Renew(node)) {
            return;
        }
        let now = self.agenda.now;
        let Self { store, processes, .. } = self;
        let Some(process) = processes.get_mut(&node.name) else { return };
        match store.renew(now, node, process.lease) {
            Renewal::Renewed(lease) => {
                let is_new = std::mem::replace(&mut process.lease, lease) != lease;
                process.proven = now;
                if is_new {
                    self.tell_all();
                }
                self.agenda.after(RENEW_US, Happening::Renew(node));
            }
            Renewal::Over => {
                let after = self.rng.between(1_000, 300_000) as u64;
                self.agenda.after(after, Happening::Over(node));
            }
        }
    }
}
