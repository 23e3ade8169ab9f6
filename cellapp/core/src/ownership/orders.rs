//! An operator's orders to hand an entity over: checked when they come, carried out at the end of
//! the first tick in which the entity runs, refused by name when they cannot be.

use crate::cell::Cell;
use crate::entities::Leaving;
use crate::ownership::borders::leave;
use marchland_common::msg::{CellToBase, HandoffOrder, HandoffRefusal, HandoffWhy};
use marchland_common::order::EntityId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Orders that wait, at most one an entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    waiting: BTreeMap<EntityId, HandoffOrder>,
}

impl Orders {
    /// Drops the order for an entity that is not ours any more.
    pub fn forget(&mut self, entity: EntityId) -> Option<HandoffOrder> {
        self.waiting.remove(&entity)
    }
}

/// Takes an order in, or refuses it.
pub fn take(cell: &mut Cell, order: HandoffOrder) {
    match check(cell, &order) {
        Ok(()) => {
            cell.orders.waiting.insert(order.entity, order);
        }
        Err(reason) => refuse(cell, order, reason),
    }
}

fn check(cell: &Cell, order: &HandoffOrder) -> Result<(), HandoffRefusal> {
    let Some(real) = cell.reals.get(order.entity) else { return Err(HandoffRefusal::NotOwned) };
    let is_busy = !real.is_active() || real.leaving.is_some();
    if is_busy || cell.orders.waiting.contains_key(&order.entity) {
        return Err(HandoffRefusal::InProgress);
    }
    if order.to == cell.config.node {
        return Err(HandoffRefusal::AlreadyThere);
    }
    if cell.map.is_dead(order.to) {
        return Err(HandoffRefusal::TargetDead);
    }
    let layout = cell.map.layout(real.state.place.space);
    if !layout.is_some_and(|layout| layout.is_owned_by(order.to)) {
        return Err(HandoffRefusal::NotInSpace);
    }
    if cell.tick > order.deadline {
        return Err(HandoffRefusal::Deadline);
    }
    Ok(())
}

/// Tells the base that an order was not even begun.
pub fn refuse(cell: &mut Cell, order: HandoffOrder, reason: HandoffRefusal) {
    let HandoffOrder { order, entity, .. } = order;
    cell.tell_base(entity, CellToBase::OrderRefused { order, entity, reason });
}

/// Carries out what may be carried out in this tick.
pub fn carry_out(cell: &mut Cell) {
    for (entity, order) in std::mem::take(&mut cell.orders.waiting) {
        match check(cell, &order) {
            Err(reason) => refuse(cell, order, reason),
            Ok(()) if cell.runs(entity) => {
                let why = HandoffWhy::Order(order.order);
                leave(cell, entity, Leaving { target: order.to, why, hold: order.hold });
            }
            Ok(()) => {
                cell.orders.waiting.insert(entity, order);
            }
        }
    }
}
