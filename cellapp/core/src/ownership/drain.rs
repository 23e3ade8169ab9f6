//! Leaving: everything real is handed over, a share of it in each tick, to whoever takes entities.

use crate::cell::Cell;
use crate::entities::Leaving;
use crate::ownership::borders::leave;
use crate::ownership::territory;
use marchland_common::msg::HandoffWhy;
use marchland_common::order::{EntityId, Node};
use serde::{Deserialize, Serialize};

/// In how many ticks a drain begins all its handoffs, if they fit.
const SPREAD_TICKS: usize = 20;
/// Fewest handoffs that a drain begins in a tick.
const SHARE_MIN: usize = 64;

/// Whether this process is leaving, and how fast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drain {
    /// Handoffs begun in a tick; 0 while it is not leaving.
    share: usize,
}

impl Drain {
    /// Begins to leave.
    pub fn begin(&mut self, reals: usize) {
        self.share = SHARE_MIN.max(reals.div_ceil(SPREAD_TICKS));
    }

    /// Whether it leaves.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.share > 0
    }
}

/// Has this tick's share of the reals leave.
pub fn hand_over(cell: &mut Cell) {
    if !cell.drain.is_on() || cell.reals.is_empty() {
        return;
    }
    let me = cell.config.node;
    let takers: Vec<Node> = cell
        .map
        .members()
        .iter()
        .map(|member| member.node)
        .filter(|node| *node != me && territory::takes_entities(&cell.map, *node))
        .collect();
    if takers.is_empty() {
        return;
    }
    let tick = cell.tick;
    let ready = cell
        .reals
        .ids_where(|real| real.is_active() && real.leaving.is_none() && real.stays_until <= tick);
    let share = ready.into_iter().filter(|entity| cell.bases.is_open(*entity));
    for entity in share.take(cell.drain.share).collect::<Vec<_>>() {
        let target = choose(cell, entity, &takers);
        leave(cell, entity, Leaving { target, why: HandoffWhy::Drain, hold: 0 });
    }
}

/// The owner of the place where it stands; else somebody of its space; else anybody. Equal ones
/// take turns, and another one is asked after a refusal.
fn choose(cell: &Cell, entity: EntityId, takers: &[Node]) -> Node {
    let turn = (entity.counter() ^ cell.tick.0) as usize;
    let Some(real) = cell.reals.get(entity) else { return takers[turn % takers.len()] };
    let place = real.state.place;
    let here = territory::owner_at(&cell.map, place).filter(|owner| takers.contains(owner));
    if let Some(owner) = here.filter(|_| real.stays_until.0 == 0) {
        return owner;
    }
    let layout = cell.map.layout(place.space);
    let of_space: Vec<Node> = takers
        .iter()
        .copied()
        .filter(|node| layout.is_some_and(|layout| layout.is_owned_by(*node)))
        .collect();
    let among = if of_space.is_empty() { takers } else { &of_space };
    among[turn % among.len()]
}
