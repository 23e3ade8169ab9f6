//! The highest epoch seen of each entity that is or was recently known here, so that an older
//! grant never makes an older life of it real again.

use indexmap::IndexMap;
use marchland_common::order::{EntityId, Epoch};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most entities that are remembered; the one noted first is forgotten. What is real here is
/// known by itself, and a peer cannot repeat an old message after a newer one, so that this
/// memory is a second line of defence and may be bounded.
pub const SEEN_MAX: usize = 1 << 16;

/// The memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(EntityId, Epoch)>", into = "Vec<(EntityId, Epoch)>")]
pub struct Seen {
    epochs: IndexMap<EntityId, Epoch, FxBuildHasher>,
    /// Oldest first; each entity of `epochs` once.
    order: VecDeque<EntityId>,
}

impl Seen {
    /// The highest epoch seen of an entity.
    #[must_use]
    pub fn epoch(&self, entity: EntityId) -> Epoch {
        self.epochs.get(&entity).copied().unwrap_or(Epoch::NONE)
    }

    /// Notes an epoch.
    pub fn note(&mut self, entity: EntityId, epoch: Epoch) {
        if let Some(known) = self.epochs.get_mut(&entity) {
            *known = (*known).max(epoch);
            return;
        }
        if self.order.len() >= SEEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.epochs.swap_remove(&oldest);
        }
        self.epochs.insert(entity, epoch);
        self.order.push_back(entity);
    }
}

impl From<Vec<(EntityId, Epoch)>> for Seen {
    fn from(rows: Vec<(EntityId, Epoch)>) -> Self {
        let mut seen = Self::default();
        for (entity, epoch) in rows {
            seen.note(entity, epoch);
        }
        seen
    }
}

impl From<Seen> for Vec<(EntityId, Epoch)> {
    fn from(seen: Seen) -> Self {
        seen.order.iter().map(|entity| (*entity, seen.epoch(*entity))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_epoch_stays_and_the_oldest_entity_makes_room() {
        let mut seen = Seen::default();
        seen.note(EntityId(1), Epoch::of_grant(5));
        seen.note(EntityId(1), Epoch::of_grant(3));
        assert_eq!(seen.epoch(EntityId(1)), Epoch::of_grant(5));
        for n in 0..SEEN_MAX as u64 {
            seen.note(EntityId(n + 2), Epoch::of_grant(1));
        }
        assert_eq!(seen.epoch(EntityId(1)), Epoch::NONE);
        assert_eq!(seen.epochs.len(), SEEN_MAX);
        let rows: Vec<_> = seen.clone().into();
        assert_eq!(Vec::from(Seen::from(rows.clone())), rows);
    }
}
