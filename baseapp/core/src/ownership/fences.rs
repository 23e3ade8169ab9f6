//! Telling a life that its claim on an entity is over.
//!
//! Three rules. The word waits until the record that ended the claim is durable: a base that came
//! back without it would otherwise find that nobody holds the entity. The holder of the fallback
//! is never told, because its frozen copy must outlive a lost grant; it is released instead. And
//! the present owner is never told about its own older epochs, because its grant replaces them.

use crate::core::BaseCore;
use crate::gate::Held;
use crate::peers::Fence;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Msg};
use marchland_common::order::{EntityId, Epoch, Lsn, Node};

impl BaseCore {
    /// Answers a life that acted under an epoch that is not its own any more. The tick in which it
    /// did so is durable for it no earlier than it hears the answer.
    pub(crate) fn fence(&mut self, to: Node, entity: EntityId, epoch: Epoch) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        if epoch > lineage.epoch || to == lineage.owner || lineage.is_fallback(to, epoch) {
            return;
        }
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.own_lsn);
        self.peers.at(to).rests_on(lsn);
        self.leave(lsn, Held::Fence { node: to, entity, epoch });
    }

    /// Answers a life that was declared dead and speaks all the same. Its entity may still wait
    /// for somebody to take it; the epoch that it held ends in any case.
    pub(crate) fn fence_dead(&mut self, to: Node, entity: EntityId, epoch: Epoch) {
        let current = self.store.entities.get(&entity).map(|l| (l.epoch, l.owner == to));
        match current {
            Some((held, false)) if epoch <= held => {
                let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.own_lsn);
                self.leave(lsn, Held::Fence { node: to, entity, epoch });
            }
            Some((held, true)) if epoch == held => self.say_fenced(to, entity, epoch),
            Some(_) => {}
            None => self.speak_of_nobody(to, entity, epoch),
        }
    }

    /// Answers about an entity that has no record here: if it ever existed, it ended.
    pub(crate) fn speak_of_nobody(&mut self, from: Node, entity: EntityId, epoch: Epoch) {
        self.refusals.add(Refused::UnknownEntity, Some(from), Some(entity));
        if self.was_handed_out(entity) {
            self.leave(self.gate.last, Held::Fence { node: from, entity, epoch });
        }
    }

    /// From now on a holder is told by name that its claim ended: see [`Fence`].
    pub(crate) fn fence_by_name(&mut self, node: Node, entity: EntityId, epoch: Epoch) {
        if !self.map.is_dead(node) {
            let fence = Fence { epoch, left: Fence::TIMES };
            self.peers.at(node).fences.insert(entity, fence);
        }
    }

    /// Says the fences that are still to be said.
    pub(crate) fn repeat_fences(&mut self) {
        let mut due = Vec::new();
        for (node, peer) in self.peers.iter_mut() {
            for (entity, fence) in &mut peer.fences {
                due.push((node, *entity, fence.epoch));
                fence.left -= 1;
            }
            peer.fences.retain(|_, fence| fence.left > 0);
        }
        for (node, entity, epoch) in due {
            self.fence(node, entity, epoch);
        }
    }

    /// A grant was not taken, because its life knows a higher epoch.
    pub(crate) fn on_grant_stale(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        known: Epoch,
    ) {
        let peer = self.peers.at(from);
        if peer.fences.get(&entity).is_some_and(|fence| fence.epoch < known) {
            peer.fences.remove(&entity);
        }
        let waits = self.store.entities.get(&entity).is_some_and(|lineage| {
            lineage.owner == from && lineage.epoch == epoch && !lineage.reported
        });
        // It will never be taken: there is nothing to wait for.
        if waits && known >= epoch && self.granting.contains(&entity) {
            self.refuse(Refused::GrantStale, from, entity);
            self.give_up_target(entity);
        }
    }

    /// Says that a claim ended. What holds instead is told as the next epoch where the entity has
    /// no record any more or still waits for an owner.
    pub(crate) fn say_fenced(&mut self, to: Node, entity: EntityId, epoch: Epoch) {
        let held = self.store.entities.get(&entity).map_or(Epoch::NONE, |l| l.epoch);
        let current = held.max(Epoch::of_grant(epoch.grant().saturating_add(1) & EPOCH_GRANTS));
        self.event(Event::FencedSent { entity, epoch, current, to });
        let msg = BaseToCell::Fenced { entity, epoch, current };
        self.peers.at(to).out.push(Msg::BaseToCell(msg));
    }
}

/// The numbers that a grant may have.
const EPOCH_GRANTS: u64 = u64::MAX >> 16;
