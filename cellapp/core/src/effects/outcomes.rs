//! What a behaviour asked for beyond its own state, carried out at the end of the tick.

use crate::around;
use crate::behaviour::Effect;
use crate::cell::Cell;
use crate::entities::Leaving;
use crate::io::Completion;
use crate::ownership::territory;
use marchland_common::journal::Refused;
use marchland_common::msg::{CellToBase, HandoffWhy};
use marchland_common::order::EntityId;
use marchland_common::world::Place;

/// Carries out the effects of the real that was found there, in their order, and puts its place
/// inside its space.
pub fn carry_out(cell: &mut Cell, at: usize) {
    let real = cell.reals.at(at);
    let entity = real.id;
    for effect in std::mem::take(&mut real.pending.effects) {
        match effect {
            Effect::Signal { to, payload } => around::show(cell, entity, to, payload.into()),
            Effect::Notice(payload) => {
                let payload = payload.into();
                cell.tell_base(entity, CellToBase::Notice { entity, payload });
            }
            Effect::Teleport(place) => teleport(cell, entity, place),
            Effect::Work { token, payload } => {
                cell.out.work.push(Completion { entity, token, payload });
            }
        }
    }
    let real = cell.reals.at(at);
    if real.pending.moved
        && let Some(bounds) = cell.territory.bounds(real.state.place.space)
    {
        real.state.place.pos = bounds.clamp(real.state.place.pos);
    }
}

/// The place changes at once, and the entity goes with this tick to whoever owns the new one. A
/// pinned entity stays with its owner, wherever it stands.
fn teleport(cell: &mut Cell, entity: EntityId, place: Place) {
    let Some(layout) = cell.map.layout(place.space) else {
        cell.refusals.add(Refused::UnknownSpace, None, Some(entity));
        return;
    };
    let pos = layout.bounds.clamp(place.pos);
    let (me, tick) = (cell.config.node, cell.tick);
    let owner = territory::owner_at(&cell.map, place).filter(|owner| *owner != me);
    let target = owner.filter(|owner| territory::takes_entities(&cell.map, *owner));
    let Some(real) = cell.reals.get_mut(entity) else { return };
    real.state.place = Place { pos, ..place };
    real.pending.moved = true;
    let is_pinned = real.state.pin.is_some_and(|pin| pin.node == me && tick < pin.until);
    if let (Some(target), false, None) = (target, is_pinned, real.leaving) {
        real.leaving = Some(Leaving { target, why: HandoffWhy::Teleport, hold: 0 });
    }
}
