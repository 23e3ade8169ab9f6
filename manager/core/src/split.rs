//! Cutting a space into cells of equal area.

use marchland_common::order::{CellId, Node};
use marchland_common::world::{Axis, Pos, Rect, Tree};

/// Partitions `bounds` into one cell per owner, each of the same share of the area (to a
/// millimetre), cutting the longer side. Cells are numbered from 1 in the order of `owners`,
/// which must not be empty.
#[must_use]
pub fn split(bounds: Rect, owners: &[Option<Node>]) -> Tree {
    assert!(!owners.is_empty(), "a space has at least one cell");
    cut(bounds, owners, 1)
}

fn cut(rect: Rect, owners: &[Option<Node>], first: u32) -> Tree {
    if let [owner] = owners {
        return Tree::Leaf { cell: CellId(first), owner: *owner };
    }
    let (low, high) = owners.split_at(owners.len() / 2);
    let (width, height) = rect.size();
    let part =
        |length: i32| (i64::from(length) * low.len() as i64 / owners.len() as i64).max(1) as i32;
    let next = first + low.len() as u32;
    let (axis, at, low_rect, high_rect) = if width >= height {
        let at = rect.min.x + part(width);
        let (l, h) = (Pos::new(at, rect.max.y), Pos::new(at, rect.min.y));
        (Axis::X, at, Rect { min: rect.min, max: l }, Rect { min: h, max: rect.max })
    } else {
        let at = rect.min.y + part(height);
        let (l, h) = (Pos::new(rect.max.x, at), Pos::new(rect.min.x, at));
        (Axis::Y, at, Rect { min: rect.min, max: l }, Rect { min: h, max: rect.max })
    };
    Tree::Split {
        axis,
        at,
        low: Box::new(cut(low_rect, low, first)),
        high: Box::new(cut(high_rect, high, next)),
    }
}
