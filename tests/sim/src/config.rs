//! What one run is made of.

use crate::faults::{Class, Faults};
use crate::incident::Scripted;
use marchland_baseapp_core::io::BaseBug;
use marchland_cellapp_core::io::CellBug;
use marchland_common::rng::Rng;
use serde::{Deserialize, Serialize};

/// Length of a tick in microseconds.
pub const STEP_US: u64 = 50_000;

/// Ticks after the heal in which everything must come right again.
pub const LIVENESS_TICKS: u64 = 100;
/// Ticks after that, so that the audit sees what came of it.
const REST_TICKS: u64 = 60;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimConfig {
    /// Decides everything.
    pub seed: u64,
    /// How many cellapps.
    pub cells: u16,
    /// How many baseapps.
    pub bases: u16,
    /// Entities without a client.
    pub wolves: usize,
    /// Entities with one.
    pub players: usize,
    /// How many ticks faults happen in. Then everything is healed, and must come right within
    /// [`LIVENESS_TICKS`].
    pub ticks: u64,
    /// Which faults happen.
    pub faults: Faults,
    /// Faults that happen at a certain tick, beside those that are drawn.
    pub script: Vec<(u64, Scripted)>,
    /// Every how many ticks an entity is ordered to another cellapp; 0 is never.
    pub order_every: u64,
    /// Whether all work, skew, network and disk times stay below the bounds inside of which a
    /// handoff misses no tick.
    pub calm: bool,
    /// Whether the journals keep the inputs of the cores, as a replay needs them.
    pub keep_inputs: bool,
    /// A deliberate fault of cellapps.
    pub cell_bug: Option<CellBug>,
    /// A deliberate fault of baseapps.
    pub base_bug: Option<BaseBug>,
}

impl SimConfig {
    /// The run of a seed: 3 cellapps, 2 baseapps, 40 entities, 1,200 ticks, and the faults that
    /// the seed draws.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = Rng::child(seed, 0x6661_756c_7473);
        Self {
            seed,
            cells: 3,
            bases: 2,
            wolves: 28,
            players: 12,
            ticks: 1_200,
            faults: Faults::draw(&mut rng),
            script: Vec::new(),
            order_every: 10,
            calm: false,
            keep_inputs: false,
            cell_bug: None,
            base_bug: None,
        }
    }

    /// A run without faults whose times stay inside the bounds of an unnoticed handoff.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        Self { faults: Faults::NONE, order_every: 30, calm: true, ..Self::of_seed(seed) }
    }

    pub(crate) const fn has(&self, class: Class) -> bool {
        self.faults.has(class)
    }

    /// When everything is healed, in microseconds.
    pub(crate) const fn heal_us(&self) -> u64 {
        self.ticks * STEP_US
    }

    /// When everything must have come right, in microseconds.
    pub(crate) const fn settled_us(&self) -> u64 {
        (self.ticks + LIVENESS_TICKS) * STEP_US
    }

    /// When the run is over, in microseconds.
    pub(crate) const fn end_us(&self) -> u64 {
        self.settled_us() + REST_TICKS * STEP_US
    }
}
