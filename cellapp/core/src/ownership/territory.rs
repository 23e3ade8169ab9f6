//! Where this process owns cells, and who owns the rest.

use marchland_common::cluster::{ClusterMap, MemberState};
use marchland_common::order::{Node, NodeKind, SpaceId};
use marchland_common::world::{Place, Rect};
use std::collections::BTreeMap;

/// The own cells, as rectangles by space. Derived from the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Territory {
    own: BTreeMap<SpaceId, Vec<Rect>>,
}

impl Territory {
    /// Reads the own cells off the map. Returns the spaces in which they changed.
    pub fn follow(&mut self, map: &ClusterMap, me: Node) -> Vec<SpaceId> {
        let mut own: BTreeMap<SpaceId, Vec<Rect>> = BTreeMap::new();
        for layout in map.layouts() {
            let cells = layout.cells();
            let rects = cells.iter().filter(|cell| cell.owner == Some(me)).map(|cell| cell.rect);
            own.insert(layout.space, rects.collect());
        }
        let before = std::mem::replace(&mut self.own, own);
        let spaces = before.keys().chain(self.own.keys());
        let mut changed: Vec<SpaceId> =
            spaces.filter(|space| before.get(space) != self.own.get(space)).copied().collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Whether a place is at most `margin` millimetres outside the own cells of its space.
    #[must_use]
    pub fn holds(&self, place: Place, margin: i32) -> bool {
        self.own
            .get(&place.space)
            .is_some_and(|rects| rects.iter().any(|rect| rect.within(place.pos, margin)))
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
