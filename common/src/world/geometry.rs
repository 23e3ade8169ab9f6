//! Positions and rectangles in integer millimetres, so that every process computes the same
//! distances to the last bit.

use serde::{Deserialize, Serialize};

/// One metre in world units.
pub const METRE: i32 = 1000;

/// A point of a space, in millimetres. Coordinates stay within ±1,000 km, so that squared
/// distances fit an `i64`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Pos {
    /// East, in millimetres.
    pub x: i32,
    /// North, in millimetres.
    pub y: i32,
}

impl Pos {
    /// The largest absolute coordinate in millimetres.
    pub const COORDINATE_MAX: i32 = 1_000_000_000;

    /// The nearest point whose distances can be computed.
    #[must_use]
    pub const fn inside_range(self) -> Self {
        Self { x: in_range(self.x), y: in_range(self.y) }
    }

    /// Whether distances from and to this point can be computed.
    #[must_use]
    pub const fn is_in_range(self) -> bool {
        in_range(self.x) == self.x && in_range(self.y) == self.y
    }

    /// A point from millimetres.
    #[must_use]
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// A point from whole metres.
    #[must_use]
    pub const fn metres(x: i32, y: i32) -> Self {
        Self { x: x * METRE, y: y * METRE }
    }

    /// Squared distance in square millimetres.
    #[must_use]
    pub const fn distance_sq(self, other: Self) -> i64 {
        let dx = self.x as i64 - other.x as i64;
        let dy = self.y as i64 - other.y as i64;
        dx * dx + dy * dy
    }

    /// Whether `other` is at most `radius` millimetres away.
    #[must_use]
    pub const fn within(self, other: Self, radius: i32) -> bool {
        self.distance_sq(other) <= radius as i64 * radius as i64
    }
}

const fn in_range(v: i32) -> i32 {
    const MAX: i32 = Pos::COORDINATE_MAX;
    if v > MAX {
        MAX
    } else if v < -MAX {
        -MAX
    } else {
        v
    }
}

/// A half-open rectangle: the minimum belongs to it, the maximum does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rect {
    /// South-west corner, inside.
    pub min: Pos,
    /// North-east corner, outside.
    pub max: Pos,
}

impl Rect {
    /// A rectangle from its corners. `max` must be larger than `min` on both axes.
    #[must_use]
    pub const fn new(min: Pos, max: Pos) -> Self {
        assert!(min.x < max.x && min.y < max.y, "a rectangle has an inside");
        Self { min, max }
    }

    /// Whether the point lies inside.
    #[must_use]
    pub const fn contains(&self, p: Pos) -> bool {
        p.x >= self.min.x && p.x < self.max.x && p.y >= self.min.y && p.y < self.max.y
    }

    /// The nearest point inside; the minimum for a rectangle without an inside.
    #[must_use]
    pub fn clamp(&self, p: Pos) -> Pos {
        let into = |v: i32, min: i32, max: i32| v.min(max.saturating_sub(1)).max(min);
        Pos { x: into(p.x, self.min.x, self.max.x), y: into(p.y, self.min.y, self.max.y) }
    }

    /// Squared distance from the point to the rectangle; 0 inside.
    #[must_use]
    pub fn distance_sq(&self, p: Pos) -> i64 {
        p.distance_sq(self.clamp(p))
    }

    /// Whether the point is at most `reach` millimetres away from the rectangle.
    #[must_use]
    pub fn within(&self, p: Pos, reach: i32) -> bool {
        self.distance_sq(p) <= i64::from(reach) * i64::from(reach)
    }

    /// Width and height in millimetres.
    #[must_use]
    pub const fn size(&self) -> (i32, i32) {
        (self.max.x - self.min.x, self.max.y - self.min.y)
    }
}

/// A direction as 1/65,536 of a full turn, counter-clockwise from east.
pub type Heading = u16;

/// Unit steps of the 16 compass directions, scaled by 1,024: a table instead of a sine, because
/// the platform's sine differs between machines.
pub const COMPASS: [(i32, i32); 16] = [
    (1024, 0),
    (946, 392),
    (724, 724),
    (392, 946),
    (0, 1024),
    (-392, 946),
    (-724, 724),
    (-946, 392),
    (-1024, 0),
    (-946, -392),
    (-724, -724),
    (-392, -946),
    (0, -1024),
    (392, -946),
    (724, -724),
    (946, -392),
];

/// The compass sector (0 to 15) whose direction is nearest to the vector; 0 for the zero vector.
#[must_use]
pub fn sector_of(dx: i32, dy: i32) -> u8 {
    let dot = |(cx, cy): (i32, i32)| i64::from(cx) * i64::from(dx) + i64::from(cy) * i64::from(dy);
    let mut best = 0;
    for (i, c) in COMPASS.iter().enumerate() {
        if dot(*c) > dot(COMPASS[best]) {
            best = i;
        }
    }
    best as u8
}

/// The heading in the middle of a compass sector.
#[must_use]
pub const fn heading_of(sector: u8) -> Heading {
    (sector as u16 & 15) << 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_owns_its_minimum_and_not_its_maximum() {
        let r = Rect::new(Pos::new(0, 0), Pos::new(10, 10));
        assert!(r.contains(Pos::new(0, 0)) && !r.contains(Pos::new(10, 5)));
        assert_eq!(r.distance_sq(Pos::new(5, 5)), 0);
        assert!(r.within(Pos::new(12, 5), 3) && !r.within(Pos::new(13, 5), 3));
    }

    #[test]
    fn every_compass_step_points_into_its_own_sector() {
        for (i, (x, y)) in COMPASS.iter().enumerate() {
            assert_eq!(usize::from(sector_of(*x, *y)), i);
        }
    }
}
