//! The newest picture of a process. Made only while somebody looks, at most every other tick.

use crate::tick::monotonic_ns;
use marchland_common::order::Tick;
use marchland_proto::observer::World;
use std::sync::Arc;
use tokio::sync::watch;

/// Between two pictures, in ticks.
const PICTURE_EVERY: u64 = 2;

/// A picture, with when it was made, in monotonic nanoseconds of this machine.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) world: Arc<World>,
    pub(super) made_ns: u64,
}

/// Where the tick thread puts pictures. Clones share it.
#[derive(Clone, Debug)]
pub struct Stage(Arc<watch::Sender<Option<Shown>>>);

impl Default for Stage {
    fn default() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }
}

impl Stage {
    /// Whether a picture of this tick is wanted.
    #[must_use]
    pub fn is_wanted(&self, tick: Tick) -> bool {
        tick.0.is_multiple_of(PICTURE_EVERY) && self.0.receiver_count() > 0
    }

    /// Shows a picture in place of the one before.
    pub fn show(&self, world: World) {
        let world = Arc::new(world);
        self.0.send_replace(Some(Shown { world, made_ns: monotonic_ns() }));
    }

    pub(super) fn look(&self) -> watch::Receiver<Option<Shown>> {
        // Whoever begins to look sees what is shown from now on: the last picture may be old.
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_picture_is_wanted_every_other_tick_while_somebody_looks_and_only_the_newest_stays() {
        let stage = Stage::default();
        assert!(!stage.is_wanted(Tick(2)), "nobody looks");
        let mut looks = stage.look();
        assert!(stage.is_wanted(Tick(2)) && !stage.is_wanted(Tick(3)));
        for tick in [2, 4, 6] {
            stage.show(World { tick, ..World::default() });
        }
        assert_eq!(looks.borrow_and_update().as_ref().unwrap().world.tick, 6);
        assert!(!looks.has_changed().unwrap());
        drop(looks);
        assert!(!stage.is_wanted(Tick(8)));
    }
}
