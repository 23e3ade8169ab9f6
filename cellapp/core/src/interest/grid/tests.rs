#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::id;
use proptest::prelude::*;
use std::collections::BTreeMap;

const AREA: Rect = Rect { min: Pos::metres(-40, -20), max: Pos::metres(60, 80) };

fn found(grid: &Grid, centre: Pos, radius: i32) -> Vec<(EntityId, Pos)> {
    let mut all = Vec::new();
    grid.within(centre, radius, |near| all.push((near.id, near.pos)));
    all
}

/// One change of the grid.
#[derive(Clone, Debug)]
enum Op {
    Put(u64, Pos),
    Drop(u64),
    TurnOver,
}

/// Mostly inside the area, on bucket borders, and sometimes far outside.
fn pos() -> impl Strategy<Value = Pos> {
    let near = (-50..70_i32, -30..90_i32).prop_map(|(x, y)| Pos::metres(x, y));
    let fine = (-50_000..70_000_i32, -30_000..90_000_i32).prop_map(|(x, y)| Pos::new(x, y));
    let edge = 1_000_000_000_i32;
    let far = (-edge..=edge, -edge..=edge).prop_map(|(x, y)| Pos::new(x, y));
    prop_oneof![3 => near, 3 => fine, 1 => far]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..30_u64, pos()).prop_map(|(n, pos)| Op::Put(n, pos)),
        2 => (1..30_u64).prop_map(Op::Drop),
        1 => Just(Op::TurnOver),
    ]
}

/// The grid, and the same by hand.
struct Both {
    grid: Grid,
    truth: BTreeMap<EntityId, (Spot, Pos)>,
    /// Where something happened since the last turn.
    changes: Vec<Pos>,
}

impl Both {
    fn run(&mut self, op: &Op) {
        match op {
            Op::Put(n, pos) => match self.truth.get_mut(&id(*n)) {
                Some((spot, old)) => {
                    self.grid.move_to(*spot, *pos);
                    self.changes.extend([*old, *pos]);
                    *old = *pos;
                }
                None => {
                    let spot = self.grid.insert(id(*n), *n as u32, *pos);
                    self.truth.insert(id(*n), (spot, *pos));
                    self.changes.push(*pos);
                }
            },
            Op::Drop(n) => {
                if let Some((spot, old)) = self.truth.remove(&id(*n)) {
                    self.grid.remove(spot);
                    self.changes.push(old);
                }
            }
            Op::TurnOver => {
                self.grid.turn_over();
                self.changes.clear();
            }
        }
    }
}

proptest! {
    #[test]
    fn a_search_finds_exactly_who_is_within_by_ascending_id(
        side in 1_000..50_000_i32,
        ops in proptest::collection::vec(op(), 1..120),
        centre in pos(),
        radius in -1..120_000_i32,
    ) {
        let mut both =
            Both { grid: Grid::new(AREA, side), truth: BTreeMap::new(), changes: Vec::new() };
        for op in &ops {
            both.run(op);
            let within: Vec<_> = both
                .truth
                .iter()
                .filter(|(_, (_, pos))| radius >= 0 && centre.within(*pos, radius))
                .map(|(id, (_, pos))| (*id, *pos))
                .collect();
            prop_assert_eq!(found(&both.grid, centre, radius), within);
            prop_assert_eq!(both.grid.len(), both.truth.len());
            let changed_inside = both.changes.iter().any(|pos| centre.within(*pos, radius));
            let seen = both.grid.changed_within(centre, radius);
            prop_assert!(seen || radius < 0 || !changed_inside, "a change was missed");
            prop_assert!(!seen || !both.changes.is_empty(), "a change was made up");
        }
    }
}

#[test]
fn a_search_touches_only_the_buckets_that_its_circle_can_reach() {
    let mut grid = Grid::new(AREA, 8_000);
    for n in 0..10_000_i32 {
        grid.insert(id(n as u64 + 1), 0, Pos::metres(n % 100 - 40, n / 100 - 20));
    }
    let mut all = Vec::new();
    let visited = grid.collect(Pos::metres(5, 5), 10_000, &mut all);
    assert!(visited.buckets <= 16, "{visited:?}");
    assert!(visited.entries <= 16 * 9 * 9, "{visited:?}");
    assert_eq!(all.len(), 317, "the grid points of a circle with a radius of ten");
}

#[test]
fn a_move_within_a_bucket_or_beside_it_changes_no_other_surroundings() {
    let mut grid = Grid::new(AREA, 10_000);
    let spot = grid.insert(id(1), 7, Pos::metres(1, 1));
    grid.turn_over();
    assert!(!grid.changed_within(Pos::metres(1, 1), 50_000));
    grid.move_to(spot, Pos::metres(2, 2));
    assert!(grid.changed_within(Pos::metres(12, 2), 5_000));
    assert!(!grid.changed_within(Pos::metres(25, 2), 5_000));
    grid.turn_over();
    grid.touch(spot);
    assert!(grid.changed_within(grid.pos(spot), 0));
}

#[test]
fn the_number_of_buckets_is_bounded_however_large_the_space() {
    let edge = 1_000_000_000;
    let grid = Grid::new(Rect::new(Pos::new(-edge, -edge), Pos::new(edge, edge)), 1);
    assert!(grid.columns <= GRID_COLUMNS_MAX && grid.rows <= GRID_COLUMNS_MAX);
    let inverted = Rect { min: Pos::new(5, 5), max: Pos::new(-5, -5) };
    assert_eq!(Grid::new(inverted, 0).buckets.len(), 1);
}

#[test]
fn a_grid_that_empties_keeps_no_entry() {
    let mut grid = Grid::new(AREA, 10_000);
    let spots: Vec<_> = (1..=100).map(|n| grid.insert(id(n), 0, Pos::metres(1, 1))).collect();
    spots.into_iter().for_each(|spot| grid.remove(spot));
    assert!(grid.is_empty());
    assert!(grid.buckets.iter().all(|bucket| bucket.members.is_empty()));
    assert_eq!(found(&grid, Pos::metres(1, 1), 100_000), []);
}
