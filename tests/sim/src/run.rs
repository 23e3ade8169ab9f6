//! One run: what is planned, what happens, and what is left at the end.

use crate::chronicle::{Chronicle, trace_of};
use crate::client::{Player, account};
use crate::config::{STEP_US, SimConfig};
use crate::disk::Disk;
use crate::faults::Class;
use crate::happening::{Agenda, Happening, Outward};
use crate::incident;
use crate::links::Network;
use crate::manager::Manager;
use crate::population::{base_of, wolves};
use crate::process::{Core, Process, Ran};
use crate::reach::Reach;
use crate::settled::Settled;
use crate::store::Store;
use marchland_baseapp_core::io::{BaseOrder, OrderAnswer};
use marchland_common::journal::{Event, Record};
use marchland_common::order::{EntityId, Node, NodeKind, NodeName, Tick};
use marchland_common::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Ticks before the world is asked to be born.
const SETTLE_TICKS: u64 = 20;
/// Ticks before the heal in which no fault begins.
const LAST_TICKS: u64 = 10;

/// What a run left.
#[derive(Debug)]
pub struct SimReport {
    /// The journals, by life.
    pub journals: Vec<(Node, Vec<Record>)>,
    /// Lives that ended before the run did.
    pub killed: BTreeSet<Node>,
    /// The write-ahead logs as they are on the disks at the end, by baseapp.
    pub logs: BTreeMap<NodeName, Vec<Vec<u8>>>,
    /// One number for everything that happened.
    pub trace: u64,
    /// How the ordered handoffs ended.
    pub orders: Vec<OrderAnswer>,
    /// Commands that their players never got an answer to.
    pub unanswered: usize,
    /// Commands answered.
    pub answered: u64,
    /// What did not come right after the heal, in words.
    pub unsettled: Vec<String>,
    /// Faults that happened, by class.
    pub faults: BTreeMap<Class, u64>,
    /// When lives were given up, in microseconds of the run.
    pub verdicts: BTreeMap<Node, u64>,
    /// Frames carried.
    pub frames: u64,
    /// Happenings.
    pub happenings: u64,
    /// Ticks that cellapps and baseapps ran.
    pub ticks: u64,
}

pub(crate) struct Run {
    pub(crate) config: SimConfig,
    pub(crate) agenda: Agenda,
    pub(crate) net: Network,
    pub(crate) reach: Reach,
    pub(crate) store: Store,
    pub(crate) manager: Manager,
    pub(crate) book: Chronicle,
    pub(crate) processes: BTreeMap<NodeName, Process>,
    pub(crate) disks: BTreeMap<NodeName, Disk>,
    pub(crate) players: Vec<Player>,
    pub(crate) killed: BTreeSet<Node>,
    pub(crate) verdicts: BTreeMap<Node, u64>,
    pub(crate) client: Node,
    pub(crate) heard: Vec<Event>,
    pub(crate) rng: Rng,
    pub(crate) faults: BTreeMap<Class, u64>,
    pub(crate) settled: Settled,
    pub(crate) dawdled: u64,
    heard_tick: Tick,
    orders: u64,
    answers: Vec<OrderAnswer>,
    ticks: u64,
    happenings: u64,
}

/// Runs one seed to its end.
#[must_use]
pub fn run(config: &SimConfig) -> SimReport {
    let mut run = Run::new(config.clone());
    run.plan();
    while run.agenda.now < run.config.end_us() {
        let Some(what) = run.agenda.next() else { break };
        run.happenings += 1;
        run.note_client_facts(false);
        run.happen(what);
    }
    run.finish()
}

impl Run {
    fn new(config: SimConfig) -> Self {
        let mut book = Chronicle::default();
        let client = Node::new(NodeKind::Client, 1, 1_000);
        book.open(client, config.seed, None);
        let player = |n: usize| Player::new(n, config.seed, base_of(&config, &account(n)));
        Self {
            agenda: Agenda::default(),
            net: Network::new(&config),
            reach: Reach::default(),
            store: Store::new(),
            manager: Manager::new(),
            book,
            processes: BTreeMap::new(),
            disks: BTreeMap::new(),
            players: (0..config.players).map(player).collect(),
            killed: BTreeSet::new(),
            verdicts: BTreeMap::new(),
            client,
            heard: Vec::new(),
            rng: Rng::child(config.seed, 0x0072_756e),
            faults: BTreeMap::new(),
            settled: Settled::default(),
            dawdled: 0,
            heard_tick: Tick(0),
            orders: 0,
            answers: Vec::new(),
            ticks: 0,
            happenings: 0,
            config,
        }
    }

    /// Everything that is known from the beginning: the world begins with everybody knowing the
    /// map.
    fn plan(&mut self) {
        let name = |kind, number| NodeName { kind, number };
        let cells = (1..=self.config.cells).map(|n| name(NodeKind::Cell, n));
        let bases = (1..=self.config.bases).map(|n| name(NodeKind::Base, n));
        let names: Vec<NodeName> = cells.chain(bases).collect();
        for name in &names {
            self.start(*name);
        }
        self.manage();
        for name in &names {
            let node = self.processes[name].node;
            self.agenda.at(1, Happening::List(node));
        }
        let (heal, last) = (self.config.ticks, self.config.ticks.saturating_sub(LAST_TICKS));
        let mut tick = SETTLE_TICKS * 2;
        while self.config.order_every > 0 && tick < heal {
            self.agenda.at(tick * STEP_US, Happening::Order);
            tick += self.config.order_every;
        }
        for player in 0..self.players.len() {
            let mut tick = SETTLE_TICKS + 40 + self.rng.below(20);
            while tick < heal {
                self.agenda.at(tick * STEP_US + self.rng.below(STEP_US), Happening::Act(player));
                tick += 4 + self.rng.below(16);
            }
        }
        incident::plan(&self.config, &mut self.agenda, SETTLE_TICKS * 3, last);
        self.plan_hangups(SETTLE_TICKS * 3, last);
        self.agenda.at(self.config.heal_us(), Happening::Heal);
        self.agenda.at(self.config.settled_us(), Happening::Settled);
    }

    fn plan_hangups(&mut self, first: u64, last: u64) {
        let rate = u64::from(self.config.faults.rate(Class::Clients));
        if self.players.is_empty() || rate == 0 {
            return;
        }
        for _ in 0..rate * (1 + self.rng.below(4)) {
            let player = self.rng.below(self.players.len() as u64) as usize;
            let at = (first + self.rng.below(last - first)) * STEP_US + self.rng.below(STEP_US);
            self.agenda.at(at, Happening::Hangup(player));
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Wake(node) => self.wake(node),
            Happening::Release(node) => self.release(node),
            Happening::Leave(node, what) => self.leave(node, what),
            Happening::Dial(way) => self.dial(way),
            Happening::Hello(way, attempt, resume) => self.hello(way, attempt, resume),
            Happening::Welcome(way, attempt, resume) => self.welcome(way, attempt, resume),
            Happening::Arrive(way, connection, frame) => self.arrive(way, connection, frame),
            Happening::Credit(way, connection, ack) => {
                self.net.credit(&self.reach, way, connection, ack);
            }
            Happening::Fin(way) => self.net.hang_up(way),
            Happening::Lapse(a, b) => self.lapse(a, b),
            Happening::Synced(node, lsn) => self.synced(node, lsn),
            Happening::Watch(node) => self.look_at_watch(node),
            Happening::List(node) => self.list(node),
            Happening::Renew(node) => self.renew(node),
            Happening::Start(name) => self.start(name),
            Happening::Over(node) => self.give_up(node),
            Happening::Manage => self.manage(),
            Happening::Worked(node, done) => {
                if let Some(Core::Cell(cell)) = self.life(node).map(|p| &mut p.core) {
                    cell.completions.push(done);
                }
            }
            Happening::Act(player) => self.act(player),
            Happening::Said(node, event) => {
                if let Some(base) = self.life(node).and_then(Process::base_mut) {
                    base.clients.push(event);
                }
            }
            Happening::Told(node, told) => self.told(node, told),
            Happening::Hangup(player) => self.hangup(player),
            Happening::Broken(player, node) => self.broken(player, node),
            Happening::Return(player) => self.come_back(player),
            Happening::Order => self.order(),
            Happening::Ordered(node, order) => self.ordered(node, order),
            Happening::Serve(name) => self.serve_again(name),
            Happening::Incident(incident) => self.incident(incident),
            Happening::Heal => self.heal(),
            Happening::Settled => self.judge_settled(),
        }
    }

    /// A life, if it is not over.
    pub(crate) fn life(&mut self, node: Node) -> Option<&mut Process> {
        self.processes.get_mut(&node.name).filter(|process| process.node == node)
    }

    /// Runs every tick of a process that is due and plans its next look at the clock.
    fn wake(&mut self, node: Node) {
        let now = self.agenda.now;
        let Some(process) = self.life(node) else { return };
        if process.pulse.stands(now) {
            // It may be healed before it would go on by itself.
            return self.agenda.after(20_000, Happening::Wake(node));
        }
        let busy = process.pulse.busy_until;
        if now < busy {
            return self.agenda.at(busy, Happening::Wake(node));
        }
        for held in std::mem::take(&mut process.held) {
            self.leave(node, held);
        }
        let Some(process) = self.life(node) else { return };
        let (due, next) = process.pulse.due(now);
        process.pulse.busy_until = now;
        for tick in due.run.iter() {
            self.tick(node, tick);
        }
        let Some(process) = self.life(node) else { return };
        if due.dropped.is_some() {
            process.pulse.dropped = due.dropped;
        }
        self.agenda.at(next, Happening::Wake(node));
    }

    fn tick(&mut self, node: Node, tick: Tick) {
        let now = self.agenda.now;
        let frames = self.net.take_in(&mut self.agenda, node);
        let Self { agenda, processes, disks, config, .. } = self;
        let Some(process) = processes.get_mut(&node.name) else { return };
        let (map, dropped) = (std::mem::take(&mut process.map), process.pulse.dropped.take());
        let is_proven = process.is_proven(now);
        let (ran, told, work) = match &mut process.core {
            Core::Cell(cell) => {
                let most = if config.calm { 18_000 } else { 25_000 };
                process.pulse.busy_until += process.rng.between(1_000, most) as u64;
                let (ran, work) = cell.tick((tick, dropped, is_proven), map, frames);
                (ran, Vec::new(), work)
            }
            Core::Base(base) => {
                let most = if config.calm { 8_000 } else { 15_000 };
                process.pulse.busy_until += process.rng.between(500, most) as u64;
                let Some(disk) = disks.get_mut(&node.name) else { return };
                let (ran, told) = base.tick(agenda, disk, (tick, dropped), map, frames);
                (ran, told, Vec::new())
            }
        };
        let leaves = process.pulse.busy_until;
        for done in work {
            let takes = process.rng.between(10_000, 300_000) as u64;
            agenda.at(leaves + takes, Happening::Worked(node, crate::cell::result_of(done)));
        }
        self.ticks += 1;
        self.keep(node, leaves, ran, told);
    }

    fn release(&mut self, node: Node) {
        let now = self.agenda.now;
        let Self { agenda, processes, disks, .. } = self;
        let Some(process) = processes.get_mut(&node.name).filter(|p| p.node == node) else {
            return;
        };
        if process.pulse.is_held(now) {
            return;
        }
        let (Some(disk), Core::Base(base)) = (disks.get_mut(&node.name), &mut process.core) else {
            return;
        };
        if let Some((ran, told)) = base.release(agenda, disk) {
            process.pulse.busy_until = now;
            self.keep(node, now, ran, told);
        }
    }

    fn synced(&mut self, node: Node, lsn: marchland_common::order::Lsn) {
        let Self { agenda, processes, disks, .. } = self;
        let Some(process) = processes.get_mut(&node.name).filter(|p| p.node == node) else {
            return;
        };
        let Some(disk) = disks.get_mut(&node.name) else { return };
        let Some(lsn) = disk.synced(agenda, node, lsn) else { return };
        let at = process.pulse.busy_until;
        if let Some(base) = process.base_mut() {
            base.reported = Some(lsn);
            agenda.at(at, Happening::Release(node));
        }
    }

    /// Keeps the record of a moment, and lets out what it said.
    fn keep(
        &mut self,
        node: Node,
        leaves: u64,
        ran: Ran,
        told: Vec<marchland_baseapp_core::io::ToClient>,
    ) {
        let Ran { mut record, mut bundles } = ran;
        let Some(process) = self.processes.get_mut(&node.name) else { return };
        let mut events = std::mem::take(&mut process.facts);
        record.facts = events.len() as u32;
        events.append(&mut record.events);
        record.events = events;
        for outgoing in &mut bundles {
            outgoing.bundle.phase_us = process.pulse.phase_us(outgoing.bundle.src_tick, leaves);
        }
        self.book.tick(node, record);
        self.agenda.at(leaves, Happening::Leave(node, Outward::Bundles(bundles)));
        for told in told {
            self.agenda.at(leaves, Happening::Leave(node, Outward::Told(told)));
        }
    }

    /// Something leaves a process, unless that stands still.
    fn leave(&mut self, node: Node, what: Outward) {
        let now = self.agenda.now;
        let Some(process) = self.life(node) else { return };
        if process.pulse.stands(now) || !process.held.is_empty() {
            return process.held.push(what);
        }
        match what {
            Outward::Bundles(bundles) => {
                for outgoing in bundles {
                    self.net.send(&mut self.agenda, node, outgoing);
                }
                self.redial(node);
            }
            Outward::Told(told) => self.tell(node, told),
        }
    }

    /// Who lives somewhere.
    pub(crate) fn everybody(&self) -> Vec<EntityId> {
        let cells = self.processes.values().filter_map(Process::cell);
        let mut all: Vec<EntityId> = cells.flat_map(|cell| cell.core.reals()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Orders somebody to somewhere; now and then to where it cannot go.
    fn order(&mut self) {
        let all = self.everybody();
        let kind = |p: &&Process| p.node.name.kind == NodeKind::Cell;
        let cells: Vec<Node> = self.processes.values().filter(kind).map(|p| p.node).collect();
        if all.is_empty() || cells.is_empty() {
            return;
        }
        let entity = all[self.rng.below(all.len() as u64) as usize];
        let to = cells[self.rng.below(cells.len() as u64) as usize];
        self.orders += 1;
        let order = BaseOrder::Handoff { order: self.orders, entity, to, hold: 60, within: 60 };
        let mut bases = self.processes.values_mut().filter_map(Process::base_mut);
        if let Some(base) = bases.find(|base| base.core.brief(entity).is_some()) {
            base.orders.push(order);
        }
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
        self.look_whether_settled();
    }

    fn be_born(&mut self) {
        for (base, order) in wolves(&self.config) {
            if let Some(base) = self.processes.get_mut(&base).and_then(Process::base_mut) {
                base.orders.push(order);
            }
        }
        for player in 0..self.players.len() {
            self.agenda.after(0, Happening::Return(player));
        }
    }

    /// Takes over what a base has answered, before it is gone.
    pub(crate) fn collect_answers(&mut self, name: NodeName) {
        let base = self.processes.get_mut(&name).and_then(Process::base_mut);
        self.answers.extend(base.into_iter().flat_map(|base| std::mem::take(&mut base.answers)));
    }

    fn finish(mut self) -> SimReport {
        self.note_client_facts(true);
        let names: Vec<NodeName> = self.processes.keys().copied().collect();
        for name in names {
            self.collect_answers(name);
            self.collect_dawdles(name);
        }
        let counts = [
            (Class::Delays, self.net.delayed),
            (Class::Dawdle, self.dawdled),
            (Class::Misdelivered, self.net.misdelivered),
        ];
        for (class, count) in counts {
            if count > 0 {
                self.faults.insert(class, count);
            }
        }
        if self.config.has(Class::Clocks) {
            self.faults.insert(Class::Clocks, 1);
        }
        let journals = self.book.close();
        SimReport {
            trace: trace_of(&journals),
            journals,
            killed: self.killed,
            logs: self
                .disks
                .into_iter()
                .filter(|(name, _)| name.kind == NodeKind::Base)
                .map(|(name, disk)| (name, disk.records))
                .collect(),
            orders: self.answers,
            unanswered: self.players.iter().filter(|p| !p.is_answered()).count(),
            answered: self.players.iter().map(|p| p.answered).sum(),
            unsettled: self.settled.complaints,
            faults: self.faults,
            verdicts: self.verdicts,
            frames: self.net.frames,
            happenings: self.happenings,
            ticks: self.ticks,
        }
    }
}
