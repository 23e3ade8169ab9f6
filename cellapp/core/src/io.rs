//! What goes into the core of a cellapp and what comes out: nothing else reaches it.

use marchland_common::cluster::MapChange;
use marchland_common::dawdle::Dawdle;
use marchland_common::journal::Event;
use marchland_common::msg::{Frame, Outgoing};
use marchland_common::order::{EntityId, Node, Tick};
use marchland_common::time::Dropped;
use serde::{Deserialize, Serialize};

/// The settings of a cellapp's core. Part of every snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellConfig {
    /// Who this is.
    pub node: Node,
    /// The seed of everything random here.
    pub seed: u64,
    /// The length of a tick in microseconds.
    pub step_us: u64,
    /// How many ticks an owner may run ahead of what its base has made durable.
    pub window: u64,
    /// From how far a cell gets a ghost, in millimetres.
    pub ghost_distance: i32,
    /// How much farther a ghost stays, in millimetres.
    pub ghost_margin: i32,
    /// How many ticks a ghost stays at least.
    pub ghost_min_life: u64,
    /// After how many ticks without its owner a ghost counts as stale, and as abandoned.
    pub ghost_stale: (u64, u64),
    /// How far past a border an entity must be before it is handed over, in millimetres.
    pub border_margin: i32,
    /// For how many ticks it must be there.
    pub dwell: u64,
    /// Every how many ticks a moving entity reports its place to its base.
    pub volatile_every: u64,
    /// Most reals before the cellapp stops accepting.
    pub reals_max: usize,
    /// For how many ticks an offload without a grant is kept.
    pub offload_ttl: u64,
    /// How much farther than its radius a witness keeps an entity, in parts of 256.
    pub view_hysteresis: i32,
    /// The largest view radius, in millimetres.
    pub view_radius_max: i32,
    /// Bytes of view that one witness gets in a tick.
    pub view_bytes: usize,
    /// Most bytes of one bundle's body; what is over goes on in the next tick, in order.
    pub bundle_bytes_max: usize,
    /// A deliberate fault, for the tests of the audit.
    pub seeded_bug: Option<CellBug>,
    /// Where it may be slow it now and then is, for simulations; no process sets it.
    pub dawdle: Option<Dawdle>,
}

/// Deliberate faults: each must make the audit fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellBug {
    /// The target of a handoff activates on the offload, without the base.
    ActivateOnOffload,
    /// The table of commands does not travel.
    DedupStays,
    /// A grant is taken by any life.
    IgnoreIncarnation,
    /// The window is not kept.
    NoWindow,
    /// The source goes on after it froze.
    NoFreeze,
    /// A fenced real is kept.
    IgnoreFence,
    /// A message is taken without a look at the inbox.
    NoInbox,
    /// A ghost applies older states.
    GhostGoesBack,
    /// The new owner counts the last tick of the old one again.
    DoubleTick,
    /// A witness forgets to say that somebody left.
    NoLeave,
}

impl CellConfig {
    /// The settings of the demo world.
    #[must_use]
    pub const fn new(node: Node, seed: u64, step_us: u64) -> Self {
        Self {
            node,
            seed,
            step_us,
            window: 4,
            ghost_distance: 50_000,
            ghost_margin: 5_000,
            ghost_min_life: 40,
            ghost_stale: (40, 400),
            border_margin: 1_000,
            dwell: 10,
            volatile_every: 10,
            reals_max: 50_000,
            offload_ttl: 40,
            view_hysteresis: 16,
            view_radius_max: 60_000,
            view_bytes: 1_024,
            bundle_bytes_max: 1 << 20,
            seeded_bug: None,
            dawdle: None,
        }
    }
}

/// The whole input of one tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellInput {
    /// The tick to run.
    pub tick: Tick,
    /// Ticks that were left out before it.
    pub dropped: Option<Dropped>,
    /// What the coordination store says now.
    pub map: Vec<MapChange>,
    /// Bundles, ordered by sender, then by number.
    pub frames: Vec<Frame>,
    /// Finished asynchronous work, in the order of its posting.
    pub completions: Vec<Completion>,
    /// What the process decided.
    pub orders: Vec<CellOrder>,
}

impl CellInput {
    /// A tick in which nothing came in.
    #[must_use]
    pub const fn empty(tick: Tick) -> Self {
        Self {
            tick,
            dropped: None,
            map: Vec::new(),
            frames: Vec::new(),
            completions: Vec::new(),
            orders: Vec::new(),
        }
    }
}

/// Finished asynchronous work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Who asked.
    pub entity: EntityId,
    /// The name that it gave it.
    pub token: u64,
    /// The result.
    pub payload: Vec<u8>,
}

/// A decision of the process around the core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellOrder {
    /// Hand over every real while another accepting cellapp exists, and tell the bases to grant
    /// nothing new; what they granted before they heard it is taken, and handed on.
    Drain,
    /// The journal is too far behind: no entity is stepped until `Thaw`.
    Freeze,
    /// The journal caught up.
    Thaw,
    /// Take no new grants while the own registration is unproven, or take them again.
    Accept(bool),
    /// Bundles to that life were lost on this side. It sees the gap in their numbers and forgets
    /// what it was told; nothing but this says so here. (A gap in *its* bundles the core sees.)
    LinkReset(Node),
}

/// Everything that one tick produced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellOutput {
    /// One bundle per live peer.
    pub bundles: Vec<Outgoing>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Asynchronous work that was asked for.
    pub work: Vec<Completion>,
    /// Counts of this tick.
    pub stats: CellStats,
}

/// Counts of one tick and gauges after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellStats {
    /// Reals that this process simulates or holds frozen.
    pub reals: usize,
    /// Ghosts.
    pub ghosts: usize,
    /// Of these, how many are marked because nobody spoke for them for a while.
    pub ghosts_stale: usize,
    /// Reals that wait for the end of a handoff.
    pub frozen: usize,
    /// Reals whose base's window is closed.
    pub waiting: usize,
    /// Witnesses.
    pub witnesses: usize,
    /// Offloads that wait for a grant.
    pub parked: usize,
    /// Behaviours called in this tick.
    pub behaviours: usize,
    /// Steps sent.
    pub steps: usize,
    /// Ghost deltas sent, over all hosts.
    pub deltas: usize,
    /// Signals that wait for an earlier one.
    pub signals_held: usize,
    /// Messages that did not fit into this tick's bundles.
    pub held_back: usize,
}
