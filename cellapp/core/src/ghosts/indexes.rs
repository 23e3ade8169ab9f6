//! The dense numbers by which one host knows the ghosts of this process's reals: deltas name a
//! ghost by it, so that naming costs nothing among neighbours.

use marchland_common::order::EntityId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The numbers of one host. Invariant: the last number is taken, and `free` holds exactly the
/// others that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Indexes {
    taken: Vec<Option<EntityId>>,
    free: BTreeSet<u32>,
}

impl Indexes {
    /// Gives an entity the smallest free number.
    pub(super) fn give(&mut self, entity: EntityId) -> u32 {
        match self.free.pop_first() {
            Some(index) => {
                self.taken[index as usize] = Some(entity);
                index
            }
            None => {
                self.taken.push(Some(entity));
                (self.taken.len() - 1) as u32
            }
        }
    }

    /// Takes a number back.
    pub(super) fn take_back(&mut self, index: u32) {
        let Some(entry) = self.taken.get_mut(index as usize) else { return };
        if entry.take().is_some() {
            self.free.insert(index);
        }
        while matches!(self.taken.last(), Some(None)) {
            self.taken.pop();
            self.free.remove(&(self.taken.len() as u32));
        }
    }

    /// Whose number it is.
    pub(super) fn entity(&self, index: u32) -> Option<EntityId> {
        self.taken.get(index as usize).copied().flatten()
    }

    /// All entities that have a number, by number.
    pub(super) fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.taken.iter().flatten().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::SlotId;

    #[test]
    fn numbers_stay_dense_and_a_table_that_empties_is_as_new() {
        let mut indexes = Indexes::default();
        let ids: Vec<_> = (1..=5).map(|n| EntityId::new(SlotId(0), n)).collect();
        let given: Vec<u32> = ids.iter().map(|id| indexes.give(*id)).collect();
        assert_eq!(given, [0, 1, 2, 3, 4]);
        indexes.take_back(1);
        indexes.take_back(3);
        assert_eq!(indexes.give(ids[1]), 1, "the smallest free number goes first");
        assert_eq!(indexes.entity(1), Some(ids[1]));
        assert_eq!(indexes.entity(3), None);
        for index in [0, 1, 4, 2, 2, 9] {
            indexes.take_back(index);
        }
        assert_eq!(indexes, Indexes::default());
    }
}
