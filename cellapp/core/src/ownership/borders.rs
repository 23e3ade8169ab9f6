//! The Entity phase: who stands outside our cells, and for how long.
//!
//! An entity is handed to the owner of the place where it stands once it was farther than the
//! margin outside all our cells for the dwell time without a break. So nobody bounces on a border,
//! and nobody is moved for a step across.
//!
//! ```text
//!            past the margin            somebody takes it, nothing holds it
//!   inside ------------------> outside ------------------------------------> strayed
//!     ^                         |   ^                                         |    |
//!     +----- within margin -----+   +------- held, or nobody takes it --------+    |
//!     +------------------------ within margin ----------------------------- --+    |
//!                                                  outside for the dwell time: leaves
//! ```

use crate::cell::Cell;
use crate::entities::Leaving;
use crate::ownership::territory;
use marchland_common::journal::Event;
use marchland_common::msg::HandoffWhy;
use marchland_common::order::{EntityId, Node};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One entity past the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Outside {
    /// For how many ticks in which it ran.
    ticks: u64,
    /// Whether it is to be handed over as soon as it has dwelt.
    is_strayed: bool,
}

/// What the border watch remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Borders {
    /// Moved, arrived, or standing where cells changed hands, since the last look.
    unseen: BTreeSet<EntityId>,
    outside: BTreeMap<EntityId, Outside>,
}

impl Borders {
    /// These may stand elsewhere now.
    pub fn look_at(&mut self, entities: impl IntoIterator<Item = EntityId>) {
        self.unseen.extend(entities);
    }

    /// Whether an entity was past the margin when it was looked at last.
    #[must_use]
    pub fn watches(&self, entity: EntityId) -> bool {
        !self.outside.is_empty() && self.outside.contains_key(&entity)
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
        } else if cell.borders.outside.remove(&entity).is_some_and(|outside| outside.is_strayed) {
            let epoch = real.epoch;
            cell.event(Event::Returned { entity, epoch });
        }
    }
    let outside: Vec<EntityId> = cell.borders.outside.keys().copied().collect();
    for entity in outside {
        dwell(cell, entity);
    }
}

fn dwell(cell: &mut Cell, entity: EntityId) {
    let runs = cell.runs(entity);
    let target = next_owner(cell, entity).filter(|_| runs);
    note_strayed(cell, entity, target.is_some());
    let Some(outside) = cell.borders.outside.get_mut(&entity).filter(|_| runs) else { return };
    outside.ticks += 1;
    if let Some(target) = target.filter(|_| outside.ticks >= cell.config.dwell) {
        leave(cell, entity, Leaving { target, why: HandoffWhy::Border, hold: 0 });
    }
}

/// To whom an entity outside our cells is to go; none while something holds it here.
fn next_owner(cell: &Cell, entity: EntityId) -> Option<Node> {
    let real = cell.reals.get(entity)?;
    let me = cell.config.node;
    let is_pinned = real.state.pin.is_some_and(|pin| pin.node == me && cell.tick < pin.until);
    if is_pinned || real.leaving.is_some() || cell.tick < real.stays_until {
        return None;
    }
    let owner = territory::owner_at(&cell.map, real.state.place).filter(|owner| *owner != me)?;
    territory::takes_entities(&cell.map, owner).then_some(owner)
}

/// Says when an entity begins to be one that is to be handed over, and when that is over.
fn note_strayed(cell: &mut Cell, entity: EntityId, is_strayed: bool) {
    let Some(outside) = cell.borders.outside.get_mut(&entity) else { return };
    if std::mem::replace(&mut outside.is_strayed, is_strayed) == is_strayed {
        return;
    }
    let Some(epoch) = cell.reals.get(entity).map(|real| real.epoch) else { return };
    cell.event(match is_strayed {
        true => Event::Strayed { entity, epoch },
        false => Event::Returned { entity, epoch },
    });
}

/// Has an entity leave at the end of this tick.
pub fn leave(cell: &mut Cell, entity: EntityId, leaving: Leaving) {
    if let Some(real) = cell.reals.get_mut(entity) {
        real.leaving = Some(leaving);
        cell.reals.mark_dirty(entity);
    }
}
