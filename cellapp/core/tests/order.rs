//! What one end says in an order is taken in in that order, whoever it speaks of and however late
//! the other end hears it.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::cell::Role;
use marchland_common::cluster::MapChange;
use marchland_common::journal::{Event, Refused};
use marchland_common::order::EntityId;
use marchland_common::world::{Layout, Pos, Rect, Value};
use std::collections::BTreeMap;
use support::cluster::layout;
use support::*;

/// Runs one tick; says for which command ends in it how many ticks it took.
fn step_and_time(cluster: &mut Cluster, sent: &mut BTreeMap<u64, u64>) -> Vec<u64> {
    cluster.step();
    let open: Vec<u64> = cluster
        .base
        .open
        .iter()
        .filter_map(|what| match what {
            marchland_common::msg::BaseToCell::Command(command) => Some(command.n),
            _ => None,
        })
        .collect();
    let now = cluster.tick.0;
    let ended: Vec<u64> = sent.keys().copied().filter(|n| !open.contains(n)).collect();
    ended.into_iter().map(|n| now - sent.remove(&n).unwrap()).collect()
}

/// The longest that an entity was frozen for a handoff, in ticks.
fn longest_handoff(cluster: &Cluster, id: EntityId) -> u64 {
    let (mut frozen_at, mut longest) = (None, 0);
    for (_, tick, event) in cluster.all_events() {
        match event {
            Event::Frozen { entity, .. } if *entity == id => frozen_at = Some(tick.0),
            Event::Activated { entity, .. } if *entity == id => {
                longest = longest.max(frozen_at.take().map_or(0, |from| tick.0 - from));
            }
            _ => {}
        }
    }
    longest
}

#[test]
fn a_command_waits_for_a_handoff_no_longer_than_the_handoff_takes() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(2);
    let mut sent = BTreeMap::new();
    let (mut calm, mut around) = (0, 0);
    for tick in 0..1_000_u64 {
        if tick >= 100 && tick.is_multiple_of(4) {
            let to = if cluster.base.records[&id].owner == cell(1) { cell(2) } else { cell(1) };
            cluster.handoff(tick, id, to, 0);
        }
        let n = cluster.command(id, 1, ADD, b".");
        sent.insert(n, cluster.tick.0);
        for took in step_and_time(&mut cluster, &mut sent) {
            let longest = if tick < 100 { &mut calm } else { &mut around };
            *longest = took.max(*longest);
        }
    }
    let (handoffs, pause) = (cluster.handoffs(id), longest_handoff(&cluster, id));
    assert!(handoffs >= 200, "only {handoffs} handoffs");
    assert!(calm > 0 && pause > 0);
    assert!(
        around <= calm + pause + 2,
        "{around} ticks around a handoff of {pause}, {calm} without one"
    );
}

#[test]
fn a_call_that_speaks_of_somebody_unknown_holds_up_none_after_it() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create_as(1, 1, at(50_000, 50_000), THING, &[(GOLD, Value::Int(5))]);
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(2);
    let unknown = entity(900);
    for n in 1..=10_u8 {
        let give: Vec<u8> = [1].into_iter().chain(unknown.0.to_le_bytes()).collect();
        match n {
            4 => cluster.command(id, 1, GIVE, &give),
            5 => cluster.command(id, 1, WAVE, &unknown.0.to_le_bytes()),
            _ => cluster.command(id, 1, ADD, &[n]),
        };
    }
    cluster.until("all of them", |c| c.base.open.is_empty());
    let run: Vec<u64> = cluster
        .all_events()
        .filter_map(|(_, _, e)| match e {
            Event::CommandRun { n, .. } => Some(*n),
            _ => None,
        })
        .collect();
    assert_eq!(run, (1..=10).collect::<Vec<_>>());
    assert_eq!(
        cluster.base.records[&id].image.props[usize::from(LOG)].bytes(),
        b"b\x01\x02\x03\x06\x07\x08\x09\x0a"
    );
    let open = &cluster.base.records[&id].image.outbox.open;
    assert_eq!(open.values().map(|m| m.value).collect::<Vec<_>>(), [1], "it waits at its base");
}

#[test]
fn a_ghost_may_name_somebody_who_is_not_known_yet_and_means_whoever_comes_by_that_id() {
    let mut cluster = Cluster::new(2);
    let named = entity(2);
    let names = [(HEALTH, Value::Int(named.0 as i64))];
    let naming = cluster.base.create_as(1, 1, at(95_000, 50_000), THING, &names);
    cluster.run(5);
    let host = |c: &Cluster| {
        let ghost = c.cells[&cell(2)].brief(naming).unwrap();
        assert_eq!(ghost.role, Role::Ghost);
        EntityId(ghost.props.iter().find(|(index, _)| *index == HEALTH).unwrap().1.int() as u64)
    };
    assert_eq!(host(&cluster), named);
    assert!(cluster.cells[&cell(2)].brief(named).is_none());
    assert_eq!(cluster.base.create(2, 1, at(96_000, 50_000)), named);
    cluster.run(5);
    let found = cluster.cells[&cell(2)].brief(host(&cluster)).expect("the name means somebody");
    assert_eq!(found.role, Role::Ghost);
}

#[test]
fn a_neighbour_that_paused_takes_in_all_that_waited_for_it_and_shows_what_is() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(-20))];
    let walkers: Vec<EntityId> = (1..=30)
        .map(|n| {
            let place = at(95_000 - n as i32 * 100, 1_000 * n as i32);
            cluster.base.create_as(n, 1, place, THING, &speed)
        })
        .collect();
    cluster.run(10);
    for _ in 0..4 {
        cluster.paused.push(cell(2));
        // Less than the window: their owner goes on all the while.
        cluster.run(5);
        cluster.paused.clear();
        cluster.run(5);
    }
    for id in &walkers {
        let real = cluster.cells[&cell(1)].brief(*id).unwrap();
        let ghost = cluster.cells[&cell(2)].brief(*id).unwrap();
        assert_eq!((real.role, ghost.role), (Role::Real, Role::Ghost));
        let behind = (real.place.pos.x - ghost.place.pos.x).abs();
        assert!(behind <= 20 + 25, "{behind} mm more than a tick and its rounding");
    }
    let lost: Vec<&Event> = cluster
        .events(cell(2))
        .map(|(_, e)| e)
        .filter(|e| matches!(e, Event::Refusal { reason: Refused::BundleGap, .. }))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Far more than a bundle carries: the rest waits for the next ones, and none is forgotten.
#[test]
fn twenty_thousand_ghosts_of_one_tick_need_several_bundles_and_all_arrive() {
    const COUNT: u64 = 20_000;
    let mut cluster = Cluster::with(2, |config| config.bundle_bytes_max = 200_000);
    let plain = layout(PLAIN, 2, &[Some(cell(1)), Some(cell(2))]);
    let bounds = Rect::new(Pos::metres(0, 0), Pos::metres(200, 20_000));
    cluster.tell_all(MapChange::Layout(Layout { bounds, ..plain }));
    cluster.run(2);
    let speed = [(SPEED, Value::Int(-100))];
    for n in 1..=COUNT {
        // Within reach of the neighbour, and not of each other.
        let place = at(60_000 + (n % 2) as i32 * 30_000, 2_000 + (n / 2) as i32 * 1_900);
        cluster.base.create_as(n, 1, place, THING, &speed);
    }
    let all_are = |c: &Cluster| {
        let ghosts = c.outputs.iter().rev().find(|(node, ..)| *node == cell(2));
        ghosts.is_some_and(|(_, _, out)| out.stats.ghosts == COUNT as usize)
    };
    cluster.until("all ghosts", all_are);
    cluster.run(3);
    let held_back = cluster.outputs.iter().map(|(_, _, out)| out.stats.held_back).max();
    assert!(held_back > Some(0), "all of it fitted one bundle");
    for n in (1..=COUNT).step_by(499) {
        let real = cluster.cells[&cell(1)].brief(entity(n)).unwrap();
        let ghost = cluster.cells[&cell(2)].brief(entity(n)).unwrap();
        let behind = (real.place.pos.x - ghost.place.pos.x).abs();
        assert!(behind <= 100 + 25, "{behind} mm, more than a tick and its rounding");
    }
}
