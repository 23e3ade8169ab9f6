//! Offloads that wait for the grant that makes them real, and are nothing without it.

use marchland_common::msg::Offload;
use marchland_common::order::{EntityId, Epoch, Node, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most offloads that wait; a grant that finds none goes on from the base's image.
pub const PARKED_MAX: usize = 16_384;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    since: Tick,
    from: Node,
    offload: Offload,
}

/// The offloads, by entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    rows: BTreeMap<EntityId, Waiting>,
}

impl Parked {
    /// Keeps an offload; one of a lower epoch, or the same again, is replaced. False when it is
    /// older than the one that is kept, or there are too many.
    pub fn put(&mut self, tick: Tick, from: Node, offload: Offload) -> bool {
        let entity = offload.entity;
        let is_older =
            self.rows.get(&entity).is_some_and(|known| known.offload.epoch > offload.epoch);
        let is_full = self.rows.len() >= PARKED_MAX && !self.rows.contains_key(&entity);
        if is_older || is_full {
            return false;
        }
        self.rows.insert(entity, Waiting { since: tick, from, offload });
        true
    }

    /// Who sent the offload of an entity that waits here, and under which epoch.
    #[must_use]
    pub fn known(&self, entity: EntityId) -> Option<(Node, Epoch)> {
        self.rows.get(&entity).map(|waiting| (waiting.from, waiting.offload.epoch))
    }

    /// Takes the offload of an entity out, with who sent it.
    pub fn take(&mut self, entity: EntityId) -> Option<(Node, Offload)> {
        self.rows.remove(&entity).map(|waiting| (waiting.from, waiting.offload))
    }

    /// Drops what has waited for more than `ttl` ticks. Returns the entities.
    pub fn expire(&mut self, tick: Tick, ttl: u64) -> Vec<EntityId> {
        let is_over = |since: Tick| tick.0.saturating_sub(since.0) > ttl;
        let over: Vec<EntityId> =
            self.rows.iter().filter(|(_, row)| is_over(row.since)).map(|(id, _)| *id).collect();
        for entity in &over {
            self.rows.remove(entity);
        }
        over
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}
