//! The Entity phase: who stands outside our cells, and for how long.
//!
//! An entity is handed to the owner of the place where it stands once it was farther than the
//! margin outside all our cells for the dwell time without a break. So nobody bounces on a border,
//! and nobody is moved for a step across.

use crate::cell::Cell;
use crate::entities::Leaving;
use crate::ownership::territory;
use marchland_common::msg::HandoffWhy;
use marchland_common::order::EntityId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the border watch remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Borders {
    /// Moved, arrived, or standing where cells changed hands, since the last look.
    unseen: BTreeSet<EntityId>,
    /// Past the margin, and for how many ticks.
    outside: BTreeMap<EntityId, u64>,
}

impl Borders {
    /// These may stand elsewhere now.
    pub fn look_at(&mut self, entities: impl IntoIterator<Item = EntityId>) {
        self.unseen.extend(entities);
    }

    /// This one is none of ours any more.
    pub fn forget(&mut self, entity: EntityId) {
        self.unseen.remove(&entity);
        self.outside.remove(&entity);
    }
}

/// Looks at whoever may stand outside, and decides who leaves at the end of this tick.
pub fn watch(cell: &mut Cell) {
    for entity in std::mem::take(&mut cell.borders.unseen) {
        let Some(real) = cell.reals.get(entity).filter(|real| real.is_active()) else { continue };
        if !cell.territory.holds(real.state.place, cell.config.border_margin) {
            cell.borders.outside.entry(entity).or_default();
        } else {
            cell.borders.outside.remove(&entity);
        }
    }
    let outside: Vec<EntityId> = cell.borders.outside.keys().copied().collect();
    for entity in outside {
        if cell.runs(entity) {
            dwell(cell, entity);
        }
    }
}

fn dwell(cell: &mut Cell, entity: EntityId) {
    let Some(ticks) = cell.borders.outside.get_mut(&entity) else { return };
    *ticks += 1;
    if *ticks < cell.config.dwell {
        return;
    }
    let Some(real) = cell.reals.get(entity) else { return };
    let me = cell.config.node;
    let is_pinned = real.state.pin.is_some_and(|pin| pin.node == me && cell.tick < pin.until);
    if is_pinned || real.leaving.is_some() || cell.tick < real.stays_until {
        return;
    }
    let owner = territory::owner_at(&cell.map, real.state.place).filter(|owner| *owner != me);
    if let Some(target) = owner.filter(|owner| territory::takes_entities(&cell.map, *owner)) {
        leave(cell, entity, Leaving { target, why: HandoffWhy::Border, hold: 0 });
    }
}

/// Has an entity leave at the end of this tick.
pub fn leave(cell: &mut Cell, entity: EntityId, leaving: Leaving) {
    if let Some(real) = cell.reals.get_mut(entity) {
        real.leaving = Some(leaving);
        cell.reals.mark_dirty(entity);
    }
}
