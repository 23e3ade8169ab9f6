//! What is remembered of ghosts that ended here, so that an older life of one never comes back.
//!
//! Bounded: at most [`TOMBS_MAX`] are kept, the oldest goes first, and none is kept longer than
//! [`TOMB_TICKS`]. What is forgotten could matter only to a message of an owner that lost the
//! entity that long ago and is alive: it would be fenced meanwhile, disown the ghost, and the ghost
//! would be dropped as abandoned.

use marchland_common::order::{EntityId, Epoch, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most ended ghosts that are remembered.
pub const TOMBS_MAX: usize = 16_384;
/// For how many ticks.
pub const TOMB_TICKS: u64 = 12_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tomb {
    epoch: Epoch,
    is_destroyed: bool,
    since: Tick,
}

/// The table. Invariant: `order` holds exactly the keys of `tombs` with their time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tombs {
    tombs: BTreeMap<EntityId, Tomb>,
    order: BTreeSet<(Tick, EntityId)>,
    evicted: u64,
}

impl Tombs {
    /// Remembers the highest epoch under which a ghost ended.
    pub(super) fn bury(&mut self, id: EntityId, epoch: Epoch, is_destroyed: bool, now: Tick) {
        let mut tomb = Tomb { epoch, is_destroyed, since: now };
        if let Some(old) = self.forget(id)
            && (old.epoch, old.is_destroyed) > (epoch, is_destroyed)
        {
            (tomb.epoch, tomb.is_destroyed) = (old.epoch, old.is_destroyed);
        }
        self.tombs.insert(id, tomb);
        self.order.insert((now, id));
        while self.tombs.len() > TOMBS_MAX {
            self.forget_oldest();
            self.evicted += 1;
        }
    }

    /// Whether a state of that epoch must not be shown any more. The epoch of a ghost that merely
    /// went out of reach may come back; that of a destroyed one may not.
    pub(super) fn blocks(&self, id: EntityId, epoch: Epoch) -> bool {
        let tomb = self.tombs.get(&id);
        tomb.is_some_and(|tomb| epoch < tomb.epoch || (epoch == tomb.epoch && tomb.is_destroyed))
    }

    /// The highest epoch under which a ghost ended here.
    pub(super) fn epoch(&self, id: EntityId) -> Option<Epoch> {
        self.tombs.get(&id).map(|tomb| tomb.epoch)
    }

    /// Drops what is too old.
    pub(super) fn expire(&mut self, now: Tick) {
        while self.order.first().is_some_and(|(since, _)| now.0 - since.0.min(now.0) > TOMB_TICKS) {
            self.forget_oldest();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tombs.len()
    }

    /// How many were dropped to make room.
    pub(super) const fn evicted(&self) -> u64 {
        self.evicted
    }

    fn forget(&mut self, id: EntityId) -> Option<Tomb> {
        let tomb = self.tombs.remove(&id)?;
        self.order.remove(&(tomb.since, id));
        Some(tomb)
    }

    fn forget_oldest(&mut self) {
        if let Some((_, id)) = self.order.pop_first() {
            self.tombs.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::SlotId;

    fn id(n: u64) -> EntityId {
        EntityId::new(SlotId(0), n)
    }

    #[test]
    fn an_older_epoch_never_passes_and_the_same_one_only_if_nothing_was_destroyed() {
        let mut tombs = Tombs::default();
        tombs.bury(id(1), Epoch::of_grant(5), false, Tick(1));
        assert!(tombs.blocks(id(1), Epoch::of_grant(4)));
        assert!(!tombs.blocks(id(1), Epoch::of_grant(5)));
        tombs.bury(id(1), Epoch::of_grant(5), true, Tick(2));
        tombs.bury(id(1), Epoch::of_grant(3), false, Tick(3));
        assert!(tombs.blocks(id(1), Epoch::of_grant(5)));
        assert!(!tombs.blocks(id(1), Epoch::of_grant(6)));
    }

    #[test]
    fn the_table_is_bounded_in_number_and_in_age() {
        let mut tombs = Tombs::default();
        for n in 1..=TOMBS_MAX as u64 + 3 {
            tombs.bury(id(n), Epoch::of_grant(1), true, Tick(n));
        }
        assert_eq!((tombs.len(), tombs.evicted()), (TOMBS_MAX, 3));
        assert!(!tombs.blocks(id(3), Epoch::of_grant(1)), "the oldest went");
        assert!(tombs.blocks(id(4), Epoch::of_grant(1)));
        tombs.expire(Tick(TOMBS_MAX as u64 + 3 + TOMB_TICKS));
        assert_eq!(tombs.len(), 1);
        tombs.expire(Tick(u64::MAX));
        assert_eq!(tombs, Tombs { evicted: 3, ..Tombs::default() });
    }
}
