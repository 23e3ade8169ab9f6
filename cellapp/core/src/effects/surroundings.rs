//! Nobody is seen.
use crate::behaviour::{Other, SightSource};
use marchland_common::order::{EntityId, SpaceId};
use marchland_common::world::Pos;

/// No surroundings.
#[derive(Clone, Debug, Default)]
pub struct Alone;

impl SightSource for Alone {
    fn each_within(&self, _: SpaceId, _: Pos, _: i32, _: &mut dyn FnMut(Other<'_>)) {}
    fn with(&self, _: EntityId, _: &mut dyn FnMut(Other<'_>)) {}
}
