//! A simulated cellapp: the core, a clock, and what waits for the next tick.

use crate::chronicle::{Chronicle, received, sent};
use crate::config::{STEP_US, SimConfig};
use crate::happening::{Agenda, Happening};
use crate::links::Network;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellConfig, CellInput, Completion};
use marchland_common::cluster::MapChange;
use marchland_common::digest::digest_bytes;
use marchland_common::journal::TickRecord;
use marchland_common::msg::Moment;
use marchland_common::order::{Node, Tick};
use marchland_common::rng::Rng;
use marchland_common::time::{ClusterClock, ClusterConfig, Dropped};
use marchland_frontier_core::Frontier;
use std::sync::Arc;

pub(crate) struct CellProcess {
    pub(crate) node: Node,
    pub(crate) core: CellCore,
    pub(crate) map: Vec<MapChange>,
    pub(crate) completions: Vec<Completion>,
    clock: ClusterClock,
    skew_us: u64,
    dropped: Option<Dropped>,
    rng: Rng,
    calm: bool,
    keep_inputs: bool,
    /// Until when the ticks that ran so far keep the thread busy.
    busy_until: u64,
    pub(crate) stalled_until: u64,
}

impl CellProcess {
    pub(crate) fn new(config: &SimConfig, node: Node) -> Self {
        let mut rng = Rng::child(config.seed, 0x6365_6c6c_0000 + u64::from(node.name.number));
        let mut cell = CellConfig::new(node, config.seed, STEP_US);
        cell.seeded_bug = config.cell_bug;
        let skew_us = rng.below(if config.calm { 1_000 } else { 6_000 });
        Self {
            node,
            core: CellCore::new(cell, Arc::new(Frontier::new())),
            map: Vec::new(),
            completions: Vec::new(),
            clock: clock(0),
            skew_us,
            dropped: None,
            rng,
            calm: config.calm,
            keep_inputs: config.keep_inputs,
            busy_until: 0,
            stalled_until: 0,
        }
    }

    /// Runs every tick that is due and plans the next look at the clock.
    pub(crate) fn wake(&mut self, agenda: &mut Agenda, net: &mut Network, book: &mut Chronicle) {
        let free = self.stalled_until.max(self.busy_until);
        if agenda.now < free {
            agenda.at(free, Happening::Wake(self.node.name));
            return;
        }
        let due = self.clock.due((agenda.now - self.skew_us) * 1_000);
        self.busy_until = agenda.now;
        for tick in due.run.iter() {
            self.busy_until += self.work();
            self.tick(tick, self.busy_until, agenda, net, book);
        }
        if due.dropped.is_some() {
            self.dropped = due.dropped;
        }
        let next = due.next_deadline_ns.div_ceil(1_000) + self.skew_us;
        agenda.at(next.max(agenda.now + 1), Happening::Wake(self.node.name));
    }

    fn work(&mut self) -> u64 {
        let most = if self.calm { 18_000 } else { 25_000 };
        self.rng.between(1_000, most) as u64
    }

    fn tick(
        &mut self,
        tick: Tick,
        leaves: u64,
        agenda: &mut Agenda,
        net: &mut Network,
        book: &mut Chronicle,
    ) {
        let input = CellInput {
            tick,
            dropped: self.dropped.take(),
            map: std::mem::take(&mut self.map),
            frames: net.take_in(agenda, self.node.name),
            completions: std::mem::take(&mut self.completions),
            orders: Vec::new(),
        };
        let kept = if self.keep_inputs {
            postcard::to_stdvec(&input).unwrap_or_default().into()
        } else {
            bytes::Bytes::new()
        };
        let taken = received(&input.frames);
        let output = self.core.tick(input);
        let record = TickRecord {
            tick,
            moment: Moment::Flush,
            input: kept,
            received: taken,
            sent: sent(&output.bundles),
            events: output.events,
            digest: self.core.digest(),
        };
        book.tick(self.node, record);
        agenda.at(leaves, Happening::Send(self.node.name, output.bundles));
        for work in output.work {
            let found = (digest_bytes(&work.payload) & 0xffff) as u32;
            let payload = postcard::to_stdvec(&found).unwrap_or_default();
            let done = Completion { payload, ..work };
            let takes = self.rng.between(10_000, 300_000) as u64;
            agenda.at(leaves + takes, Happening::Worked(self.node.name, done));
        }
    }
}

/// A process's clock; `phase_us` after the cluster's beat.
pub(crate) fn clock(phase_us: u64) -> ClusterClock {
    let config = ClusterConfig {
        origin_ns: 0,
        step_ns: STEP_US * 1_000,
        phase_ns: phase_us * 1_000,
        cap: 4,
        version: 1,
    };
    match ClusterClock::new(config) {
        Ok(clock) => clock,
        Err(bad) => unreachable!("the simulator's own settings: {bad}"),
    }
}
