//! A simulated baseapp: the core, its disk, its clock, and what waits for the next moment.

use crate::cell::clock;
use crate::chronicle::{Chronicle, received, sent};
use crate::config::{STEP_US, SimConfig};
use crate::disk::Disk;
use crate::happening::{Agenda, Happening};
use crate::links::Network;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{
    BaseConfig, BaseInput, BaseOrder, BaseOutput, ClientEvent, OrderAnswer,
};
use marchland_baseapp_core::log::Recovered;
use marchland_common::cluster::MapChange;
use marchland_common::journal::TickRecord;
use marchland_common::msg::Moment;
use marchland_common::order::{Lsn, Node, Tick};
use marchland_common::rng::Rng;
use marchland_common::time::{ClusterClock, Dropped};
use std::sync::Arc;

pub(crate) struct BaseProcess {
    pub(crate) node: Node,
    pub(crate) core: BaseCore,
    pub(crate) disk: Disk,
    pub(crate) map: Vec<MapChange>,
    pub(crate) clients: Vec<ClientEvent>,
    pub(crate) orders: Vec<BaseOrder>,
    pub(crate) answers: Vec<OrderAnswer>,
    clock: ClusterClock,
    skew_us: u64,
    dropped: Option<Dropped>,
    rng: Rng,
    calm: bool,
    keep_inputs: bool,
    /// What the disk reported and the core was not told yet.
    reported: Option<Lsn>,
    last_tick: Tick,
    releases: u8,
    busy_until: u64,
    pub(crate) stalled_until: u64,
}

impl BaseProcess {
    pub(crate) fn new(config: &SimConfig, node: Node) -> Self {
        let mut rng = Rng::child(config.seed, 0x6261_7365_0000 + u64::from(node.name.number));
        let mut base = BaseConfig::new(node, config.seed, STEP_US);
        base.seeded_bug = config.base_bug;
        let kinds = Arc::new(marchland_frontier_core::kinds());
        let skew_us = rng.below(if config.calm { 1_000 } else { 6_000 });
        Self {
            node,
            core: BaseCore::new(base, kinds, Recovered::default()),
            disk: Disk::new(config, node.name),
            map: Vec::new(),
            clients: Vec::new(),
            orders: Vec::new(),
            answers: Vec::new(),
            clock: clock(STEP_US / 2),
            skew_us,
            dropped: None,
            rng,
            calm: config.calm,
            keep_inputs: config.keep_inputs,
            reported: None,
            last_tick: Tick(0),
            releases: 0,
            busy_until: 0,
            stalled_until: 0,
        }
    }

    pub(crate) fn wake(&mut self, agenda: &mut Agenda, net: &mut Network, book: &mut Chronicle) {
        let free = self.stalled_until.max(self.busy_until);
        if agenda.now < free {
            agenda.at(free, Happening::Wake(self.node.name));
            return;
        }
        let due = self.clock.due((agenda.now - self.skew_us) * 1_000);
        self.busy_until = self.busy_until.max(agenda.now);
        for tick in due.run.iter() {
            self.busy_until += self.rng.between(500, if self.calm { 8_000 } else { 15_000 }) as u64;
            (self.last_tick, self.releases) = (tick, 0);
            let input = BaseInput {
                tick,
                moment: Moment::Flush,
                dropped: self.dropped.take(),
                durable: self.reported.take(),
                map: std::mem::take(&mut self.map),
                frames: net.take_in(agenda, self.node.name),
                clients: std::mem::take(&mut self.clients),
                orders: std::mem::take(&mut self.orders),
            };
            self.run(input, agenda, book);
        }
        if due.dropped.is_some() {
            self.dropped = due.dropped;
        }
        let next = due.next_deadline_ns.div_ceil(1_000) + self.skew_us;
        agenda.at(next.max(agenda.now + 1), Happening::Wake(self.node.name));
    }

    pub(crate) fn synced(&mut self, agenda: &mut Agenda, lsn: Lsn) {
        self.disk.synced(agenda, lsn);
        self.reported = Some(lsn);
        let at = agenda.now.max(self.busy_until).max(self.stalled_until);
        agenda.at(at, Happening::Release(self.node.name));
    }

    /// Between two ticks: sends what became durable, unless this tick had its share of that.
    pub(crate) fn release(&mut self, agenda: &mut Agenda, book: &mut Chronicle) {
        let waits = agenda.now < self.busy_until.max(self.stalled_until);
        if waits || self.releases >= Moment::RELEASES_MAX {
            return;
        }
        let Some(durable) = self.reported.take() else { return };
        self.releases += 1;
        let input = BaseInput {
            tick: self.last_tick,
            moment: Moment::Release(self.releases),
            dropped: None,
            durable: Some(durable),
            map: Vec::new(),
            frames: Vec::new(),
            clients: Vec::new(),
            orders: Vec::new(),
        };
        self.busy_until = agenda.now;
        self.run(input, agenda, book);
    }

    fn run(&mut self, input: BaseInput, agenda: &mut Agenda, book: &mut Chronicle) {
        let kept = if self.keep_inputs {
            postcard::to_stdvec(&input).unwrap_or_default().into()
        } else {
            bytes::Bytes::new()
        };
        let (tick, moment, taken) = (input.tick, input.moment, received(&input.frames));
        let output = self.core.tick(input);
        let record = TickRecord {
            tick,
            moment,
            input: kept,
            received: taken,
            sent: sent(&output.bundles),
            events: output.events.clone(),
            digest: self.core.digest(),
        };
        book.tick(self.node, record);
        self.send(output, agenda);
    }

    fn send(&mut self, output: BaseOutput, agenda: &mut Agenda) {
        let name = self.node.name;
        self.disk.append(agenda, output.log);
        agenda.at(self.busy_until, Happening::Send(name, output.bundles));
        for told in output.clients {
            agenda.at(self.busy_until, Happening::Told(name, told));
        }
        self.answers.extend(output.answers);
    }
}
