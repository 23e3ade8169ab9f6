//! The Frontier: a small world to copy from. Avatars and wolves walk, fight across borders, trade
//! gold and heal over time, in two spaces that a portal joins.
//!
//! It is built as an oracle for the platform under it: gold is conserved, every wound is taken
//! exactly once or answered, timers fire once. Everything random comes from the entities' own
//! generators, so the same seed makes the same world.

mod avatar;
mod map;
mod schema;
#[cfg(test)]
mod tests;
mod walk;
mod wolf;
mod words;

pub use map::{HOLD, OUTLANDS, PORTAL_REACH, SpaceSpec, home_of, spaces, wolf_dens};
pub use schema::{AVATAR, WOLF, avatar_props, kinds, wolf_props};
pub use words::{Method, Word, decode, encode};

use marchland_cellapp_core::behaviour::{Behaviour, World};
use marchland_common::order::KindId;
use marchland_common::world::Kinds;

/// The Frontier as a world.
#[derive(Debug)]
pub struct Frontier {
    kinds: Kinds,
    avatar: avatar::Avatar,
    wolf: wolf::Wolf,
}

impl Frontier {
    /// The world, ready to run.
    #[must_use]
    pub fn new() -> Self {
        Self { kinds: kinds(), avatar: avatar::Avatar, wolf: wolf::Wolf }
    }
}

impl Default for Frontier {
    fn default() -> Self {
        Self::new()
    }
}

impl World for Frontier {
    fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    fn behaviour(&self, kind: KindId) -> &dyn Behaviour {
        if kind == AVATAR { &self.avatar } else { &self.wolf }
    }
}
