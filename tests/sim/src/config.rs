//! What one run is made of, and which faults a seed draws.

use marchland_baseapp_core::io::BaseBug;
use marchland_cellapp_core::io::CellBug;
use marchland_common::rng::Rng;
use serde::{Deserialize, Serialize};

/// Length of a tick in microseconds.
pub(crate) const STEP_US: u64 = 50_000;

/// The classes of faults. A seed draws each on or off; one that is on happens at least once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Delays that differ per message and link, up to several ticks: reorder across streams.
    pub delays: bool,
    /// Connections that break and come back: loss, then duplicates.
    pub cuts: bool,
    /// Processes that stand still for a while and catch up or drop ticks.
    pub stalls: bool,
    /// Disks that take up to half a second.
    pub disks: bool,
    /// Watches that are late or lose events until the next full list.
    pub store: bool,
    /// Cells that change their owner while everybody learns it at another time.
    pub layouts: bool,
    /// Clients that lose their stream and come back.
    pub clients: bool,
}

impl Faults {
    /// Draws a mix: each class with a chance of one half, and never none.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        let bits = 1 + rng.below(127);
        let on = |n: u32| bits & (1 << n) != 0;
        Self {
            delays: on(0),
            cuts: on(1),
            stalls: on(2),
            disks: on(3),
            store: on(4),
            layouts: on(5),
            clients: on(6),
        }
    }
}

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
    /// How many ticks.
    pub ticks: u64,
    /// Which faults happen.
    pub faults: Faults,
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
            order_every: 30,
            calm: false,
            keep_inputs: false,
            cell_bug: None,
            base_bug: None,
        }
    }

    /// A run without faults whose times stay inside the bounds of an unnoticed handoff.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        let faults = Faults::default();
        Self { faults, calm: true, ..Self::of_seed(seed) }
    }
}
