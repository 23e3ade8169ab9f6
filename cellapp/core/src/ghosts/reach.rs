//! Which other processes own cells near a point: the geometry that decides where ghosts are.
//!
//! Built from the map of the cluster whenever a layout or the list of the dead changed. Invariant:
//! no life that was declared dead is in it, and not the own one. Whether a life is registered makes
//! no difference: after a stall of the coordination store nobody is, and all live on.

#[cfg(test)]
mod tests;

use crate::interest::COORDINATE_MAX;
use marchland_common::cluster::ClusterMap;
use marchland_common::order::{Node, SpaceId};
use marchland_common::world::{Axis, Pos, Rect, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A piece of a partition, in the order of a walk that visits `low` before `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Patch {
    rect: Rect,
    /// Where the walk goes on behind this piece and everything in it.
    skip: u32,
    /// The other process that owns it, if it is a cell and one does.
    owner: Option<Node>,
    /// Whether any cell in it has such an owner.
    is_foreign: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Plane {
    bounds: Rect,
    patches: Vec<Patch>,
}

/// The foreign cells of all spaces. See the module for its invariant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    spaces: BTreeMap<SpaceId, Plane>,
}

/// A process near a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// Who.
    pub node: Node,
    /// The squared distance of its nearest cell, in square millimetres.
    pub distance_sq: i64,
}

impl Reach {
    /// What `me` has around it.
    #[must_use]
    pub fn new(me: Node, map: &ClusterMap) -> Self {
        let spaces = map.layouts().filter(|layout| is_sound(layout.bounds)).map(|layout| {
            let mut patches = Vec::new();
            let foreign = |node: &Node| *node != me && !map.is_dead(*node);
            flatten(&layout.tree, layout.bounds, &foreign, &mut patches);
            (layout.space, Plane { bounds: layout.bounds, patches })
        });
        Self { spaces: spaces.collect() }
    }

    /// The other processes with a cell at most `reach` millimetres from a point, by name and life,
    /// each with its nearest cell. A point outside the space counts as the nearest one inside.
    #[must_use]
    pub fn near(&self, space: SpaceId, pos: Pos, reach: i32) -> Vec<Near> {
        let mut near: Vec<Near> = Vec::new();
        let Some(plane) = self.spaces.get(&space) else { return near };
        let pos = plane.bounds.clamp(pos);
        let limit = i64::from(reach) * i64::from(reach);
        let mut at = 0;
        while let Some(patch) = plane.patches.get(at) {
            let distance_sq = if patch.is_foreign { patch.rect.distance_sq(pos) } else { i64::MAX };
            if distance_sq > limit {
                at = patch.skip as usize;
                continue;
            }
            if let Some(node) = patch.owner {
                match near.binary_search_by_key(&node, |n| n.node) {
                    Ok(i) => near[i].distance_sq = near[i].distance_sq.min(distance_sq),
                    Err(i) => near.insert(i, Near { node, distance_sq }),
                }
            }
            at += 1;
        }
        near
    }
}

/// Whether a rectangle has an inside where distances can be computed; what the coordination store
/// holds is not trusted to.
const fn is_sound(rect: Rect) -> bool {
    let Rect { min, max } = rect;
    let edge = COORDINATE_MAX;
    let has_inside = min.x < max.x && min.y < max.y;
    has_inside && min.x >= -edge && min.y >= -edge && max.x <= edge && max.y <= edge
}

/// Appends a piece and all in it; returns whether a foreign cell is among them.
fn flatten(
    tree: &Tree,
    rect: Rect,
    foreign: &impl Fn(&Node) -> bool,
    patches: &mut Vec<Patch>,
) -> bool {
    if !is_sound(rect) {
        return false;
    }
    let at = patches.len();
    patches.push(Patch { rect, skip: 0, owner: None, is_foreign: false });
    let (owner, is_foreign) = match tree {
        Tree::Leaf { owner, .. } => {
            let owner = owner.filter(foreign);
            (owner, owner.is_some())
        }
        Tree::Split { axis, at, low, high } => {
            let (low_rect, high_rect) = halves(rect, *axis, *at);
            let below = flatten(low, low_rect, foreign, patches);
            let above = flatten(high, high_rect, foreign, patches);
            (None, below || above)
        }
    };
    let skip = patches.len() as u32;
    patches[at] = Patch { rect, skip, owner, is_foreign };
    is_foreign
}

fn halves(rect: Rect, axis: Axis, at: i32) -> (Rect, Rect) {
    let (mut low, mut high) = (rect, rect);
    match axis {
        Axis::X => (low.max.x, high.min.x) = (at, at),
        Axis::Y => (low.max.y, high.min.y) = (at, at),
    }
    (low, high)
}
