//! Orders of the operator. Each ends exactly once, by its deadline, and its answer says who owns
//! the entity then.

use crate::births::Birth;
use crate::core::BaseCore;
use crate::gate::Held;
use crate::io::{BaseOrder, OrderAnswer};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, HandoffOrder, HandoffRefusal, Msg};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, Tick};
use serde::{Deserialize, Serialize};

/// Orders that may wait at once; more are refused.
const PENDING_MAX: usize = 4_096;

/// An order to hand over that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOrder {
    /// The entity.
    pub entity: EntityId,
    /// To whom.
    pub to: Node,
    /// Who owned it when the order was passed on.
    pub from: Node,
    /// After this tick it is given up.
    pub deadline: Tick,
}

impl BaseCore {
    pub(crate) fn on_order(&mut self, order: BaseOrder) {
        match order {
            BaseOrder::Create { request, kind, place, argument, props } => {
                let answer = self.create(kind, place, argument, props);
                let (lsn, answer) = match answer {
                    Ok((entity, lsn)) => (lsn, OrderAnswer::Created { request, entity }),
                    Err(reason) => (Lsn(0), OrderAnswer::NotCreated { request, reason }),
                };
                self.leave(lsn, Held::Answer(answer));
            }
            BaseOrder::Handoff { order, entity, to, hold, within } => {
                self.order_handoff(order, entity, to, (hold, within));
            }
            BaseOrder::Destroy { entity } => self.order_destroy(entity),
            BaseOrder::GiveSlots { slots, to } => self.order_give(&slots, to),
            BaseOrder::Adopt { from, through, chunk } => self.order_adopt(from, through, chunk),
            BaseOrder::DropAdopted { slots } => self.order_drop_adopted(&slots),
            BaseOrder::Freeze | BaseOrder::Thaw => {}
        }
    }

    fn create(
        &mut self,
        kind: marchland_common::order::KindId,
        place: marchland_common::world::Place,
        argument: Vec<u8>,
        props: Vec<(u8, marchland_common::world::Value)>,
    ) -> Result<(EntityId, Lsn), String> {
        if self.is_frozen() {
            return Err("busy: the journal is behind; try again".to_owned());
        }
        let slot = self.any_slot().ok_or("no slot is kept here yet")?;
        self.give_birth(Birth {
            slot,
            kind,
            place,
            props,
            value: None,
            source: None,
            account: None,
            argument: argument.into(),
        })
    }

    fn order_destroy(&mut self, entity: EntityId) {
        match self.store.entities.get(&entity) {
            Some(lineage) if !lineage.state.destroyed => {
                self.queues.entry(entity).or_default().destroy = Some(None);
                self.push(entity);
            }
            _ => self.refusals.add(Refused::UnknownEntity, None, Some(entity)),
        }
    }

    fn order_handoff(
        &mut self,
        order: u64,
        entity: EntityId,
        to: Node,
        (hold, within): (u32, u32),
    ) {
        if self.orders.contains_key(&order) {
            return self.refusals.add(Refused::DuplicateCommand, None, Some(entity));
        }
        match self.check_order(entity, to) {
            Err(reason) => self.end_order(order, (entity, None), Some(reason), None),
            Ok(from) => {
                let deadline = Tick(self.tick.0.saturating_add(u64::from(within)));
                self.orders.insert(order, PendingOrder { entity, to, from, deadline });
                let msg = HandoffOrder { order, entity, to, hold, deadline };
                self.peers.at(from).out.push(Msg::BaseToCell(BaseToCell::Order(msg)));
            }
        }
    }

    /// Who would carry an order out now, or why nobody can. Changes nothing.
    ///
    /// # Errors
    /// Why nobody can.
    pub fn may_order(&self, entity: EntityId, to: Node) -> Result<Node, HandoffRefusal> {
        self.check_order(entity, to)
    }

    /// Who is to carry an order out, or why nobody can.
    fn check_order(&self, entity: EntityId, to: Node) -> Result<Node, HandoffRefusal> {
        let lineage = self.store.entities.get(&entity).filter(|l| !l.state.destroyed);
        let lineage = lineage.ok_or(HandoffRefusal::NoSuchEntity)?;
        if lineage.owner == to {
            return Err(HandoffRefusal::AlreadyThere);
        }
        if self.map.is_dead(to) {
            return Err(HandoffRefusal::TargetDead);
        }
        let layout = self.map.layout(lineage.state.place.space);
        if !layout.is_some_and(|layout| layout.is_owned_by(to)) {
            return Err(HandoffRefusal::NotInSpace);
        }
        self.check_target(to)?;
        if self.store.leaving.contains_key(&entity.slot()) {
            return Err(HandoffRefusal::InProgress);
        }
        let busy = self.orders.values().any(|order| order.entity == entity);
        if busy || !lineage.reported {
            return Err(HandoffRefusal::InProgress);
        }
        if self.orders.len() >= PENDING_MAX {
            return Err(HandoffRefusal::InProgress);
        }
        self.reachable_owner(entity).ok_or(HandoffRefusal::NotOwned)
    }

    pub(crate) fn on_order_refused(
        &mut self,
        from: Node,
        order: u64,
        entity: EntityId,
        reason: HandoffRefusal,
    ) {
        if self.orders.get(&order).is_some_and(|o| o.from == from && o.entity == entity) {
            self.order_refused(order, entity, reason);
        } else {
            self.refuse(Refused::NotOwner, from, entity);
        }
    }

    pub(crate) fn order_refused(&mut self, order: u64, entity: EntityId, reason: HandoffRefusal) {
        if let Some(pending) = self.orders.remove(&order) {
            self.end_order(order, (entity, Some(pending.from)), Some(reason), None);
        }
    }

    /// An owner reported under a new epoch: an order that wanted it there has committed; one that
    /// did not was overtaken, and the owner that it was passed to can not carry it out any more.
    pub(crate) fn order_reported(
        &mut self,
        entity: EntityId,
        ticks: (Option<Tick>, Tick),
        _lsn: Lsn,
    ) {
        let owner = self.store.entities.get(&entity).map(|lineage| lineage.owner);
        for (order, pending) in self.orders_of(entity) {
            self.orders.remove(&order);
            let refused = (owner != Some(pending.to)).then_some(HandoffRefusal::NotOwned);
            let ticks = refused.is_none().then_some(ticks);
            self.end_order(order, (entity, Some(pending.from)), refused, ticks);
        }
    }

    pub(crate) fn end_orders_of(&mut self, entity: EntityId, reason: HandoffRefusal) {
        for (order, _) in self.orders_of(entity) {
            self.order_refused(order, entity, reason);
        }
    }

    fn orders_of(&self, entity: EntityId) -> Vec<(u64, PendingOrder)> {
        let all = self.orders.iter().filter(|(_, pending)| pending.entity == entity);
        all.map(|(order, pending)| (*order, *pending)).collect()
    }

    pub(crate) fn check_order_deadlines(&mut self) {
        let late = self.orders.iter().filter(|(_, pending)| pending.deadline < self.tick);
        let late: Vec<(u64, EntityId)> = late.map(|(n, pending)| (*n, pending.entity)).collect();
        for (order, entity) in late {
            self.order_refused(order, entity, HandoffRefusal::Deadline);
        }
    }

    fn end_order(
        &mut self,
        order: u64,
        (entity, from): (EntityId, Option<Node>),
        refused: Option<HandoffRefusal>,
        ticks: Option<(Option<Tick>, Tick)>,
    ) {
        let lineage = self.store.entities.get(&entity).filter(|l| !l.state.destroyed);
        let owner = lineage.map(|l| l.owner);
        let epoch = lineage.map_or(Epoch::NONE, |l| l.epoch);
        self.event(Event::OrderEnded { order, entity, refused });
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        let answer = OrderAnswer::Handoff {
            order,
            entity,
            refused,
            from: from.or(owner),
            owner,
            epoch,
            tick_last: ticks.and_then(|(last, _)| last),
            tick_first: ticks.map(|(_, first)| first),
        };
        self.leave(lsn, Held::Answer(answer));
    }
}
