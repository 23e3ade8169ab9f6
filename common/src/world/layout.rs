//! Who owns which part of a space: a binary partition whose leaves are cells.

use super::{Pos, Rect};
use crate::order::{CellId, Node, SpaceId};
use serde::{Deserialize, Serialize};

/// The axis that a cut is perpendicular to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// The cut runs north-south: `low` is west.
    X,
    /// The cut runs east-west: `low` is south.
    Y,
}

/// A node of the partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tree {
    /// A cell and the process that owns it; none while nobody does.
    Leaf {
        /// The cell.
        cell: CellId,
        /// Its owner.
        owner: Option<Node>,
    },
    /// Two halves.
    Split {
        /// What the cut is perpendicular to.
        axis: Axis,
        /// Where it is, in millimetres; the coordinate itself belongs to `high`.
        at: i32,
        /// The smaller coordinates.
        low: Box<Tree>,
        /// The larger coordinates.
        high: Box<Tree>,
    },
}

/// One cell of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRect {
    /// The cell.
    pub cell: CellId,
    /// The region it covers.
    pub rect: Rect,
    /// Its owner.
    pub owner: Option<Node>,
}

/// The whole partition of one space. Replaced whole; a larger version replaces a smaller one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The space.
    pub space: SpaceId,
    /// Grows by one with every change.
    pub version: u64,
    /// The extent of the space.
    pub bounds: Rect,
    /// The partition.
    pub tree: Tree,
}

impl Layout {
    /// Most bytes that a layout's encoding may take in the coordination store.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// The cell that contains the point; a point outside the bounds belongs to the nearest cell.
    #[must_use]
    pub fn cell_at(&self, pos: Pos) -> CellRect {
        let pos = self.bounds.clamp(pos);
        let (mut tree, mut rect) = (&self.tree, self.bounds);
        loop {
            match tree {
                Tree::Leaf { cell, owner } => {
                    return CellRect { cell: *cell, rect, owner: *owner };
                }
                Tree::Split { axis, at, low, high } => {
                    let (l, h) = halves(rect, *axis, *at);
                    let value = if *axis == Axis::X { pos.x } else { pos.y };
                    (tree, rect) = if value < *at { (low, l) } else { (high, h) };
                }
            }
        }
    }

    /// Every cell, in the order of the tree.
    #[must_use]
    pub fn cells(&self) -> Vec<CellRect> {
        let mut out = Vec::new();
        collect(&self.tree, self.bounds, &mut out);
        out
    }

    /// Whether `node` owns a cell of this space.
    #[must_use]
    pub fn is_owned_by(&self, node: Node) -> bool {
        self.cells().iter().any(|c| c.owner == Some(node))
    }
}

fn halves(rect: Rect, axis: Axis, at: i32) -> (Rect, Rect) {
    match axis {
        Axis::X => (
            Rect { min: rect.min, max: Pos::new(at, rect.max.y) },
            Rect { min: Pos::new(at, rect.min.y), max: rect.max },
        ),
        Axis::Y => (
            Rect { min: rect.min, max: Pos::new(rect.max.x, at) },
            Rect { min: Pos::new(rect.min.x, at), max: rect.max },
        ),
    }
}

fn collect(tree: &Tree, rect: Rect, out: &mut Vec<CellRect>) {
    match tree {
        Tree::Leaf { cell, owner } => out.push(CellRect { cell: *cell, rect, owner: *owner }),
        Tree::Split { axis, at, low, high } => {
            let (l, h) = halves(rect, *axis, *at);
            collect(low, l, out);
            collect(high, h, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::NodeKind;

    fn leaf(n: u32) -> Box<Tree> {
        let owner = Some(Node::new(NodeKind::Cell, n as u16, 10));
        Box::new(Tree::Leaf { cell: CellId(n), owner })
    }

    #[test]
    fn every_point_belongs_to_exactly_the_cell_whose_rectangle_contains_it() {
        let layout = Layout {
            space: SpaceId(1),
            version: 1,
            bounds: Rect::new(Pos::new(-100, -100), Pos::new(100, 100)),
            tree: Tree::Split {
                axis: Axis::X,
                at: -20,
                low: leaf(1),
                high: Box::new(Tree::Split { axis: Axis::Y, at: 30, low: leaf(2), high: leaf(3) }),
            },
        };
        let cells = layout.cells();
        for x in -100..100 {
            for y in -100..100 {
                let p = Pos::new(x, y);
                let inside: Vec<_> = cells.iter().filter(|c| c.rect.contains(p)).collect();
                assert_eq!(inside.len(), 1);
                assert_eq!(layout.cell_at(p), *inside[0]);
            }
        }
        assert_eq!(layout.cell_at(Pos::new(-9000, 0)).cell, CellId(1));
    }
}
