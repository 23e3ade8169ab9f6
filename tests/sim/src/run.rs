//! One run: what is planned, what happens, and what is left at the end.

use crate::base::BaseProcess;
use crate::cell::CellProcess;
use crate::chronicle::{Chronicle, trace_of};
use crate::client::{Player, account};
use crate::config::{STEP_US, SimConfig};
use crate::happening::{Agenda, Happening};
use crate::links::Network;
use crate::population::{base_of, wolves};
use crate::store::Store;
use marchland_baseapp_core::io::{BaseOrder, ClientEvent, OrderAnswer};
use marchland_common::journal::{Event, Record};
use marchland_common::order::{EntityId, Node, NodeKind, NodeName, Tick};
use marchland_common::rng::Rng;
use marchland_common::world::Tree;
use std::collections::BTreeMap;

/// Ticks before the world is asked to be born.
const SETTLE_TICKS: u64 = 20;
/// Ticks at the end in which nothing new is begun.
const QUIET_TICKS: u64 = 200;

/// What a run left.
#[derive(Debug)]
pub struct SimReport {
    /// The journals, by life.
    pub journals: Vec<(Node, Vec<Record>)>,
    /// The write-ahead logs, by baseapp.
    pub logs: BTreeMap<Node, Vec<Vec<u8>>>,
    /// One number for everything that happened.
    pub trace: u64,
    /// How the ordered handoffs ended.
    pub orders: Vec<OrderAnswer>,
    /// Commands that their players never got an answer to.
    pub unanswered: usize,
    /// Commands answered.
    pub answered: u64,
    /// Faults that happened, by class.
    pub faults: BTreeMap<&'static str, u64>,
    /// Frames carried.
    pub frames: u64,
    /// Happenings.
    pub happenings: u64,
}

struct Run {
    config: SimConfig,
    agenda: Agenda,
    net: Network,
    store: Store,
    book: Chronicle,
    cells: BTreeMap<NodeName, CellProcess>,
    bases: BTreeMap<NodeName, BaseProcess>,
    players: Vec<Player>,
    client: Node,
    heard: Vec<Event>,
    heard_tick: Tick,
    rng: Rng,
    orders: u64,
    faults: BTreeMap<&'static str, u64>,
    happenings: u64,
}

/// Runs one seed to its end.
#[must_use]
pub fn run(config: &SimConfig) -> SimReport {
    let mut run = Run::new(config.clone());
    run.plan();
    let end = config.ticks * STEP_US;
    while run.agenda.now < end {
        let Some(what) = run.agenda.next() else { break };
        run.happenings += 1;
        run.note_client_facts(false);
        run.happen(what);
    }
    run.finish()
}

impl Run {
    fn new(config: SimConfig) -> Self {
        let mut store = Store::new(&config);
        let name = |kind, number| NodeName { kind, number };
        let cells = (1..=config.cells).map(|n| name(NodeKind::Cell, n));
        let bases = (1..=config.bases).map(|n| name(NodeKind::Base, n));
        let lives: Vec<Node> = cells.chain(bases).map(|n| store.register(0, n)).collect();
        let mut book = Chronicle::default();
        let client = Node::new(NodeKind::Client, 1, 1_000);
        for node in lives.iter().chain([&client]) {
            book.open(*node, config.seed);
        }
        let of = |kind: NodeKind| lives.iter().filter(move |n| n.name.kind == kind);
        let player = |n: usize| Player::new(n, config.seed, base_of(&config, &account(n)));
        Self {
            agenda: Agenda::default(),
            net: Network::new(&config, &lives),
            store,
            book,
            cells: of(NodeKind::Cell).map(|n| (n.name, CellProcess::new(&config, *n))).collect(),
            bases: of(NodeKind::Base).map(|n| (n.name, BaseProcess::new(&config, *n))).collect(),
            players: (0..config.players).map(player).collect(),
            client,
            heard: Vec::new(),
            heard_tick: Tick(0),
            rng: Rng::child(config.seed, 0x0072_756e),
            orders: 0,
            faults: BTreeMap::new(),
            happenings: 0,
            config,
        }
    }

    /// Everything that is known from the beginning.
    fn plan(&mut self) {
        for way in self.net.ways() {
            self.agenda.at(0, Happening::Connect(way));
        }
        // Clocks are read from a step on, so that a skew never goes below zero.
        let names: Vec<NodeName> = self.cells.keys().chain(self.bases.keys()).copied().collect();
        for name in &names {
            self.agenda.at(STEP_US, Happening::Wake(*name));
        }
        self.store.lay_out(&mut self.agenda);
        let last = self.config.ticks.saturating_sub(QUIET_TICKS);
        let mut tick = SETTLE_TICKS * 2;
        while self.config.order_every > 0 && tick < last {
            self.agenda.at(tick * STEP_US, Happening::Order);
            tick += self.config.order_every;
        }
        for player in 0..self.players.len() {
            let mut tick = SETTLE_TICKS + 40 + self.rng.below(20);
            while tick < last {
                self.agenda.at(tick * STEP_US + self.rng.below(STEP_US), Happening::Act(player));
                tick += 4 + self.rng.below(16);
            }
        }
        self.plan_faults(&names, last);
    }

    fn plan_faults(&mut self, names: &[NodeName], last: u64) {
        let faults = self.config.faults;
        let first = SETTLE_TICKS * 3;
        let any = |rng: &mut Rng| (first + rng.below(last - first)) * STEP_US + rng.below(STEP_US);
        if faults.cuts {
            let ways = self.net.ways();
            for _ in 0..2 + self.rng.below(12) {
                let way = ways[self.rng.below(ways.len() as u64) as usize];
                let at = any(&mut self.rng);
                self.agenda.at(at, Happening::Cut(way));
                let back = at + self.rng.between(1_000, 700_000) as u64;
                self.agenda.at(back, Happening::Connect(way));
            }
        }
        if faults.stalls {
            for _ in 0..1 + self.rng.below(4) {
                let name = names[self.rng.below(names.len() as u64) as usize];
                let for_us = self.rng.between(60_000, 600_000) as u64;
                let at = any(&mut self.rng);
                self.agenda.at(at, Happening::Stall(name, for_us));
            }
        }
        if faults.disks {
            for _ in 0..1 + self.rng.below(4) {
                let number = self.rng.below(u64::from(self.config.bases)) as u16 + 1;
                let name = NodeName { kind: NodeKind::Base, number };
                let for_us = self.rng.between(50_000, 500_000) as u64;
                let at = any(&mut self.rng);
                self.agenda.at(at, Happening::DiskStall(name, for_us));
            }
        }
        // A store that loses notices shows only when something changes in it.
        if faults.layouts || faults.store {
            let least = if faults.store { 3 } else { 1 };
            for _ in 0..least + self.rng.below(3) {
                let at = any(&mut self.rng);
                self.agenda.at(at, Happening::Relayout);
            }
        }
        if faults.clients {
            for _ in 0..1 + self.rng.below(8) {
                let player = self.rng.below(self.players.len() as u64) as usize;
                let at = any(&mut self.rng);
                self.agenda.at(at, Happening::Hangup(player));
                let back = at + self.rng.between(50_000, 900_000) as u64;
                self.agenda.at(back, Happening::Return(player));
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        let Self { agenda, net, book, cells, bases, .. } = self;
        match what {
            Happening::Wake(name) => {
                if let Some(cell) = cells.get_mut(&name) {
                    cell.wake(agenda, net, book);
                } else if let Some(base) = bases.get_mut(&name) {
                    base.wake(agenda, net, book);
                }
            }
            Happening::Release(name) => {
                if let Some(base) = bases.get_mut(&name) {
                    base.release(agenda, book);
                }
            }
            Happening::Send(name, bundles) => net.send(agenda, name, bundles),
            Happening::Arrive(way, connection, frame) => net.arrive(way, connection, frame),
            Happening::Credit(way, connection, ack) => net.credit(way, connection, ack),
            Happening::Cut(way) => net.cut(way),
            Happening::Connect(way) => net.connect(agenda, way),
            Happening::Greeted(way, sender, receiver) => {
                net.greeted(agenda, way, sender, receiver);
            }
            Happening::Synced(name, lsn) => {
                if let Some(base) = bases.get_mut(&name) {
                    base.synced(agenda, lsn);
                }
            }
            Happening::Notice(name) => self.notice(name),
            Happening::Worked(name, done) => {
                if let Some(cell) = cells.get_mut(&name) {
                    cell.completions.push(done);
                }
            }
            Happening::Said(name, event) => {
                if let Some(base) = bases.get_mut(&name) {
                    base.clients.push(event);
                }
            }
            Happening::Act(player) => self.act(player),
            Happening::Told(name, told) => self.told(name, told),
            Happening::Hangup(player) => self.hangup(player),
            Happening::Return(player) => self.come_back(player),
            Happening::Order => self.order(),
            Happening::Relayout => self.relayout(),
            Happening::Stall(name, for_us) => self.stall(name, for_us),
            Happening::DiskStall(name, for_us) => {
                if let Some(base) = bases.get_mut(&name) {
                    base.disk.stall(agenda.now, for_us);
                }
                *self.faults.entry("disks").or_default() += 1;
            }
        }
    }

    fn notice(&mut self, name: NodeName) {
        let changes = self.store.read(self.agenda.now, name);
        if let Some(cell) = self.cells.get_mut(&name) {
            cell.map.extend(changes);
        } else if let Some(base) = self.bases.get_mut(&name) {
            base.map.extend(changes);
        }
    }

    fn stall(&mut self, name: NodeName, for_us: u64) {
        let until = self.agenda.now + for_us;
        if let Some(cell) = self.cells.get_mut(&name) {
            cell.stalled_until = until;
        } else if let Some(base) = self.bases.get_mut(&name) {
            base.stalled_until = until;
            self.agenda.at(until, Happening::Release(name));
        }
        *self.faults.entry("stalls").or_default() += 1;
    }

    fn say(&mut self, player: usize, said: Vec<ClientEvent>) {
        for event in said {
            let delay = 500 + self.rng.below(20_000);
            let p = &mut self.players[player];
            p.busy = (self.agenda.now + delay).max(p.busy + 1);
            let (at, base) = (p.busy, p.base);
            self.agenda.at(at, Happening::Said(base, event));
        }
    }

    fn act(&mut self, player: usize) {
        let others = self.everybody();
        let said = self.players[player].act(&others, &mut self.heard);
        self.say(player, said);
    }

    fn told(&mut self, base: NodeName, told: marchland_baseapp_core::io::ToClient) {
        use marchland_baseapp_core::io::ClientFrame;
        let number = match &told.what {
            ClientFrame::Welcome { request, .. } | ClientFrame::Refused { request, .. } => {
                Some(*request as usize % 1_000)
            }
            _ => {
                self.players.iter().position(|p| p.base == base && p.session == Some(told.session))
            }
        };
        let Some(number) = number.filter(|n| *n < self.players.len()) else { return };
        // A stream that broke carries nothing more; a welcome begins a new one.
        let welcome = matches!(told.what, ClientFrame::Welcome { .. });
        if !welcome && !self.players[number].streaming {
            return;
        }
        let said = self.players[number].hear(told, &mut self.heard);
        self.say(number, said);
    }

    fn hangup(&mut self, player: usize) {
        if let Some(event) = self.players[player].hangup() {
            *self.faults.entry("clients").or_default() += 1;
            self.say(player, vec![event]);
        }
    }

    fn come_back(&mut self, player: usize) {
        if let Some(event) = self.players[player].come_back() {
            self.say(player, vec![event]);
        }
    }

    fn everybody(&self) -> Vec<EntityId> {
        let mut all: Vec<EntityId> = self.cells.values().flat_map(|c| c.core.reals()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Orders somebody to somewhere; now and then to where it cannot go.
    fn order(&mut self) {
        let all = self.everybody();
        if all.is_empty() {
            return;
        }
        let entity = all[self.rng.below(all.len() as u64) as usize];
        let cells = self.store.cells(self.agenda.now);
        let to = cells[self.rng.below(cells.len() as u64) as usize];
        self.orders += 1;
        let number = u16::from(entity.slot().0) % self.config.bases + 1;
        let base = NodeName { kind: NodeKind::Base, number };
        let order = BaseOrder::Handoff { order: self.orders, entity, to, hold: 60, within: 60 };
        if let Some(base) = self.bases.get_mut(&base) {
            base.orders.push(order);
        }
    }

    /// Two cells of a space change their owners with each other.
    fn relayout(&mut self) {
        let layouts = self.store.layouts(self.agenda.now);
        let Some(layout) = layouts.values().find(|l| l.cells().len() > 1) else { return };
        let mut next = layout.clone();
        next.version += 1;
        let owners: Vec<Option<Node>> = layout.cells().iter().map(|c| c.owner).collect();
        rotate(&mut next.tree, &owners, &mut 1);
        *self.faults.entry("layouts").or_default() += 1;
        self.store.put_layout(&mut self.agenda, &next);
    }

    /// Journals what players said and heard, once a tick.
    fn note_client_facts(&mut self, last: bool) {
        let tick = Tick(self.agenda.now / STEP_US);
        if tick == self.heard_tick && !last {
            return;
        }
        if tick.0 == SETTLE_TICKS && self.heard_tick != tick {
            self.be_born();
        }
        let events = std::mem::take(&mut self.heard);
        if !events.is_empty() {
            self.book.facts(self.client, self.heard_tick, events);
        }
        self.heard_tick = tick;
    }

    fn be_born(&mut self) {
        for (base, order) in wolves(&self.config) {
            if let Some(base) = self.bases.get_mut(&base) {
                base.orders.push(order);
            }
        }
        for player in 0..self.players.len() {
            let login = self.players[player].login();
            self.say(player, vec![login]);
        }
    }

    fn finish(mut self) -> SimReport {
        self.note_client_facts(true);
        let count = |faults: &mut BTreeMap<&'static str, u64>, class, n| {
            if n > 0 {
                *faults.entry(class).or_default() += n;
            }
        };
        count(&mut self.faults, "cuts", self.net.cuts);
        count(&mut self.faults, "store", self.store.lost_notices);
        let logs = self.bases.values().map(|b| (b.node, b.disk.records.clone())).collect();
        let orders = self.bases.values_mut().flat_map(|b| std::mem::take(&mut b.answers));
        let orders = orders.collect();
        let journals = self.book.close();
        SimReport {
            trace: trace_of(&journals),
            journals,
            logs,
            orders,
            unanswered: self.players.iter().filter(|p| !p.is_answered()).count(),
            answered: self.players.iter().map(|p| p.answered).sum(),
            faults: self.faults,
            frames: self.net.frames,
            happenings: self.happenings,
        }
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
