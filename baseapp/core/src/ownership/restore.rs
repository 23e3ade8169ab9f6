//! Restores: an entity whose owner is lost, or never reported, goes on from its image at another
//! life, under a higher epoch.

use crate::core::BaseCore;
use crate::gate::Held;
use crate::io::BaseBug;
use crate::log::OwnerRecord;
use marchland_common::journal::OwnerWhy;
use marchland_common::order::{EntityId, Node, NodeKind, Tick};
use marchland_common::time::EntityTime;

/// Restores in one tick: a grant carries a state, and one bundle must stay far below the size
/// that a link takes.
const RESTORES_MAX: usize = 1_000;

impl BaseCore {
    /// Lives were declared dead: what they own waits for another owner, and nothing of them
    /// becomes durable here any more.
    pub(crate) fn on_verdict(&mut self) {
        let map = &self.map;
        for (node, peer) in self.peers.iter_mut() {
            if map.is_dead(node) {
                peer.dead = true;
                peer.fences.clear();
            }
        }
        let lost = self
            .store
            .entities
            .iter()
            .filter(|(_, lineage)| map.is_dead(lineage.owner) && !lineage.state.destroyed);
        self.orphans.extend(lost.map(|(id, _)| *id));
    }

    /// Finds owners for entities that lost theirs. Who finds none waits for the next tick.
    pub(crate) fn restore_orphans(&mut self) {
        let waiting: Vec<EntityId> = self.orphans.iter().copied().collect();
        let mut restored = 0;
        for entity in waiting {
            if restored >= RESTORES_MAX {
                break;
            }
            let Some(lineage) = self.store.entities.get(&entity) else {
                self.orphans.remove(&entity);
                continue;
            };
            if lineage.state.destroyed || !self.map.is_dead(lineage.owner) {
                self.orphans.remove(&entity);
            } else if let Some(heir) = self.heir(entity) {
                self.orphans.remove(&entity);
                self.regrant(entity, heir, OwnerWhy::Verdict);
                restored += 1;
            }
        }
    }

    /// The owner of a granted epoch did not report: the owner before it takes the entity back, or
    /// another one does. While nobody can be heard, the grant goes on being repeated.
    ///
    /// The life that did not report may be well and own other entities, so its window stays open;
    /// its claim on this entity is fenced by name, and every step of it is.
    pub(crate) fn give_up_target(&mut self, entity: EntityId) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let (silent, epoch) = (lineage.owner, lineage.epoch);
        let Some(heir) = self.heir(entity) else { return };
        self.regrant(entity, heir, OwnerWhy::GrantDeadline);
        if heir != silent {
            let lsn = self.gate.last;
            self.leave(lsn, Held::Fence { node: silent, entity, epoch });
            self.fence_by_name(silent, entity, epoch);
        }
    }

    fn regrant(&mut self, entity: EntityId, heir: Node, why: OwnerWhy) {
        let lineage = &self.store.entities[&entity];
        let epoch = match self.has_bug(BaseBug::KeepEpoch) {
            true => lineage.epoch,
            false => lineage.epoch.next_grant(),
        };
        let record = OwnerRecord {
            entity,
            epoch,
            owner: heir,
            prev: lineage.prev,
            why,
            last_tick: self.newest_tick(entity),
            time: self.time_now(entity),
        };
        self.change_owner(&record);
    }

    /// Who takes an entity over: the owner before, else the owner of the cell where it stands,
    /// else some life with a cell of its space. Only who was heard lately; one that takes new
    /// entities before one that does not; the present owner only if there is nobody else.
    fn heir(&self, entity: EntityId) -> Option<Node> {
        let lineage = self.store.entities.get(&entity).filter(|_| !self.is_elsewhere(entity))?;
        let place = lineage.state.place;
        let present = lineage.owner;
        let is_fit = |node: Node| {
            self.map.is_live(node) && self.peers.is_heard(node, self.ran, self.config.heard_within)
        };
        let before = lineage.prev.map(|p| p.node).filter(|n| *n != present && is_fit(*n));
        if before.is_some() {
            return before;
        }
        let layout = self.map.layout(place.space)?;
        let here = layout.cell_at(place.pos).owner;
        let mut others: Vec<Node> = layout.cells().iter().filter_map(|c| c.owner).collect();
        others.sort();
        others.dedup();
        // Each entity and each attempt begins elsewhere, so that the lost life's entities spread
        // and nobody who can take them is passed over for ever.
        let turn = (entity.counter() + lineage.epoch.grant() / 2) as usize % others.len().max(1);
        others.rotate_left(turn);
        let fit: Vec<Node> = here.into_iter().chain(others).filter(|n| is_fit(*n)).collect();
        let other = || fit.iter().filter(|n| **n != present);
        let accepting = other().find(|n| self.check_target(**n).is_ok());
        accepting.or_else(|| other().next()).or_else(|| fit.first()).copied()
    }

    /// Who is to own an entity that is born at a place: the owner of the cell there, else any
    /// life with a cell of the space.
    pub(crate) fn owner_at(&self, place: marchland_common::world::Place) -> Option<Node> {
        let layout = self.map.layout(place.space)?;
        let is_fit = |node: &Node| node.name.kind == NodeKind::Cell && self.map.is_live(*node);
        let here = layout.cell_at(place.pos).owner.filter(is_fit);
        here.or_else(|| layout.cells().iter().filter_map(|c| c.owner).filter(is_fit).min())
    }

    /// The image's entity time, brought up to date by what its owner stepped since: a life that
    /// was heard without a step of this entity simulated it all the same.
    fn time_now(&self, entity: EntityId) -> EntityTime {
        let lineage = &self.store.entities[&entity];
        let known = self.now.get(&entity).and_then(|now| now.steps);
        let heard = self.peers.get(lineage.owner).map(|p| p.word.steps);
        let ticks = match (known, heard) {
            (Some(then), Some(newest)) => newest.saturating_sub(then),
            _ => 0,
        };
        lineage.state.time.after_us(ticks.saturating_mul(self.config.step_us))
    }

    /// The last tick of the present owner that is in the lineage, if it reported.
    fn newest_tick(&self, entity: EntityId) -> Option<Tick> {
        let lineage = &self.store.entities[&entity];
        let reported = lineage.reported && self.now.get(&entity)?.steps.is_some();
        reported.then(|| self.peers.get(lineage.owner)?.newest).flatten()
    }
}
