//! A dense uniform grid over one space: who stands within a distance of a point.
//!
//! Invariants: an entry is in the bucket that contains its position, or in the nearest one if it
//! stands outside the area; a search visits the buckets that its circle can touch and nothing
//! else; entries that do not move cost nothing. What a search finds never depends on the order in
//! which entries came.

#[cfg(test)]
mod tests;

use marchland_common::order::EntityId;
use marchland_common::world::{Pos, Rect};

/// Most buckets along one axis: with it an empty grid takes at most 2 MiB.
pub const GRID_COLUMNS_MAX: i32 = 256;

const NOWHERE: u32 = u32::MAX;

/// Where an entry stands in its grid; valid until the entry is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot(u32);

/// One entry within the searched circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Who.
    pub id: EntityId,
    /// What the owner of the grid attached to the entry.
    pub tag: u32,
    /// Where it stands.
    pub pos: Pos,
    /// Its squared distance to the centre, in square millimetres.
    pub distance_sq: i64,
}

/// What a search had to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// Buckets.
    pub buckets: u32,
    /// Entries, found or not.
    pub entries: u32,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    members: Vec<u32>,
    /// The generation of the newest change of anything in it.
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: EntityId,
    tag: u32,
    pos: Pos,
    bucket: u32,
    /// The place in the bucket's list.
    at: u32,
}

/// The grid. See the module for its invariants.
#[derive(Clone, Debug)]
pub struct Grid {
    area: Rect,
    /// The side of a bucket is two to the power of this many millimetres.
    shift: u32,
    columns: i32,
    rows: i32,
    buckets: Vec<Bucket>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    generation: u64,
    changed: Vec<u32>,
}

impl Grid {
    /// An empty grid. `side` is the wanted side of a bucket in millimetres; it becomes the next
    /// power of two, and larger where the area would need more than [`GRID_COLUMNS_MAX`] columns or
    /// rows.
    #[must_use]
    pub fn new(area: Rect, side: i32) -> Self {
        let width = i64::from(area.max.x) - i64::from(area.min.x);
        let height = i64::from(area.max.y) - i64::from(area.min.y);
        let least = (width.max(height) - 1) / i64::from(GRID_COLUMNS_MAX) + 1;
        let side = i64::from(side).max(least).max(1).unsigned_abs().next_power_of_two();
        let shift = side.trailing_zeros();
        let count = |length: i64| (((length - 1) >> shift) + 1).max(1) as i32;
        let (columns, rows) = (count(width), count(height));
        Self {
            area,
            shift,
            columns,
            rows,
            buckets: vec![Bucket::default(); (columns * rows) as usize],
            entries: Vec::new(),
            free: Vec::new(),
            generation: 1,
            changed: Vec::new(),
        }
    }

    /// The area that the buckets divide. Entries may stand outside.
    #[must_use]
    pub const fn area(&self) -> Rect {
        self.area
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry. `tag` comes back with every search that finds it. The coordinates of `pos`
    /// stay within ±1,000 km, here and in [`move_to`](Self::move_to).
    pub fn insert(&mut self, id: EntityId, tag: u32, pos: Pos) -> Spot {
        let bucket = self.bucket_at(pos);
        let entry = Entry { id, tag, pos, bucket, at: NOWHERE };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.join(index, bucket);
        Spot(index)
    }

    /// Moves an entry; within its bucket that is one write.
    pub fn move_to(&mut self, spot: Spot, pos: Pos) {
        let bucket = self.bucket_at(pos);
        let entry = &mut self.entries[spot.0 as usize];
        entry.pos = pos;
        if entry.bucket == bucket {
            self.stamp(bucket);
        } else {
            self.part(spot.0);
            self.join(spot.0, bucket);
        }
    }

    /// Removes an entry; its spot may be given to another one.
    pub fn remove(&mut self, spot: Spot) {
        self.part(spot.0);
        self.entries[spot.0 as usize].at = NOWHERE;
        self.free.push(spot.0);
    }

    /// Notes that something of an entry changed that is not its position.
    pub fn touch(&mut self, spot: Spot) {
        self.stamp(self.entries[spot.0 as usize].bucket);
    }

    /// Where an entry stands.
    #[must_use]
    pub fn pos(&self, spot: Spot) -> Pos {
        self.entries[spot.0 as usize].pos
    }

    /// Appends every entry at most `radius` millimetres from `centre` to `found`, in no order; none
    /// for a negative radius.
    pub fn collect(&self, centre: Pos, radius: i32, found: &mut Vec<Found>) -> Visited {
        let mut visited = Visited::default();
        let reach = i64::from(radius) * i64::from(radius);
        self.each_bucket(centre, radius, |bucket| {
            visited.buckets += 1;
            visited.entries += bucket.members.len() as u32;
            for index in &bucket.members {
                let Entry { id, tag, pos, .. } = self.entries[*index as usize];
                let distance_sq = centre.distance_sq(pos);
                if distance_sq <= reach {
                    found.push(Found { id, tag, pos, distance_sq });
                }
            }
            true
        });
        visited
    }

    /// Calls `each` for every entry at most `radius` millimetres from `centre`, by ascending id.
    pub fn within(&self, centre: Pos, radius: i32, each: impl FnMut(Found)) {
        let mut found = Vec::new();
        self.collect(centre, radius, &mut found);
        found.sort_unstable_by_key(|entry| entry.id);
        found.into_iter().for_each(each);
    }

    /// Whether anything in the buckets that the circle can touch changed since
    /// [`turn_over`](Self::turn_over).
    #[must_use]
    pub fn changed_within(&self, centre: Pos, radius: i32) -> bool {
        let mut changed = false;
        if !self.changed.is_empty() {
            self.each_bucket(centre, radius, |bucket| {
                changed = bucket.stamp == self.generation;
                !changed
            });
        }
        changed
    }

    /// The buckets with a change since [`turn_over`](Self::turn_over), ascending.
    pub(super) fn changed_buckets(&self) -> Vec<u32> {
        let mut changed = self.changed.clone();
        changed.sort_unstable();
        changed
    }

    /// Marks buckets as changed, as a snapshot remembers them.
    pub(super) fn mark_changed(&mut self, buckets: &[u32]) {
        let count = self.buckets.len();
        for bucket in buckets.iter().filter(|bucket| (**bucket as usize) < count) {
            self.stamp(*bucket);
        }
    }

    /// From now on only later changes count as changes.
    pub fn turn_over(&mut self) {
        self.generation += 1;
        self.changed.clear();
    }

    /// Calls `each` for the buckets that the circle can touch until it says false.
    fn each_bucket(&self, centre: Pos, radius: i32, mut each: impl FnMut(&Bucket) -> bool) {
        if radius < 0 {
            return;
        }
        let low = self.cell_of(i64::from(centre.x), i64::from(centre.y), -i64::from(radius));
        let high = self.cell_of(i64::from(centre.x), i64::from(centre.y), i64::from(radius));
        for row in low.1..=high.1 {
            let start = (row * self.columns + low.0) as usize;
            let end = (row * self.columns + high.0) as usize;
            for bucket in &self.buckets[start..=end] {
                if !each(bucket) {
                    return;
                }
            }
        }
    }

    /// Column and row of a point moved by `by` on both axes; outside the area the nearest ones.
    fn cell_of(&self, x: i64, y: i64, by: i64) -> (i32, i32) {
        let along = |at: i64, min: i32, count: i32| {
            let cell = (at + by - i64::from(min)) >> self.shift;
            cell.clamp(0, i64::from(count) - 1) as i32
        };
        (along(x, self.area.min.x, self.columns), along(y, self.area.min.y, self.rows))
    }

    fn bucket_at(&self, pos: Pos) -> u32 {
        let (column, row) = self.cell_of(i64::from(pos.x), i64::from(pos.y), 0);
        (row * self.columns + column) as u32
    }

    fn join(&mut self, index: u32, bucket: u32) {
        let members = &mut self.buckets[bucket as usize].members;
        let entry = &mut self.entries[index as usize];
        entry.bucket = bucket;
        entry.at = members.len() as u32;
        members.push(index);
        self.stamp(bucket);
    }

    fn part(&mut self, index: u32) {
        let Entry { bucket, at, .. } = self.entries[index as usize];
        assert!(at != NOWHERE, "a spot is used only until its entry is removed");
        let members = &mut self.buckets[bucket as usize].members;
        members.swap_remove(at as usize);
        if let Some(moved) = members.get(at as usize) {
            self.entries[*moved as usize].at = at;
        }
        self.stamp(bucket);
    }

    fn stamp(&mut self, bucket: u32) {
        let stamp = &mut self.buckets[bucket as usize].stamp;
        if *stamp != self.generation {
            *stamp = self.generation;
            self.changed.push(bucket);
        }
    }
}
