//! A simulated baseapp: the core, made of what its disk holds, and what waits for the next moment.

use crate::chronicle::{received, sent};
use crate::config::{STEP_US, SimConfig};
use crate::disk::Disk;
use crate::faults::Class;
use crate::happening::Agenda;
use crate::process::{Ran, encoded};
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{
    BaseConfig, BaseInput, BaseOrder, ClientEvent, OrderAnswer, ToClient,
};
use marchland_baseapp_core::log::replay;
use marchland_common::cluster::{MapChange, SlotMove};
use marchland_common::dawdle::Dawdle;
use marchland_common::journal::TickRecord;
use marchland_common::msg::{Frame, Moment};
use marchland_common::order::{Lsn, Node, Tick};
use marchland_common::time::Dropped;
use std::sync::Arc;

pub(crate) struct BaseProcess {
    node: Node,
    pub(crate) core: BaseCore,
    pub(crate) clients: Vec<ClientEvent>,
    pub(crate) orders: Vec<BaseOrder>,
    pub(crate) answers: Vec<OrderAnswer>,
    keep_inputs: bool,
    /// What the disk reported and the core was not told yet.
    pub(crate) reported: Option<Lsn>,
    /// What is on its way from here, as it said last.
    pub(crate) moves: Vec<SlotMove>,
    /// Records that the disk did not take yet, in order, and whether the core is frozen for them.
    unlogged: Vec<Vec<u8>>,
    holds: bool,
    last_tick: Tick,
    releases: u8,
}

impl BaseProcess {
    /// A life that goes on from what the disk holds.
    pub(crate) fn new(config: &SimConfig, node: Node, disk: &Disk) -> Self {
        let mut base = BaseConfig::new(node, config.seed, STEP_US);
        base.seeded_bug = config.base_bug;
        let seed = config.seed ^ node.incarnation.0;
        base.dawdle = config.has(Class::Dawdle).then(|| Dawdle::new(seed));
        let kinds = Arc::new(marchland_frontier_core::kinds());
        let recovered = match replay(&kinds, &disk.records) {
            Ok(recovered) => recovered,
            Err(bad) => panic!("{node} cannot read back its log: {bad}"),
        };
        Self {
            node,
            core: BaseCore::new(base, kinds, recovered),
            clients: Vec::new(),
            orders: Vec::new(),
            answers: Vec::new(),
            keep_inputs: config.keep_inputs,
            reported: None,
            moves: Vec::new(),
            unlogged: Vec::new(),
            holds: false,
            last_tick: Tick(0),
            releases: 0,
        }
    }

    /// Runs a tick.
    pub(crate) fn tick(
        &mut self,
        agenda: &mut Agenda,
        disk: &mut Disk,
        (tick, dropped): (Tick, Option<Dropped>),
        map: Vec<MapChange>,
        frames: Vec<Frame>,
    ) -> (Ran, Vec<ToClient>) {
        (self.last_tick, self.releases) = (tick, 0);
        let mut orders = std::mem::take(&mut self.orders);
        if self.unlogged.is_empty() == self.holds {
            self.holds = !self.holds;
            orders.push(if self.holds { BaseOrder::Freeze } else { BaseOrder::Thaw });
        }
        let input = BaseInput {
            tick,
            moment: Moment::Flush,
            dropped,
            durable: self.reported.take(),
            map,
            frames,
            clients: std::mem::take(&mut self.clients),
            orders,
        };
        self.run(agenda, disk, input)
    }

    /// Between two ticks: sends what became durable, unless this tick had its share of that.
    pub(crate) fn release(
        &mut self,
        agenda: &mut Agenda,
        disk: &mut Disk,
    ) -> Option<(Ran, Vec<ToClient>)> {
        if self.releases >= Moment::RELEASES_MAX {
            return None;
        }
        let durable = self.reported.take()?;
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
        Some(self.run(agenda, disk, input))
    }

    fn run(
        &mut self,
        agenda: &mut Agenda,
        disk: &mut Disk,
        input: BaseInput,
    ) -> (Ran, Vec<ToClient>) {
        let kept = encoded(self.keep_inputs, &input);
        let (tick, moment, taken) = (input.tick, input.moment, received(&input.frames));
        let output = self.core.tick(input);
        self.unlogged.extend(output.log);
        self.unlogged = disk.append(agenda, self.node, std::mem::take(&mut self.unlogged));
        self.answers.extend(output.answers);
        self.moves = output.stats.moves;
        let record = TickRecord {
            tick,
            moment,
            input: kept,
            received: taken,
            sent: sent(&output.bundles),
            events: output.events,
            facts: 0,
            digest: self.core.digest(),
        };
        (Ran { record, bundles: output.bundles }, output.clients)
    }
}
