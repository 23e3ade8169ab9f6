//! The two spaces of the Frontier and the places in them.

use marchland_common::order::SpaceId;
use marchland_common::rng::Rng;
use marchland_common::world::{METRE, Place, Pos, Rect, heading_of};

/// The open land where wolves roam; split over the cellapps.
pub const OUTLANDS: SpaceId = SpaceId(1);
/// The walled town behind the portal.
pub const HOLD: SpaceId = SpaceId(2);
/// From how far the portal can be used, in millimetres.
pub const PORTAL_REACH: i32 = 15 * METRE;

/// What the manager is asked to create for this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceSpec {
    /// The space.
    pub id: SpaceId,
    /// Its extent.
    pub bounds: Rect,
    /// Over how many cellapps it is split; 0 is all there are.
    pub cells: u32,
}

/// The spaces of this world.
#[must_use]
pub fn spaces() -> Vec<SpaceSpec> {
    vec![
        SpaceSpec { id: OUTLANDS, bounds: bounds_of(OUTLANDS), cells: 0 },
        SpaceSpec { id: HOLD, bounds: bounds_of(HOLD), cells: 1 },
    ]
}

/// The extent of a space of this world.
pub(crate) const fn bounds_of(space: SpaceId) -> Rect {
    let half = if space.0 == HOLD.0 { 40 } else { 120 };
    Rect::new(Pos::metres(-half, -half), Pos::metres(half, half))
}

/// Where the portal stands in a space, and where it leads.
pub(crate) const fn portal(space: SpaceId) -> (Pos, SpaceId, Pos) {
    if space.0 == HOLD.0 {
        (Pos::metres(0, 30), OUTLANDS, Pos::metres(0, 0))
    } else {
        (Pos::metres(0, 0), HOLD, Pos::metres(0, 30))
    }
}

/// A point inside a space, at least a metre from its edge.
pub(crate) fn somewhere(space: SpaceId, rng: &mut Rng) -> Pos {
    let bounds = bounds_of(space);
    let mut along =
        |low: i32, high: i32| rng.between(i64::from(low + METRE), i64::from(high - METRE)) as i32;
    Pos::new(along(bounds.min.x, bounds.max.x), along(bounds.min.y, bounds.max.y))
}

/// Where an account's avatar is born: spread over the outlands, the same for the same account.
#[must_use]
pub fn home_of(account: &str) -> Place {
    let mut rng = Rng(marchland_common::digest::digest_bytes(account.as_bytes()));
    let pos = somewhere(OUTLANDS, &mut rng);
    Place { space: OUTLANDS, pos, heading: heading_of(0) }
}

/// Where `count` wolves are born.
#[must_use]
pub fn wolf_dens(count: usize, seed: u64) -> Vec<Place> {
    let mut rng = Rng::child(seed, 0x0077_6f6c_6673);
    let den =
        |_| Place { space: OUTLANDS, pos: somewhere(OUTLANDS, &mut rng), heading: heading_of(0) };
    (0..count).map(den).collect()
}
