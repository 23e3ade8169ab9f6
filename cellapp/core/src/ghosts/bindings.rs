//! What the numbers of one owner mean here: an owner names its ghosts in deltas by number.
//!
//! Invariant: the last entry is not free, so that the table of an owner that has no ghosts here
//! any more is empty.

use marchland_common::order::{EntityId, Epoch, Tick};
use serde::{Deserialize, Serialize};

/// Numbers from here on are refused: more ghosts than one owner can have.
pub const INDEX_END: u32 = 1 << 17;

/// What a number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Binding {
    /// Nothing.
    #[default]
    Free,
    /// The ghost of this entity, which follows this owner.
    Bound(EntityId),
    /// A ghost that follows a later owner, or became real here; what still comes is too old.
    Retired(EntityId, Epoch),
    /// A ghost that was given up here while its owner was silent.
    Lost(EntityId, Epoch),
}

impl Binding {
    pub(super) const fn entity(self) -> Option<EntityId> {
        match self {
            Self::Free => None,
            Self::Bound(entity) | Self::Retired(entity, _) | Self::Lost(entity, _) => Some(entity),
        }
    }
}

/// One owner of ghosts that are held here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// When a bundle of it came last.
    pub(super) heard: Tick,
    /// Whether its ghosts are marked as stale.
    pub(super) is_stale: bool,
    bindings: Vec<Binding>,
}

impl Owner {
    pub(super) fn new(heard: Tick) -> Self {
        Self { heard, is_stale: false, bindings: Vec::new() }
    }

    pub(super) fn get(&self, index: u32) -> Binding {
        self.bindings.get(index as usize).copied().unwrap_or_default()
    }

    /// Gives a number, below [`INDEX_END`], a meaning and returns the one before.
    pub(super) fn set(&mut self, index: u32, binding: Binding) -> Binding {
        let at = index as usize;
        if at >= self.bindings.len() {
            self.bindings.resize(at + 1, Binding::Free);
        }
        let old = std::mem::replace(&mut self.bindings[at], binding);
        while matches!(self.bindings.last(), Some(Binding::Free)) {
            self.bindings.pop();
        }
        old
    }

    /// All meanings, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Binding)> {
        (0_u32..).zip(self.bindings.iter().copied())
    }

    /// The number that an entity has here although its ghost does not follow this owner. Visits
    /// all: only for what happens rarely.
    pub(super) fn number_kept_for(&self, entity: EntityId) -> Option<u32> {
        let kept = |binding: &Binding| {
            !matches!(binding, Binding::Bound(_)) && binding.entity() == Some(entity)
        };
        self.bindings.iter().position(kept).map(|at| at as u32)
    }

    /// The entities whose ghosts follow this owner, by number.
    pub(super) fn bound(&self) -> Vec<EntityId> {
        let bound = self.bindings.iter().filter_map(|binding| match binding {
            Binding::Bound(entity) => Some(*entity),
            Binding::Free | Binding::Retired(..) | Binding::Lost(..) => None,
        });
        bound.collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }
}
