use super::*;
use crate::ghosts::kit::{PLAIN, cell, map_of, strips};
use marchland_common::cluster::MapChange;
use marchland_common::order::CellId;
use marchland_common::world::Layout;
use proptest::prelude::*;

fn nodes(near: &[Near]) -> Vec<Node> {
    near.iter().map(|n| n.node).collect()
}

#[test]
fn only_other_cells_in_reach_count_and_each_owner_once() {
    let map = map_of(strips(&[cell(1), cell(2), cell(1), cell(3), cell(2)]));
    let reach = Reach::new(cell(1), &map);
    let near = reach.near(PLAIN, Pos::metres(190, 50), 50_000);
    assert_eq!(nodes(&near), [cell(2)]);
    assert_eq!(near[0].distance_sq, 0, "a real may stand in a foreign cell");
    let near = reach.near(PLAIN, Pos::metres(250, 50), 150_000);
    assert_eq!(nodes(&near), [cell(2), cell(3)]);
    assert!(near[0].distance_sq < 51_000 * 51_000, "the nearer of two cells counts");
    assert_eq!(nodes(&reach.near(PLAIN, Pos::metres(-900, 50), 99_000)), []);
    assert_eq!(reach.near(SpaceId(9), Pos::metres(0, 0), i32::MAX), []);
}

#[test]
fn the_dead_are_in_nobodys_reach() {
    let mut map = map_of(strips(&[cell(1), cell(2)]));
    map.apply(MapChange::Dead(vec![cell(2).incarnation]));
    assert_eq!(Reach::new(cell(1), &map).near(PLAIN, Pos::metres(99, 5), 50_000), []);
}

#[test]
fn a_layout_without_sense_harms_nobody() {
    let mut layout = strips(&[cell(1), cell(2), cell(3)]);
    if let Tree::Split { at, .. } = &mut layout.tree {
        *at = i32::MAX;
    }
    let reach = Reach::new(cell(1), &map_of(layout.clone()));
    let _ = reach.near(PLAIN, Pos::new(i32::MIN, i32::MAX), i32::MAX);
    let inverted = Rect { min: Pos::new(1, 1), max: Pos::new(0, 0) };
    let endless = Rect { min: Pos::new(i32::MIN, 0), max: Pos::new(i32::MAX, 9) };
    for bounds in [inverted, endless] {
        let layout = Layout { bounds, ..layout.clone() };
        let reach = Reach::new(cell(1), &map_of(layout));
        assert_eq!(reach.near(PLAIN, Pos::new(i32::MAX, 0), i32::MAX), []);
    }
}

/// A partition by the share of each cut, so that every cut lies inside its piece.
#[derive(Clone, Debug)]
enum Shape {
    Leaf(u16),
    Split(Axis, i32, Box<Shape>, Box<Shape>),
}

fn shape() -> impl Strategy<Value = Shape> {
    (0..5_u16).prop_map(Shape::Leaf).prop_recursive(5, 32, 2, |inner| {
        (any::<bool>(), 1..100_i32, inner.clone(), inner).prop_map(|(x, share, low, high)| {
            let axis = if x { Axis::X } else { Axis::Y };
            Shape::Split(axis, share, Box::new(low), Box::new(high))
        })
    })
}

fn cut(shape: &Shape, rect: Rect) -> Tree {
    match shape {
        Shape::Leaf(n) => {
            Tree::Leaf { cell: CellId(u32::from(*n)), owner: (*n > 0).then(|| cell(*n)) }
        }
        // A piece too thin to be cut in hundredths stays whole.
        Shape::Split(_, _, low, _) if rect.size().0.min(rect.size().1) < 100 => cut(low, rect),
        Shape::Split(axis, share, low, high) => {
            let (min, max) = match axis {
                Axis::X => (rect.min.x, rect.max.x),
                Axis::Y => (rect.min.y, rect.max.y),
            };
            let at = min + (max - min) / 100 * share;
            let (below, above) = halves(rect, *axis, at);
            let (low, high) = (Box::new(cut(low, below)), Box::new(cut(high, above)));
            Tree::Split { axis: *axis, at, low, high }
        }
    }
}

proptest! {
    #[test]
    fn the_walk_finds_what_a_look_at_every_cell_finds(
        shape in shape(),
        x in -150_000..150_000_i32,
        y in -150_000..150_000_i32,
        reach in 0..120_000_i32,
    ) {
        let bounds = Rect::new(Pos::metres(-100, -100), Pos::metres(100, 100));
        let layout = Layout { space: PLAIN, version: 1, bounds, tree: cut(&shape, bounds) };
        let pos = bounds.clamp(Pos::new(x, y));
        let mut truth: BTreeMap<Node, i64> = BTreeMap::new();
        let cells = layout.cells().into_iter();
        for (owner, d) in cells.filter_map(|c| Some((c.owner?, c.rect.distance_sq(pos)))) {
            if owner != cell(1) && d <= i64::from(reach) * i64::from(reach) {
                let least = truth.entry(owner).or_insert(d);
                *least = d.min(*least);
            }
        }
        let found = Reach::new(cell(1), &map_of(layout)).near(PLAIN, Pos::new(x, y), reach);
        let found: BTreeMap<Node, i64> = found.iter().map(|n| (n.node, n.distance_sq)).collect();
        prop_assert_eq!(found, truth);
    }
}
