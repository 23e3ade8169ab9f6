//! Where this process owns cells, and who owns the rest.

use marchland_common::cluster::{ClusterMap, MemberState};
use marchland_common::order::{Node, NodeKind, SpaceId};
use marchland_common::world::{Place, Rect};

/// One space as this process sees it.
#[derive(Clone, Debug, PartialEq)]
struct Plane {
    space: SpaceId,
    bounds: Rect,
    /// The own cells.
    own: Vec<Rect>,
}

/// The known spaces, by number. Derived from the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Territory {
    planes: Vec<Plane>,
}

impl Territory {
    /// Reads the spaces off the map. Returns those in which the own cells changed.
    pub fn follow(&mut self, map: &ClusterMap, me: Node) -> Vec<SpaceId> {
        let planes = map.layouts().map(|layout| {
            let cells = layout.cells();
            let own = cells.iter().filter(|cell| cell.owner == Some(me)).map(|cell| cell.rect);
            Plane { space: layout.space, bounds: layout.bounds, own: own.collect() }
        });
        let new = Self { planes: planes.collect() };
        let old = std::mem::replace(self, new);
        let spaces = old.planes.iter().chain(&self.planes).map(|plane| plane.space);
        let mut changed: Vec<SpaceId> =
            spaces.filter(|space| old.plane(*space) != self.plane(*space)).collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    fn plane(&self, space: SpaceId) -> Option<&Plane> {
        self.planes
            .binary_search_by_key(&space, |plane| plane.space)
            .ok()
            .map(|at| &self.planes[at])
    }

    /// The extent of a space.
    #[must_use]
    pub fn bounds(&self, space: SpaceId) -> Option<Rect> {
        self.plane(space).map(|plane| plane.bounds)
    }

    /// Whether a place is at most `margin` millimetres outside the own cells of its space.
    #[must_use]
    pub fn holds(&self, place: Place, margin: i32) -> bool {
        self.plane(place.space)
            .is_some_and(|plane| plane.own.iter().any(|rect| rect.within(place.pos, margin)))
    }
}

/// The owner of a place, if there is one and its life is not over.
#[must_use]
pub fn owner_at(map: &ClusterMap, place: Place) -> Option<Node> {
    let owner = map.layout(place.space)?.cell_at(place.pos).owner?;
    (!map.is_dead(owner)).then_some(owner)
}

/// Whether a process is registered and takes entities, as far as the map says.
#[must_use]
pub fn takes_entities(map: &ClusterMap, node: Node) -> bool {
    let serving = map.members().iter().any(|m| m.node == node && m.state == MemberState::Serving);
    serving && node.name.kind == NodeKind::Cell && !map.is_dead(node)
}
