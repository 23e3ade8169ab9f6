//! Looking at others: reals and ghosts alike, only their ghosted fields.

use marchland_common::order::{EntityId, KindId};
use marchland_common::world::{Heading, Pos, Value};

/// Another entity as a behaviour may see it.
#[derive(Clone, Copy, Debug)]
pub struct Other<'a> {
    /// Who.
    pub id: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// Where it stands, as precisely as ghosts know it.
    pub pos: Pos,
    /// Where it looks, as precisely as ghosts know it.
    pub heading: Heading,
    /// Its ghosted properties by the kind's index, ascending.
    pub(crate) props: &'a [(u8, Value)],
}

impl<'a> Other<'a> {
    /// A view of an entity whose ghosted properties are `props`, ascending by index.
    #[must_use]
    pub const fn new(
        id: EntityId,
        kind: KindId,
        pos: Pos,
        heading: Heading,
        props: &'a [(u8, Value)],
    ) -> Self {
        Self { id, kind, pos, heading, props }
    }

    /// A ghosted property; none if the kind does not ghost it.
    #[must_use]
    pub fn prop(&self, index: u8) -> Option<&'a Value> {
        self.props.iter().find(|(i, _)| *i == index).map(|(_, v)| v)
    }
}

/// Where a [`Sight`] looks things up.
pub trait SightSource {
    /// Calls `each` for every entity of the space within `radius` millimetres of `centre`, by
    /// ascending id.
    fn each_within(
        &self,
        space: marchland_common::order::SpaceId,
        centre: Pos,
        radius: i32,
        each: &mut dyn FnMut(Other<'_>),
    );

    /// One entity, if it is known here.
    fn with(&self, id: EntityId, look: &mut dyn FnMut(Other<'_>));
}

/// The surroundings of one real. The real itself is not in it.
pub struct Sight<'a> {
    source: &'a dyn SightSource,
    space: marchland_common::order::SpaceId,
    me: EntityId,
}

impl<'a> Sight<'a> {
    /// The surroundings of `me` in a space.
    #[must_use]
    pub const fn new(
        source: &'a dyn SightSource,
        space: marchland_common::order::SpaceId,
        me: EntityId,
    ) -> Self {
        Self { source, space, me }
    }

    /// Calls `each` for every other entity within `radius` millimetres of `centre`, by ascending
    /// id.
    pub fn each_within(&self, centre: Pos, radius: i32, mut each: impl FnMut(Other<'_>)) {
        self.source.each_within(self.space, centre, radius, &mut |other| {
            if other.id != self.me {
                each(other);
            }
        });
    }

    /// The nearest other entity within `radius` that `wanted` accepts; the lower id of two at the
    /// same distance.
    #[must_use]
    pub fn nearest(
        &self,
        centre: Pos,
        radius: i32,
        mut wanted: impl FnMut(Other<'_>) -> bool,
    ) -> Option<(EntityId, Pos)> {
        let mut best: Option<(i64, EntityId, Pos)> = None;
        self.each_within(centre, radius, |other| {
            let key = (centre.distance_sq(other.pos), other.id);
            if best.is_none_or(|(d, id, _)| key < (d, id)) && wanted(other) {
                best = Some((key.0, key.1, other.pos));
            }
        });
        best.map(|(_, id, pos)| (id, pos))
    }

    /// Looks at one entity; none if it is not known here.
    pub fn with<R>(&self, id: EntityId, look: impl FnOnce(Other<'_>) -> R) -> Option<R> {
        let (mut look, mut answer) = (Some(look), None);
        self.source.with(id, &mut |other| {
            if let Some(look) = look.take() {
                answer = Some(look(other));
            }
        });
        answer
    }
}
