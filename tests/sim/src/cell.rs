//! A simulated cellapp: the core, and what waits for the next tick.

use crate::chronicle::received;
use crate::config::{STEP_US, SimConfig};
use crate::faults::Class;
use crate::process::{Ran, encoded};
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellConfig, CellInput, CellOrder, Completion};
use marchland_common::cluster::MapChange;
use marchland_common::dawdle::Dawdle;
use marchland_common::digest::digest_bytes;
use marchland_common::journal::TickRecord;
use marchland_common::msg::{Frame, Moment};
use marchland_common::order::{Node, Tick};
use marchland_common::time::Dropped;
use marchland_frontier_core::Frontier;
use std::sync::Arc;

pub(crate) struct CellProcess {
    pub(crate) core: CellCore,
    pub(crate) completions: Vec<Completion>,
    keep_inputs: bool,
    /// Whether new entities are taken, as far as the core was told.
    accepts: bool,
}

impl CellProcess {
    pub(crate) fn new(config: &SimConfig, node: Node) -> Self {
        let mut cell = CellConfig::new(node, config.seed, STEP_US);
        cell.seeded_bug = config.cell_bug;
        let seed = config.seed ^ node.incarnation.0;
        cell.dawdle = config.has(Class::Dawdle).then(|| Dawdle::new(seed));
        Self {
            core: CellCore::new(cell, Arc::new(Frontier::new())),
            completions: Vec::new(),
            keep_inputs: config.keep_inputs,
            accepts: true,
        }
    }

    /// Runs a tick. Without a proven registration nothing new is taken.
    pub(crate) fn tick(
        &mut self,
        (tick, dropped, is_proven): (Tick, Option<Dropped>, bool),
        map: Vec<MapChange>,
        frames: Vec<Frame>,
    ) -> (Ran, Vec<Completion>) {
        let mut orders = Vec::new();
        if is_proven != self.accepts {
            self.accepts = is_proven;
            orders.push(CellOrder::Accept(is_proven));
        }
        let completions = std::mem::take(&mut self.completions);
        let input = CellInput { tick, dropped, map, frames, completions, orders };
        let kept = encoded(self.keep_inputs, &input);
        let taken = received(&input.frames);
        let output = self.core.tick(input);
        let record = TickRecord {
            tick,
            moment: Moment::Flush,
            input: kept,
            received: taken,
            sent: crate::chronicle::sent(&output.bundles),
            events: output.events,
            facts: 0,
            digest: self.core.digest(),
        };
        (Ran { record, bundles: output.bundles }, output.work)
    }
}

/// What asynchronous work finds out.
pub(crate) fn result_of(work: Completion) -> Completion {
    let found = (digest_bytes(&work.payload) & 0xffff) as u32;
    Completion { payload: postcard::to_stdvec(&found).unwrap_or_default(), ..work }
}
