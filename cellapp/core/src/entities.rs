//! Dense storage of the entities that are real here.
//!
//! Invariants: what a tick costs depends on the entities that are awake, changed or waited for,
//! never on how many merely exist; every order of iteration is by id; the digest over all entities
//! is kept up to date by exchanging one entity's part.

mod real;

pub use real::{Frozen, Leaving, Phase, Real, UnackedStep};

use indexmap::IndexMap;
use marchland_common::order::{EntityId, SlotId};
use rustc_hash::FxBuildHasher;
use std::collections::BTreeSet;

/// The reals of this process, with the lists that say which of them need work.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    /// Dense; its own order depends on history and is never used.
    rows: IndexMap<EntityId, Real, FxBuildHasher>,
    /// Whose behaviour is called every tick, ascending.
    awake: Vec<EntityId>,
    /// Who woke or fell asleep since that list was put in order, in this order. A thousand that
    /// fall asleep at once cost one pass over the list and not one each.
    turned: Vec<(EntityId, bool)>,
    /// Changed since their last step; each once.
    dirty: Vec<EntityId>,
    /// Something waits for their behaviour.
    waited_for: BTreeSet<EntityId>,
    /// Frozen ones.
    frozen: BTreeSet<EntityId>,
    /// Ended ones whose last step is not durable yet.
    ended: BTreeSet<EntityId>,
    /// How many there are of each base slot.
    of_slot: SlotCounts,
    digest: u64,
}

#[derive(Clone, Debug)]
struct SlotCounts([usize; 256]);

impl Default for SlotCounts {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Entities {
    /// How many there are, frozen and ended ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&Real> {
        self.rows.get(&id)
    }

    /// One of them, to be changed. The caller says [`touch`](Self::touch) when it is done.
    pub fn get_mut(&mut self, id: EntityId) -> Option<&mut Real> {
        self.rows.get_mut(&id)
    }

    /// Where one of them is stored, until the next one is removed: saves looking it up again.
    #[must_use]
    pub fn find(&self, id: EntityId) -> Option<usize> {
        self.rows.get_index_of(&id)
    }

    /// The one that was found there.
    #[must_use]
    pub fn row(&self, index: usize) -> &Real {
        &self.rows[index]
    }

    /// The one that was found there, to be changed.
    pub fn at(&mut self, index: usize) -> &mut Real {
        &mut self.rows[index]
    }

    /// All of them, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Real> {
        self.rows.values()
    }

    /// All of them, by id. Costs a sort: not for every tick.
    #[must_use]
    pub fn by_id(&self) -> Vec<&Real> {
        let mut all: Vec<&Real> = self.rows.values().collect();
        all.sort_unstable_by_key(|real| real.id);
        all
    }

    /// The ids of those for which `wanted` holds, ascending. Visits all: not for every tick.
    pub fn ids_where(&self, wanted: impl Fn(&Real) -> bool) -> Vec<EntityId> {
        let mut ids: Vec<EntityId> =
            self.rows.values().filter(|real| wanted(real)).map(|real| real.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Adds a real; the caller has removed an older copy.
    pub fn insert(&mut self, mut real: Real) {
        let id = real.id;
        real.part = real.digest_part();
        self.digest ^= real.part;
        self.list(&mut real);
        self.of_slot.0[usize::from(id.slot().0)] += 1;
        let old = self.rows.insert(id, real);
        assert!(old.is_none(), "a real is removed before another copy of it comes in");
    }

    /// Enters a real into the lists that its fields ask for.
    fn list(&mut self, real: &mut Real) {
        match real.phase {
            Phase::Active if real.awake => self.turned.push((real.id, true)),
            Phase::Active => {}
            Phase::Frozen(_) => {
                self.frozen.insert(real.id);
            }
            Phase::Ended => {
                self.ended.insert(real.id);
            }
        }
        if real.has_work() {
            self.waited_for.insert(real.id);
        }
        real.is_listed_dirty = real.needs_build();
        if real.is_listed_dirty {
            self.dirty.push(real.id);
        }
    }

    /// Removes a real.
    pub fn remove(&mut self, id: EntityId) -> Option<Real> {
        let real = self.rows.swap_remove(&id)?;
        self.digest ^= real.part;
        self.of_slot.0[usize::from(id.slot().0)] -= 1;
        if real.awake && matches!(real.phase, Phase::Active) {
            self.turned.push((id, false));
        }
        self.waited_for.remove(&id);
        self.frozen.remove(&id);
        self.ended.remove(&id);
        if real.is_listed_dirty {
            self.dirty.retain(|other| *other != id);
        }
        Some(real)
    }

    /// Brings a real's part of the digest up to date, and lists it if it has to be built.
    pub fn touch(&mut self, id: EntityId) {
        if let Some(index) = self.find(id) {
            self.touch_at(index);
        }
    }

    /// The same for one that was found.
    pub fn touch_at(&mut self, index: usize) {
        let real = &mut self.rows[index];
        let part = real.digest_part();
        self.digest ^= real.part ^ part;
        real.part = part;
        self.list_if_changed(index);
    }

    /// Lists one that was found if it has to be built.
    pub fn list_if_changed(&mut self, index: usize) {
        let real = &mut self.rows[index];
        if !real.is_listed_dirty && real.needs_build() {
            real.is_listed_dirty = true;
            self.dirty.push(real.id);
        }
    }

    /// Lists a real for the SyncBuild phase whatever changed.
    pub fn mark_dirty(&mut self, id: EntityId) {
        let Some(real) = self.rows.get_mut(&id) else { return };
        if !std::mem::replace(&mut real.is_listed_dirty, true) {
            self.dirty.push(id);
        }
    }

    /// Takes the list of changed reals, in no order. Each is to be [`unlist`](Self::unlist)ed when
    /// its turn comes.
    pub fn take_dirty(&mut self) -> Vec<EntityId> {
        std::mem::take(&mut self.dirty)
    }

    /// Notes that one that was found stands in no list of changed reals.
    pub fn unlist(&mut self, index: usize) {
        self.rows[index].is_listed_dirty = false;
    }

    /// Has a real's behaviour called every tick, or not.
    pub fn set_awake(&mut self, id: EntityId, awake: bool) {
        let Some(real) = self.rows.get_mut(&id) else { return };
        if real.awake == awake {
            return;
        }
        real.awake = awake;
        if matches!(real.phase, Phase::Active) {
            self.turned.push((id, awake));
        }
    }

    /// The awake reals, ascending.
    pub fn awake(&mut self) -> &[EntityId] {
        if !self.turned.is_empty() {
            let mut turned = std::mem::take(&mut self.turned);
            // The newest word about each comes last.
            turned.sort_by_key(|(id, _)| *id);
            let mut next = turned.iter().map(|(id, _)| *id).peekable();
            self.awake.retain(|id| {
                while next.next_if(|turned| turned < id).is_some() {}
                next.peek() != Some(id)
            });
            let last_words = turned.chunk_by(|one, two| one.0 == two.0).filter_map(<[_]>::last);
            self.awake.extend(last_words.filter(|(_, awake)| *awake).map(|(id, _)| *id));
            self.awake.sort_unstable();
        }
        &self.awake
    }

    /// Notes that something waits for a real's behaviour.
    pub fn wait_for(&mut self, id: EntityId) {
        self.waited_for.insert(id);
    }

    /// Notes that nothing waits for it any more.
    pub fn attended(&mut self, id: EntityId) {
        self.waited_for.remove(&id);
    }

    /// The reals that something waits for, ascending.
    #[must_use]
    pub const fn waited_for(&self) -> &BTreeSet<EntityId> {
        &self.waited_for
    }

    /// Moves a real to another phase and into that phase's lists.
    pub fn set_phase(&mut self, id: EntityId, phase: Phase) {
        let Some(real) = self.rows.get_mut(&id) else { return };
        let was_active = matches!(real.phase, Phase::Active);
        let awake = real.awake;
        self.frozen.remove(&id);
        self.ended.remove(&id);
        match &phase {
            Phase::Active => {}
            Phase::Frozen(_) => {
                self.frozen.insert(id);
            }
            Phase::Ended => {
                self.ended.insert(id);
            }
        }
        let is_active = matches!(phase, Phase::Active);
        real.phase = phase;
        match (was_active, is_active) {
            (true, false) if awake => self.turned.push((id, false)),
            (false, true) if awake => self.turned.push((id, true)),
            _ => {}
        }
        self.touch(id);
    }

    /// The frozen reals, ascending.
    #[must_use]
    pub const fn frozen(&self) -> &BTreeSet<EntityId> {
        &self.frozen
    }

    /// The ended reals whose last step is not durable yet, ascending.
    #[must_use]
    pub const fn ended(&self) -> &BTreeSet<EntityId> {
        &self.ended
    }

    /// How many there are of one base slot.
    #[must_use]
    pub fn count_of(&self, slot: SlotId) -> usize {
        self.of_slot.0[usize::from(slot.0)]
    }

    /// The exclusive-or of all entities' digests.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }
}
