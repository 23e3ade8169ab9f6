//! The network between processes loses bytes, one way or both, or is slow.

use super::orders::between;
use super::{Cut, Figure, Hurt, Told, Trouble, Victim, finish, member, most};
use crate::drill::field::Field;
use crate::exit::Failure;
use crate::verbs::status::{SpaceJson, StatusJson};
use marchland_chaos::Way;
use marchland_common::order::{Incarnation, Node, NodeKind};
use std::time::Duration;

/// Ticks for which two cellapps do not hear each other: longer than ghosts take to be marked.
const CELLS_TICKS: u64 = 90;
/// Handoffs that are ordered meanwhile, each way.
const ORDERS_EACH: u32 = 4;
/// Ticks for which a cellapp and a baseapp do not hear each other.
const BASE_TICKS: u64 = 60;
/// Ticks for which bytes vanish one way.
const ONE_WAY_TICKS: u64 = 40;
/// Ticks in which links are taken up again, before anything else is done.
const MEND_TICKS: u64 = 30;
/// How late everything comes to one that is slow.
const LATE: Duration = Duration::from_millis(200);
/// Ticks for which it is.
const LATE_TICKS: u64 = 60;
/// How often nothing comes for a moment, and for how long: shorter than what ends a connection.
const STUTTERS: usize = 4;
const STUTTER_TICKS: u64 = 8;
/// Ticks in which everything that waited comes.
const BREATH_TICKS: u64 = 6;
/// Ticks for which nothing comes at last: longer than what ends a connection.
const STALL_TICKS: u64 = 40;

pub(super) async fn partition_cells(field: &mut Field) -> Result<Told, Failure> {
    let (one, other) = neighbours(field).await?;
    let (a, b) = (one.name.to_string(), other.name.to_string());
    let mut told = Told::of(None);
    let from = field.tick().await?;
    let cut = cut_off(field, &a, &b).await?;
    let marked = field.until(|status| {
        let stale = |name: &str| member(status, name)?.counters.get("ghosts_stale").copied();
        let both = [stale(&a)?, stale(&b)?];
        both.iter().all(|stale| *stale > 0).then(|| both.iter().sum::<u64>())
    });
    if let Some(marked) = marked.await? {
        field.say(format!("{marked} ghosts of them are marked as stale at each other"));
        told.figures.insert(Figure::GhostsMarked, marked);
    }
    between(field, &[(&a, &b), (&b, &a)], ORDERS_EACH, &mut told).await?;
    let cut = healed(field, [one, other], cut, CELLS_TICKS).await?;
    // Everybody goes on: what is handed over goes through the base.
    told.trouble = Some(Trouble { from, to: cut.to, hurt: Vec::new() });
    told.cuts.push(cut);
    finish(field, &mut told).await?;
    Ok(told)
}

pub(super) async fn partition_cell_base(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node: cell, .. } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let Victim { node: base, .. } = most(field, NodeKind::Base, |m| m.entities).await?;
    let (a, b) = (cell.name.to_string(), base.name.to_string());
    let mut told = Told::of(None);
    let from = field.tick().await?;
    let cut = cut_off(field, &a, &b).await?;
    let cut = healed(field, [cell, base], cut, BASE_TICKS).await?;
    let hurt = Hurt { cell: Some(cell.name), base: Some(base.name) };
    told.trouble = Some(Trouble { from, to: cut.to, hurt: vec![hurt] });
    told.cuts.push(cut);
    finish(field, &mut told).await?;
    Ok(told)
}

pub(super) async fn one_way(field: &mut Field) -> Result<Told, Failure> {
    let (one, other) = neighbours(field).await?;
    let Victim { node: base, .. } = most(field, NodeKind::Base, |m| m.entities).await?;
    let mut told = Told::of(None);
    let began = field.tick().await?;
    for [sender, receiver] in [[one, base], [base, other], [one, other]] {
        let (a, b) = (sender.name.to_string(), receiver.name.to_string());
        field.way(&a, &b, Way::Discard).await?;
        let from = field.tick().await?;
        field.say(format!("nothing that {a} says comes to {b} from about tick {from} on"));
        let cut = healed(field, [sender, receiver], from, ONE_WAY_TICKS).await?;
        told.cuts.push(cut);
        field.play(MEND_TICKS).await?;
    }
    let to = told.cuts.last().map_or(began, |cut| cut.to);
    let hurt = [one, other].map(|cell| Hurt { cell: Some(cell.name), base: Some(base.name) });
    told.trouble = Some(Trouble { from: began, to, hurt: hurt.into() });
    finish(field, &mut told).await?;
    Ok(told)
}

pub(super) async fn slow_peer(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, .. } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let name = node.name.to_string();
    let mut told = Told::of(None);
    let from = field.tick().await?;
    field.way_to(&name, Way::Delay(LATE))?;
    field.say(format!("everything comes {LATE:?} late to {name} from about tick {from} on"));
    field.play(LATE_TICKS).await?;
    for _ in 0..STUTTERS {
        field.way_to(&name, Way::Stall)?;
        field.play(STUTTER_TICKS).await?;
        field.way_to(&name, Way::Pass)?;
        field.play(BREATH_TICKS).await?;
    }
    let stalls = field.tick().await?;
    field.way_to(&name, Way::Stall)?;
    field
        .say(format!("nothing comes to it from about tick {stalls} on, after {STUTTERS} stutters"));
    field.play(STALL_TICKS).await?;
    let to = field.tick().await?;
    field.heal().await?;
    field.say(format!("everything comes again from about tick {to} on"));
    let hurt = vec![Hurt { cell: Some(node.name), base: None }];
    told.trouble = Some(Trouble { from, to, hurt });
    finish(field, &mut told).await?;
    Ok(told)
}

/// From now on neither of two hears the other. Gives the tick in which that had been done: in containers
/// the order itself takes a while.
async fn cut_off(field: &mut Field, one: &str, other: &str) -> Result<u64, Failure> {
    field.way(one, other, Way::Discard).await?;
    field.way(other, one, Way::Discard).await?;
    let from = field.tick().await?;
    field.say(format!("cut {one} and {other} off from each other about tick {from}"));
    Ok(from)
}

/// Lets what was done to the network of two last for so long, and ends it.
async fn healed(
    field: &mut Field,
    between: [Node; 2],
    from: u64,
    ticks: u64,
) -> Result<Cut, Failure> {
    field.until(|status| (status.tick >= from + ticks).then_some(())).await?;
    let to = field.tick().await?;
    field.heal().await?;
    field.say(format!("healed it about tick {to}"));
    Ok(Cut { between, from, to })
}

/// Two cellapps whose cells touch each other along the longest line.
async fn neighbours(field: &mut Field) -> Result<(Node, Node), Failure> {
    let found = field.until(|status| {
        let ready = status.ready.then_some(status)?;
        let (one, other) = longest_border(&ready.spaces)?;
        Some((life(ready, &one)?, life(ready, &other)?))
    });
    found.await?.ok_or_else(|| Failure::internal("no two cellapps have a border between them"))
}

fn life(status: &StatusJson, name: &str) -> Option<Node> {
    let incarnation = Incarnation(member(status, name)?.incarnation);
    Some(Node { name: name.parse().ok()?, incarnation })
}

/// The owners of the two cells with the longest border.
fn longest_border(spaces: &[SpaceJson]) -> Option<(String, String)> {
    let cells = |space: &SpaceJson| space.cells.len();
    let pairs = spaces.iter().flat_map(|space| {
        let all = 0..cells(space);
        all.clone()
            .flat_map(move |i| (i + 1..cells(space)).map(move |j| (i, j)))
            .map(move |(i, j)| (&space.cells[i], &space.cells[j]))
    });
    let of_two =
        pairs.filter(|(a, b)| a.owner != b.owner && !a.owner.is_empty() && !b.owner.is_empty());
    let longest = of_two.max_by_key(|(a, b)| border(&a.rect, &b.rect))?;
    (border(&longest.0.rect, &longest.1.rect) > 0)
        .then(|| (longest.0.owner.clone(), longest.1.owner.clone()))
}

/// How long the line is that two rectangles share.
fn border(a: &[i32], b: &[i32]) -> i64 {
    let (&[ax0, ay0, ax1, ay1], &[bx0, by0, bx1, by1]) = (a, b) else { return 0 };
    let overlap = |a: (i32, i32), b: (i32, i32)| i64::from(a.1.min(b.1)) - i64::from(a.0.max(b.0));
    let (x, y) = (overlap((ax0, ax1), (bx0, bx1)), overlap((ay0, ay1), (by0, by1)));
    match (x, y) {
        (0, y) => y.max(0),
        (x, 0) => x.max(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::status::CellJson;

    #[test]
    fn neighbours_are_those_with_the_longest_line_between_them() {
        let cell = |id, owner: &str, rect: [i32; 4]| CellJson {
            id,
            rect: rect.to_vec(),
            owner: owner.to_owned(),
        };
        let cells = vec![
            cell(1, "cell-1", [0, 0, 10, 10]),
            cell(2, "cell-2", [10, 0, 30, 10]),
            cell(3, "cell-3", [10, 10, 30, 40]),
            cell(4, "cell-3", [30, 0, 50, 90]),
            cell(5, "", [50, 0, 90, 90]),
        ];
        let space = |cells| SpaceJson { id: 1, version: 1, cells };
        let names = Some(("cell-2".to_owned(), "cell-3".to_owned()));
        assert_eq!(longest_border(&[space(cells)]), names);
        let apart = vec![cell(1, "cell-1", [0, 0, 10, 10]), cell(2, "cell-2", [11, 0, 20, 10])];
        assert_eq!(longest_border(&[space(apart), space(Vec::new())]), None);
    }
}
