//! The door of the core: one value in, one value out, once a tick.
//!
//! Invariants: nothing but [`CellInput`] changes a core; equal cores given equal inputs stay equal;
//! a core that was written down and read back goes on exactly as the original does.

mod queries;
mod show;
mod snapshot;

pub use queries::{CellBrief, Role};
pub use show::{Dot, GhostDot, Load, Picture};
pub use snapshot::RestoreError;

use crate::around::{self, Around};
use crate::behaviour::World;
use crate::entities::{Entities, Leaving, Real};
use crate::io::{CellBug, CellConfig, CellInput, CellOutput};
use crate::ownership::bases::Bases;
use crate::ownership::borders::Borders;
use crate::ownership::closed::ClosedSlots;
use crate::ownership::drain::Drain;
use crate::ownership::orders::Orders;
use crate::ownership::parked::Parked;
use crate::ownership::seen::Seen;
use crate::ownership::steps::Reports;
use crate::ownership::territory::Territory;
use crate::traffic::peers::Peers;
use crate::traffic::refusals::Refusals;
use crate::witness::ViewScratch;
use crate::{effects, ownership, traffic};
use marchland_common::cluster::ClusterMap;
use marchland_common::digest::digest_of;
use marchland_common::journal::{Event, PartedDigest, Refused};
use marchland_common::msg::{CellToBase, CellToCell, Msg};
use marchland_common::order::{EntityId, Node, Tick};
use marchland_common::time::{Phase, Scheduler};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The declared world of a process, shared with whoever else needs it.
pub type SharedWorld = Arc<dyn World + Send + Sync>;

/// What all rooms of the core share.
pub(crate) struct Cell {
    pub config: CellConfig,
    pub world: SharedWorld,
    /// The tick that runs, or ran last.
    pub tick: Tick,
    /// What came in for it; emptied by the Network phase.
    pub input: CellInput,
    pub out: CellOutput,
    pub refusals: Refusals,
    pub map: ClusterMap,
    pub peers: Peers,
    pub bases: Bases,
    pub closed: ClosedSlots,
    pub territory: Territory,
    pub reals: Entities,
    pub around: Around,
    /// Working memory of the witnesses, no part of the state.
    pub views: ViewScratch,
    /// Handoffs that begin at the end of this tick.
    pub departures: Vec<(EntityId, Leaving)>,
    pub parked: Parked,
    pub seen: Seen,
    pub borders: Borders,
    pub orders: Orders,
    pub drain: Drain,
    /// Granted reals that are held until a tick that nobody ran.
    pub held: BTreeSet<(Tick, EntityId)>,
    /// Whether new grants are taken.
    pub accepting: bool,
    /// Whether nothing is stepped because the journal is behind.
    pub halted: bool,
    pub reports: Reports,
}

impl Cell {
    pub fn new(config: CellConfig, world: SharedWorld) -> Self {
        Self {
            peers: Peers::new(config.node),
            around: Around::new(&config),
            views: ViewScratch::new(world.kinds()),
            config,
            world,
            tick: Tick(0),
            input: CellInput::empty(Tick(0)),
            out: CellOutput::default(),
            refusals: Refusals::default(),
            map: ClusterMap::default(),
            bases: Bases::default(),
            closed: ClosedSlots::default(),
            territory: Territory::default(),
            reals: Entities::default(),
            departures: Vec::new(),
            parked: Parked::default(),
            seen: Seen::default(),
            borders: Borders::default(),
            orders: Orders::default(),
            drain: Drain::default(),
            held: BTreeSet::new(),
            accepting: true,
            halted: false,
            reports: Reports::default(),
        }
    }

    /// Whether a deliberate fault was asked for.
    pub fn has_bug(&self, bug: CellBug) -> bool {
        self.config.seeded_bug == Some(bug)
    }

    /// Whether to dawdle here, where that is allowed, in one of so many cases.
    pub fn dawdles(&mut self, one_in: u64) -> bool {
        self.config.dawdle.as_mut().is_some_and(|dawdle| dawdle.here(one_in))
    }

    pub fn event(&mut self, event: Event) {
        self.out.events.push(event);
    }

    pub fn refuse(&mut self, reason: Refused, from: Node, entity: EntityId) {
        self.refusals.add(reason, Some(from), Some(entity));
    }

    /// Says something to the base of an entity, in this tick's bundle.
    pub fn tell_base(&mut self, entity: EntityId, what: CellToBase) {
        let base = self.bases.keeper(entity.slot());
        let sent = base.is_some_and(|base| self.peers.send(base, Msg::CellToBase(what), self.tick));
        if !sent {
            self.refusals.add(Refused::PeerGone, base, Some(entity));
        }
    }

    /// Says something to another cellapp, in this tick's bundle.
    pub fn tell_cell(&mut self, to: Node, about: Option<EntityId>, what: CellToCell) {
        if !self.peers.send(to, Msg::CellToCell(what), self.tick) {
            self.refusals.add(Refused::PeerGone, Some(to), about);
        }
    }

    /// Whether a real is simulated in this tick: its window is open and it is not frozen.
    pub fn runs(&self, entity: EntityId) -> bool {
        self.bases.is_open(entity) && self.reals.get(entity).is_some_and(|real| self.is_up(real))
    }

    /// Whether a real is simulated while its window is open.
    pub fn is_up(&self, real: &Real) -> bool {
        real.is_stepped() || real.frozen().is_some() && self.has_bug(CellBug::NoFreeze)
    }
}

/// The core of a cellapp.
pub struct CellCore {
    cell: Cell,
    phases: Scheduler<Cell>,
}

impl CellCore {
    /// A core that owns nothing yet.
    #[must_use]
    pub fn new(config: CellConfig, world: SharedWorld) -> Self {
        Self { cell: Cell::new(config, world), phases: phases(Tick(0)) }
    }

    /// Runs one tick. Ticks are given upwards; numbers may be left out. Panics when one is given
    /// twice: the process around the core is wrong then.
    pub fn tick(&mut self, input: CellInput) -> CellOutput {
        let in_order = self.phases.resume_at(input.tick);
        assert!(in_order.is_ok(), "tick {} was run before", input.tick);
        self.cell.tick = input.tick;
        self.cell.input = input;
        self.phases.run_tick(&mut self.cell, &mut || 0);
        std::mem::take(&mut self.cell.out)
    }

    /// A digest of what a replay must reproduce. Its cost does not grow with idle entities.
    #[must_use]
    pub fn digest(&self) -> PartedDigest {
        let cell = &self.cell;
        let around = &cell.around;
        let links: Vec<_> = cell
            .bases
            .links()
            .map(|link| (link.base, link.steps, link.durable, link.open))
            .collect();
        PartedDigest::of(&[
            digest_of(&(cell.tick, cell.accepting, cell.halted)),
            cell.reals.digest(),
            digest_of(&links),
            cell.peers.digest(),
            digest_of(&(cell.parked.len(), cell.closed.len())),
            digest_of(&(around.looks.len(), around.haunts.len(), around.mirrors.len())),
            digest_of(&(around.witnesses.len(), around.signals.held())),
        ])
    }

    /// What the parts of a digest are, in their order.
    pub const PARTS: [&str; 7] =
        ["switches", "entities", "windows", "links", "handoffs", "ghosts", "views and signals"];
}

/// The rooms of a tick, in their order.
fn phases(first: Tick) -> Scheduler<Cell> {
    let mut phases = Scheduler::new(first, u64::MAX);
    phases.register(Phase::Network, "map", traffic::ingress::follow_map);
    phases.register(Phase::Network, "orders", traffic::ingress::take_orders);
    phases.register(Phase::Network, "bundles", traffic::ingress::take_bundles);
    phases.register(Phase::Network, "completions", traffic::ingress::take_completions);
    phases.register(Phase::Network, "resync", ownership::resync::answer);
    phases.register(Phase::Network, "closed slots", ownership::closed::say);
    phases.register(Phase::Network, "ghosts and signals", around::settle);
    phases.register(Phase::Network, "ended", ownership::resync::forget_ended);
    phases.register(Phase::Network, "held", ownership::grants::let_run);
    phases.register(Phase::Network, "windows", traffic::ingress::open_windows);
    phases.register(Phase::Timer, "timers", effects::timers::fire);
    phases.register(Phase::Entity, "orders", ownership::orders::carry_out);
    phases.register(Phase::Entity, "drain", ownership::drain::hand_over);
    phases.register(Phase::Entity, "borders", ownership::borders::watch);
    phases.register(Phase::Script, "behaviours", effects::script::run);
    phases.register(Phase::SyncBuild, "steps", ownership::steps::build);
    phases.register(Phase::SyncBuild, "ghosts and views", around::watch);
    phases.register(Phase::SyncBuild, "mail", around::post);
    phases.register(Phase::SyncBuild, "handoffs", ownership::handoff::carry_out);
    phases.register(Phase::SyncBuild, "mail about those who leave", around::post);
    phases.register(Phase::Flush, "expiry", traffic::flush::expire);
    phases.register(Phase::Flush, "bundles", traffic::flush::send);
    phases.register(Phase::Flush, "figures", traffic::flush::report);
    phases
}
