//! The beginning and the end of lives, and everything that a fault does to them.

use crate::config::STEP_US;
use crate::disk::Disk;
use crate::faults::Class;
use crate::happening::Happening;
use crate::incident::Incident;
use crate::process::{Core, Process};
use crate::run::Run;
use crate::store::Claim;
use marchland_common::order::{Node, NodeKind, NodeName};
use marchland_common::world::Tree;

/// Between two attempts to get a name, and between two renewals of a lease.
const CLAIM_AGAIN_US: u64 = 100_000;
pub(crate) const RENEW_US: u64 = 1_600_000;
/// Until a supervisor starts a process again that ended.
const RESTART_US: (i64, i64) = (100_000, 1_000_000);

impl Run {
    /// Starts a process, if none with its name lives and the store can be asked.
    pub(crate) fn start(&mut self, name: NodeName) {
        let now = self.agenda.now;
        if self.processes.contains_key(&name) {
            return;
        }
        if !self.reaches_store(name) {
            return self.agenda.after(CLAIM_AGAIN_US, Happening::Start(name));
        }
        let (node, lease) = match self.store.claim(now, name) {
            Claim::Ours(node, lease) => (node, lease),
            Claim::Again => return self.agenda.after(CLAIM_AGAIN_US, Happening::Start(name)),
        };
        let disk = self.disks.entry(name).or_insert_with(|| Disk::new(&self.config, name));
        let process = Process::new(&self.config, node, now, lease, disk);
        let snapshot = self.config.keep_inputs.then(|| process.snapshot());
        self.book.open(node, self.config.seed, snapshot);
        self.processes.insert(name, process);
        // Clocks are read from a step on, so that a skew never goes below zero.
        self.agenda.at(now.max(STEP_US), Happening::Wake(node));
        self.agenda.after(1, Happening::List(node));
        let renew = self.rng.below(RENEW_US);
        self.agenda.after(renew, Happening::Renew(node));
        self.tell_all();
    }

    /// A process is gone, with everything in its memory.
    pub(crate) fn kill(&mut self, name: NodeName) -> bool {
        if !self.processes.contains_key(&name) {
            return false;
        }
        self.collect_answers(name);
        self.collect_dawdles(name);
        let Some(process) = self.processes.remove(&name) else { return false };
        let node = process.node;
        self.killed.insert(node);
        if let Some(disk) = self.disks.get_mut(&name) {
            disk.crash();
        }
        // What it had sent may still be on its way; then its streams end.
        let lingers = self.rng.chance(1, 2);
        for way in self.net.lose(node, lingers) {
            let after = self.net.delay() + 5_000;
            self.agenda.after(after, Happening::Fin(way));
        }
        self.redial_all();
        for player in 0..self.players.len() {
            let after = self.rng.below(30_000);
            self.agenda.after(after, Happening::Broken(player, node));
        }
        true
    }

    /// A life learned that it is over: its process ends, and is started again.
    pub(crate) fn give_up(&mut self, node: Node) {
        if self.life(node).is_some() && self.kill(node.name) {
            let after = self.rng.between(RESTART_US.0, RESTART_US.1) as u64;
            self.agenda.after(after, Happening::Start(node.name));
        }
    }

    pub(crate) fn collect_dawdles(&mut self, name: NodeName) {
        self.dawdled += self.processes.get(&name).map_or(0, |process| match &process.core {
            Core::Cell(cell) => cell.core.dawdled(),
            Core::Base(base) => base.core.dawdled(),
        });
    }

    pub(crate) fn count(&mut self, class: Class) {
        *self.faults.entry(class).or_default() += 1;
    }

    pub(crate) fn incident(&mut self, incident: Incident) {
        let now = self.agenda.now;
        if now >= self.config.heal_us() {
            return;
        }
        match incident {
            Incident::Cut(for_us) => {
                let standing = self.net.standing();
                if !standing.is_empty() {
                    let way = standing[self.rng.below(standing.len() as u64) as usize];
                    self.net.cut(way, now + for_us);
                    self.count(Class::Cuts);
                    self.redial(way.0);
                }
            }
            Incident::Stall(class, name, for_us) => self.stall(class, name, for_us),
            Incident::Disk(name, for_us) => {
                if let Some(disk) = self.disks.get_mut(&name) {
                    disk.stall(now, for_us);
                    self.count(Class::Disks);
                }
            }
            Incident::Full(name, for_us) => {
                if let Some(disk) = self.disks.get_mut(&name) {
                    disk.fill(now, for_us);
                    self.count(Class::Full);
                }
            }
            Incident::Relayout => self.relayout(),
            Incident::Kill(class, names, back) => {
                let killed: Vec<NodeName> =
                    names.into_iter().filter(|name| self.kill(*name)).collect();
                // These count by what they are there for.
                let counts = !matches!(class, Class::Misdelivered | Class::SlotMoves);
                if !killed.is_empty() && counts {
                    self.count(class);
                }
                for name in killed {
                    if let Some(back) = back {
                        let after = back + self.rng.below(500_000);
                        self.agenda.after(after, Happening::Start(name));
                    }
                }
            }
            Incident::FalseVerdict(name) => {
                // Somebody else, if that one does not live just now.
                let is_cell = |p: &&Process| p.node.name.kind == NodeKind::Cell;
                let other = || self.processes.values().find(is_cell);
                let node = self.processes.get(&name).or_else(other).map(|p| p.node);
                if let Some(node) = node.filter(|_| !self.store.is_away(now)) {
                    self.condemn(node);
                    self.count(Class::FalseVerdict);
                }
            }
            Incident::Block(class, ways) => {
                for (from, to) in ways {
                    self.block(from, to);
                }
                self.count(class);
            }
            Incident::Lift(ways) => {
                for (from, to) in ways {
                    self.lift(from, to);
                }
            }
            Incident::StoreAway(for_us, clock_stops) => {
                self.store.go_away(now, for_us, clock_stops);
                self.count(Class::StoreAway);
            }
            Incident::LeaseDeath => {
                if !self.store.is_away(now) {
                    self.store.kill_leases(now);
                    self.count(Class::LeaseDeath);
                    self.tell_all();
                }
            }
            Incident::Compact => {
                if !self.store.is_away(now) {
                    self.store.compact(now);
                }
            }
            Incident::NoManager(for_us) => {
                self.manager.go_away(now + for_us);
                self.count(Class::NoManager);
            }
            Incident::MoveSlots(count) => self.order_moves(count),
            Incident::Drain(name, for_us) => self.drain(name, for_us),
        }
    }

    fn stall(&mut self, class: Class, name: NodeName, for_us: u64) {
        let until = self.agenda.now + for_us;
        let Some(process) = self.processes.get_mut(&name) else { return };
        process.pulse.stands_until = process.pulse.stands_until.max(until);
        let node = process.node;
        self.agenda.at(until, Happening::Release(node));
        self.lapse_all(name);
        self.count(class);
    }

    /// Two cells of a space change their owners with each other.
    fn relayout(&mut self) {
        let now = self.agenda.now;
        if self.store.is_away(now) {
            return;
        }
        let layouts = self.store.layouts(now);
        let Some(layout) = layouts.values().find(|l| l.cells().len() > 1) else { return };
        let mut next = layout.clone();
        next.version += 1;
        let owners: Vec<Option<Node>> = layout.cells().iter().map(|c| c.owner).collect();
        rotate(&mut next.tree, &owners, &mut 1);
        if self.config.has(Class::Layouts) {
            self.count(Class::Layouts);
        }
        self.store.put_layout(now, &next);
        self.tell_all();
    }

    /// Every fault ends.
    pub(crate) fn heal(&mut self) {
        let now = self.agenda.now;
        for (from, to) in self.reach.lift_all() {
            self.net.unblock(&mut self.agenda, from, to);
        }
        self.store.come_back(now);
        self.manager.come_back(now);
        self.end_drains();
        self.disks.values_mut().for_each(|disk| disk.heal(now));
        for process in self.processes.values_mut() {
            process.pulse.stands_until = process.pulse.stands_until.min(now);
        }
        let name = |kind, number| NodeName { kind, number };
        let cells = (1..=self.config.cells).map(|n| name(NodeKind::Cell, n));
        let bases = (1..=self.config.bases).map(|n| name(NodeKind::Base, n));
        for name in cells.chain(bases) {
            self.agenda.after(1, Happening::Start(name));
        }
        for player in 0..self.players.len() {
            self.agenda.after(1, Happening::Return(player));
        }
        self.note_open();
    }
}

/// Gives each leaf the owner of the next one.
fn rotate(tree: &mut Tree, owners: &[Option<Node>], at: &mut usize) {
    match tree {
        Tree::Leaf { owner, .. } => {
            *owner = owners[*at % owners.len()];
            *at += 1;
        }
        Tree::Split { low, high, .. } => {
            rotate(low, owners, at);
            rotate(high, owners, at);
        }
    }
}
