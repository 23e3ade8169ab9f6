//! Every entity that is known here, real or ghost, as others may see it, and where it stands.
//!
//! Invariants: an entity has at most one look; its grid entry stands where the look says; a look
//! only changes together with its ghost sequence, and the fields of that change are marked with it.

#[cfg(test)]
mod tests;

use super::snapshot::LooksImage;
use super::{Found, Grid, HEADING, Look, POSITION, Shown, Spot, Visited, inside};
use crate::behaviour::{Other, SightSource};
use indexmap::IndexMap;
use marchland_codec_core::{Pose, PoseChange};
use marchland_common::order::{EntityId, Epoch, Seq, SpaceId};
use marchland_common::world::{Pos, Rect, Value};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The area of the grid of a space that nobody opened: one bucket, because its name may be made up.
const UNKNOWN_AREA: Rect = Rect { min: Pos::new(0, 0), max: Pos::new(1, 1) };

/// What one change of a look consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// The fields that changed, by bit; 0: nothing did.
    pub fields: u32,
    /// The change of the rounded pose.
    pub pose: PoseChange,
    /// Whether the entity went into another space, which no difference can express.
    pub jumped: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    look: Look,
    spot: Spot,
}

/// The table of looks. See the module for its invariants.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "LooksImage", try_from = "LooksImage")]
pub struct Looks {
    /// The wanted side of a grid's buckets in millimetres.
    pub(super) side: i32,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// From the id to the slot; its own order is never used.
    index: IndexMap<EntityId, u32, FxBuildHasher>,
    pub(super) spaces: BTreeMap<SpaceId, Grid>,
}

impl Looks {
    /// An empty table. `side` is the wanted side of a grid's buckets in millimetres: about half the
    /// usual radius of a search.
    #[must_use]
    pub fn new(side: i32) -> Self {
        Self {
            side,
            slots: Vec::new(),
            free: Vec::new(),
            index: IndexMap::default(),
            spaces: BTreeMap::new(),
        }
    }

    /// How many entities are known here.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Fits the grid of a space to its extent. Never needed for a right answer: entities outside
    /// the area, or in a space that nobody opened, are found too, only slower.
    pub fn open_space(&mut self, space: SpaceId, area: Rect) {
        if self.spaces.get(&space).is_some_and(|grid| grid.area() == area) {
            return;
        }
        let mut grid = Grid::new(area, self.side);
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if let Some(Slot { look, spot }) = slot.as_mut().filter(|s| s.look.space == space) {
                *spot = grid.insert(look.id, at as u32, look.pos());
            }
        }
        self.spaces.insert(space, grid);
    }

    /// A space is gone: its grid goes with the last one who stands in it.
    pub fn close_space(&mut self, space: SpaceId) {
        self.open_space(space, UNKNOWN_AREA);
        self.drop_if_unused(space);
    }

    fn drop_if_unused(&mut self, space: SpaceId) {
        let unused = |grid: &Grid| grid.is_empty() && grid.area() == UNKNOWN_AREA;
        if self.spaces.get(&space).is_some_and(unused) {
            self.spaces.remove(&space);
        }
    }

    /// The look of an entity.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&Look> {
        self.slot_of(id).map(|slot| self.at(slot))
    }

    /// The slot of an entity: small, and unchanged for as long as it is known here.
    #[must_use]
    pub fn slot_of(&self, id: EntityId) -> Option<u32> {
        self.index.get(&id).copied()
    }

    /// The look in a slot that is taken.
    #[must_use]
    pub(crate) fn at(&self, slot: u32) -> &Look {
        &self.taken(slot).look
    }

    fn taken(&self, slot: u32) -> &Slot {
        self.slots[slot as usize].as_ref().expect("an index and a grid name only taken slots")
    }

    fn taken_mut(&mut self, slot: u32) -> &mut Slot {
        self.slots[slot as usize].as_mut().expect("an index and a grid name only taken slots")
    }

    fn at_mut(&mut self, slot: u32) -> &mut Look {
        &mut self.taken_mut(slot).look
    }

    /// All ids, ascending. Costs a sort: not for every tick.
    #[must_use]
    pub fn ids(&self) -> Vec<EntityId> {
        let mut ids: Vec<EntityId> = self.index.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Shows an entity whole: for the first time, or in place of what was shown.
    ///
    /// Fields keep the mark of their last change only where the ghost sequence did not move:
    /// otherwise a field may have changed and changed back in between.
    pub fn show(&mut self, id: EntityId, shown: Shown) {
        let mut new = Look::new(id, shown);
        let Some(slot) = self.slot_of(id) else {
            self.add(new);
            return;
        };
        let Slot { look: old, spot } = self.taken(slot);
        let (space, spot) = (old.space, *spot);
        if old.seq == new.seq && old.since == new.since && old.kind == new.kind {
            keep_marks(old, &mut new);
        }
        if let Some(grid) = self.spaces.get_mut(&space) {
            grid.remove(spot);
        }
        if space != new.space {
            self.drop_if_unused(space);
        }
        let spot = self.grid(new.space).insert(id, slot, new.pos());
        *self.taken_mut(slot) = Slot { look: new, spot };
    }

    pub(super) fn add(&mut self, look: Look) {
        let id = look.id;
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        let spot = self.grid(look.space).insert(id, slot, look.pos());
        let entry = Some(Slot { look, spot });
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = entry,
            None => self.slots.push(entry),
        }
        self.index.insert(id, slot);
    }

    fn grid(&mut self, space: SpaceId) -> &mut Grid {
        self.spaces.entry(space).or_insert_with(|| Grid::new(UNKNOWN_AREA, self.side))
    }

    /// Makes one step of an entity's ghost sequence: its pose, and new values of properties that
    /// it has. The sequence grows by one if anything changed, or in any case if `always` says so.
    /// An unknown entity changes nothing.
    pub fn advance(
        &mut self,
        id: EntityId,
        space: SpaceId,
        pose: Pose,
        props: impl IntoIterator<Item = (u8, Value)>,
        always: bool,
    ) -> Advanced {
        match self.slot_of(id) {
            Some(slot) => self.advance_slot(slot, space, pose, props, always),
            None => Advanced::default(),
        }
    }

    /// As [`advance`](Self::advance), for the entity in a slot that is taken.
    pub(crate) fn advance_slot(
        &mut self,
        slot: u32,
        space: SpaceId,
        pose: Pose,
        props: impl IntoIterator<Item = (u8, Value)>,
        always: bool,
    ) -> Advanced {
        let look = self.at_mut(slot);
        let next = look.seq.next();
        let jumped = look.space != space;
        let pose_change = pose.change_since(look.pose);
        let mut fields = set_props(look, props, next);
        if pose_change.moved.is_some() || jumped {
            fields |= POSITION;
            look.moved = next;
        }
        if pose_change.heading.is_some() {
            fields |= HEADING;
            look.turned = next;
        }
        if fields == 0 && !always {
            return Advanced::default();
        }
        look.seq = next;
        look.pose = pose;
        self.settle(slot, space, fields);
        Advanced { fields, pose: pose_change, jumped }
    }

    /// Brings the grid up to date with a look that changed.
    fn settle(&mut self, slot: u32, space: SpaceId, fields: u32) {
        let Slot { look, spot } = self.taken(slot);
        let (id, from, spot, pos) = (look.id, look.space, *spot, look.pos());
        if from != space {
            if let Some(grid) = self.spaces.get_mut(&from) {
                grid.remove(spot);
            }
            self.drop_if_unused(from);
            let spot = self.grid(space).insert(id, slot, pos);
            let entry = self.taken_mut(slot);
            (entry.look.space, entry.spot) = (space, spot);
        } else if fields != 0 {
            let grid = self.spaces.get_mut(&space).expect("a look stands in a grid");
            match fields & POSITION {
                0 => grid.touch(spot),
                _ => grid.move_to(spot, pos),
            }
        }
    }

    /// The same state under another owner's epoch and ghost sequence. When the sequence differs
    /// every field counts as changed: it may have changed and changed back in between.
    pub fn adopt(&mut self, id: EntityId, epoch: Epoch, seq: Seq) {
        let Some(slot) = self.slot_of(id) else { return };
        let Slot { look, spot } = self.taken_mut(slot);
        look.epoch = epoch;
        if look.seq != seq {
            look.seq = seq;
            look.mark_all(seq);
            let (space, spot) = (look.space, *spot);
            if let Some(grid) = self.spaces.get_mut(&space) {
                grid.touch(spot);
            }
        }
    }

    /// Says whether an entity is real here or a ghost; nothing that can be seen of it changes.
    pub fn set_real(&mut self, id: EntityId, is_real: bool) {
        if let Some(slot) = self.slot_of(id) {
            self.at_mut(slot).is_real = is_real;
        }
    }

    /// Marks a ghost whose owner is silent, or takes the mark away.
    pub fn set_stale(&mut self, id: EntityId, is_stale: bool) {
        if let Some(slot) = self.slot_of(id) {
            self.at_mut(slot).is_stale = is_stale;
        }
    }

    /// Removes an entity that is not known here any more.
    pub fn remove(&mut self, id: EntityId) -> Option<Look> {
        let slot = self.index.swap_remove(&id)?;
        let Slot { look, spot } = self.slots[slot as usize].take()?;
        self.free.push(slot);
        if let Some(grid) = self.spaces.get_mut(&look.space) {
            grid.remove(spot);
        }
        self.drop_if_unused(look.space);
        self.trim();
        Some(look)
    }

    /// Gives back the slots at the end once most are free, so that a crowd that left takes no room.
    fn trim(&mut self) {
        if self.free.len() < 1_024 || self.free.len() < self.slots.len() / 2 {
            return;
        }
        while matches!(self.slots.last(), Some(None)) {
            self.slots.pop();
        }
        let taken = self.slots.len() as u32;
        self.free.retain(|slot| *slot < taken);
    }

    /// How many slots there are, free ones included: an upper bound of [`slot_of`](Self::slot_of).
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Appends everybody within `radius` millimetres of `centre` in a space, in no order; `tag` is
    /// the slot.
    pub fn collect(
        &self,
        space: SpaceId,
        centre: Pos,
        radius: i32,
        found: &mut Vec<Found>,
    ) -> Visited {
        match self.spaces.get(&space) {
            Some(grid) => grid.collect(inside(centre), radius, found),
            None => Visited::default(),
        }
    }

    /// Whether anything near a circle changed since [`turn_over`](Self::turn_over).
    #[must_use]
    pub fn changed_within(&self, space: SpaceId, centre: Pos, radius: i32) -> bool {
        self.spaces.get(&space).is_some_and(|grid| grid.changed_within(inside(centre), radius))
    }

    /// From now on only later changes count as changes.
    pub fn turn_over(&mut self) {
        self.spaces.values_mut().for_each(Grid::turn_over);
    }
}

impl PartialEq for Looks {
    /// Equal looks and equally changed surroundings; where they are kept makes no difference.
    fn eq(&self, other: &Self) -> bool {
        let grids = |looks: &Self| -> Vec<_> {
            let grids = looks.spaces.iter();
            grids.map(|(space, grid)| (*space, grid.area(), grid.changed_buckets())).collect()
        };
        let known = |id: &EntityId| self.get(*id) == other.get(*id);
        self.side == other.side
            && self.len() == other.len()
            && self.index.keys().all(known)
            && grids(self) == grids(other)
    }
}

impl SightSource for Looks {
    fn each_within(
        &self,
        space: SpaceId,
        centre: Pos,
        radius: i32,
        each: &mut dyn FnMut(Other<'_>),
    ) {
        if let Some(grid) = self.spaces.get(&space) {
            grid.within(inside(centre), radius, |found| each(self.at(found.tag).other()));
        }
    }

    fn with(&self, id: EntityId, look: &mut dyn FnMut(Other<'_>)) {
        if let Some(known) = self.get(id) {
            look(known.other());
        }
    }
}

fn keep_marks(old: &Look, new: &mut Look) {
    if old.pose.change_since(new.pose).moved.is_none() && old.space == new.space {
        new.moved = old.moved;
    }
    if old.pose.heading() == new.pose.heading() {
        new.turned = old.turned;
    }
    let values = old.props.iter().zip(&old.prop_seqs).zip(&new.props);
    for (mark, ((was, changed), is)) in new.prop_seqs.iter_mut().zip(values) {
        if was == is {
            *mark = *changed;
        }
    }
    new.prop_newest = new.prop_seqs.iter().copied().max().unwrap_or(Seq(0));
}

/// Writes the properties that differ and returns their bits.
fn set_props(look: &mut Look, props: impl IntoIterator<Item = (u8, Value)>, seq: Seq) -> u32 {
    let mut fields = 0;
    for (index, value) in props {
        let Ok(at) = look.props.binary_search_by_key(&index, |(index, _)| *index) else { continue };
        if look.props[at].1 != value {
            look.props[at].1 = value;
            look.prop_seqs[at] = seq;
            look.prop_newest = seq;
            fields |= 1 << index;
        }
    }
    fields
}
