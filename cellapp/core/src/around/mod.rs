//! Everybody around the reals of this process: who is seen, who mirrors whom, who watches, and who
//! hears what. The rooms of looks, ghosts, witnesses and signals are called from here, in the order
//! that they ask for.

mod ends;
mod ingress;
mod sync;

pub use ends::{Arrival, begin, disown, ended, fenced, released, thaw};
pub use ingress::{bridge, follow_map, forget, hear, reset, settle, take};
pub use sync::{depart, post, show, touch, watch};

use crate::entities::{Entities, Phase};
use crate::ghosts::{GhostOut, GhostRange, Haunts, MirrorCtx, Mirrors, Patience};
use crate::interest::Looks;
use crate::io::{CellBug, CellConfig};
use crate::signals::{SignalOut, Signals, Whereabouts};
use crate::witness::{ViewLimits, ViewOut, Witnesses};
use marchland_common::msg::Signal;
use marchland_common::order::{EntityId, SessionId, Tick};
use marchland_common::world::Kinds;
use serde::{Deserialize, Serialize};

/// The state of these rooms, and what they produced in the running tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Around {
    pub looks: Looks,
    pub haunts: Haunts,
    pub mirrors: Mirrors,
    pub witnesses: Witnesses,
    pub signals: Signals,
    /// Signals that came in with this tick's bundles.
    #[serde(skip)]
    pub arrived: Vec<Signal>,
    /// Clients that begin (with a radius) or end to look, as decided in this tick.
    #[serde(skip)]
    pub watches: Vec<(EntityId, SessionId, Option<i32>)>,
    #[serde(skip)]
    pub ghost_out: GhostOut,
    #[serde(skip)]
    pub view_out: ViewOut,
    #[serde(skip)]
    pub signal_out: SignalOut,
}

impl Around {
    /// Nobody.
    #[must_use]
    pub fn new(config: &CellConfig) -> Self {
        let (stale, abandoned) = config.ghost_stale;
        let range = GhostRange {
            distance: config.ghost_distance,
            margin: config.ghost_margin,
            min_life: config.ghost_min_life,
        };
        let limits = ViewLimits {
            radius_max: config.view_radius_max,
            hysteresis: config.view_hysteresis,
            bytes: config.view_bytes,
            forgets_leaves: config.seeded_bug == Some(CellBug::NoLeave),
        };
        let goes_back = config.seeded_bug == Some(CellBug::GhostGoesBack);
        Self {
            // Half the usual radius of a search, so that one looks at a few buckets.
            looks: Looks::new((config.view_radius_max / 2).max(1)),
            haunts: Haunts::new(config.node, range),
            mirrors: Mirrors::new(Patience { stale, abandoned }, goes_back),
            witnesses: Witnesses::new(limits),
            signals: Signals::default(),
            arrived: Vec::new(),
            watches: Vec::new(),
            ghost_out: GhostOut::default(),
            view_out: ViewOut::default(),
            signal_out: SignalOut::default(),
        }
    }

    /// The host's side of ghosts, with what it needs.
    fn mirrors<R>(
        &mut self,
        now: Tick,
        kinds: &Kinds,
        work: impl FnOnce(&mut Mirrors, &mut MirrorCtx<'_>) -> R,
    ) -> R {
        let Self { mirrors, looks, ghost_out, .. } = self;
        work(mirrors, &mut MirrorCtx { now, kinds, looks, out: ghost_out })
    }
}

/// Where an entity is, as far as is known here.
pub fn whereabouts(reals: &Entities, mirrors: &Mirrors, entity: EntityId) -> Whereabouts {
    match reals.get(entity).map(|real| &real.phase) {
        Some(Phase::Active) => Whereabouts::Here,
        Some(Phase::Frozen(frozen)) => Whereabouts::Leaving(frozen.prepare.target),
        Some(Phase::Ended) => Whereabouts::Unknown,
        None => mirrors.owner_of(entity).map_or(Whereabouts::Unknown, Whereabouts::There),
    }
}
