//! Walking in integer millimetres.

use crate::map::bounds_of;
use marchland_common::world::{COMPASS, Place, Pos, heading_of, sector_of};

/// Ticks a second that speeds are meant for; a speed in mm/s moves `speed / 20` mm a tick.
const TICKS_A_SECOND: i64 = 20;

/// One tick's walk in a compass direction, stopped at the edge of the space.
pub(crate) fn ahead(place: Place, sector: u8, speed_mm_s: i64) -> (Pos, u16) {
    let stride = speed_mm_s.clamp(0, 20_000) / TICKS_A_SECOND;
    let (cx, cy) = COMPASS[usize::from(sector & 15)];
    let along = |c: i32| (i64::from(c) * stride / 1024) as i32;
    let pos = Pos::new(place.pos.x + along(cx), place.pos.y + along(cy));
    (bounds_of(place.space).clamp(pos), heading_of(sector))
}

/// One tick's walk towards a goal; arrives exactly.
pub(crate) fn towards(place: Place, goal: Pos, speed_mm_s: i64) -> (Pos, u16) {
    let stride = speed_mm_s.clamp(0, 20_000) / TICKS_A_SECOND;
    let goal = goal.inside_range();
    let (dx, dy) = (goal.x - place.pos.x, goal.y - place.pos.y);
    let sector = sector_of(dx, dy);
    if place.pos.distance_sq(goal) <= stride * stride {
        return (bounds_of(place.space).clamp(goal), heading_of(sector));
    }
    // The larger component is the full stride, the smaller in proportion: a little faster on the
    // diagonal, and exact on every machine.
    let longest = i64::from(dx.abs().max(dy.abs())).max(1);
    let along = |d: i32| (i64::from(d) * stride / longest) as i32;
    let pos = Pos::new(place.pos.x + along(dx), place.pos.y + along(dy));
    (bounds_of(place.space).clamp(pos), heading_of(sector))
}
