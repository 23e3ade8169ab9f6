//! Handoffs, whole: from the border to the release, and every way in which one does not happen.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::cell::Role;
use marchland_common::cluster::MapChange;
use marchland_common::journal::{EndWhy, Event, Refused};
use marchland_common::msg::{BaseToCell, CellToBase, HandoffRefusal, HandoffWhy};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Seq, Tick};
use marchland_common::world::Value;
use support::*;

fn walker(cluster: &mut Cluster, x: i32, speed: i32) -> EntityId {
    let id = cluster.base.create(1, 1, at(x, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, WALK, &speed.to_le_bytes());
    id
}

#[test]
fn an_entity_that_walks_over_a_border_is_simulated_in_every_tick_by_exactly_one_owner() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.until("the release", |c| {
        let events = c.events(cell(1));
        events
            .into_iter()
            .any(|(_, e)| matches!(e, Event::Deactivated { why: EndWhy::Released, .. }))
    });
    assert_eq!(cluster.handoffs(id), 1);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    let record = &cluster.base.records[&id];
    assert_eq!((record.owner, record.epoch), (cell(2), Epoch::of_grant(2)));
    assert!(cluster.cells[&cell(1)].brief(id).is_none_or(|brief| brief.role == Role::Ghost));
    let here = cluster.cells[&cell(2)].brief(id).unwrap();
    assert_eq!((here.role, here.owner), (Role::Real, Some(cell(2))));

    // Entity time grew by one step in each tick since the birth, across both owners.
    let born = record.first_ticks[0];
    let lived = cluster.tick.0 - born.0 + 1;
    assert_eq!(cluster.cells[&cell(2)].state(id).unwrap().time.0, lived * STEP_US);
}

#[test]
fn a_handoff_is_prepare_grant_first_step_release_in_the_fewest_ticks_and_with_the_reason() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    let tick_of = |node, wanted: &dyn Fn(&Event) -> bool| -> Tick {
        cluster.events(node).find(|(_, e)| wanted(e)).map(|(tick, _)| tick).unwrap()
    };
    let frozen = tick_of(cell(1), &|e| matches!(e, Event::Frozen { why: HandoffWhy::Border, .. }));
    let active = tick_of(cell(2), &|e| matches!(e, Event::Activated { .. }));
    let gone = tick_of(cell(1), &|e| matches!(e, Event::Deactivated { .. }));
    assert_eq!((active.0 - frozen.0, gone.0 - active.0), (1, 1));
}

#[test]
fn an_entity_that_sways_on_a_border_stays_where_it_is() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 99_950, 0);
    for round in 0..500 {
        let speed: i32 = if round % 2 == 0 { 100 } else { -100 };
        cluster.command(id, 1, WALK, &speed.to_le_bytes());
        cluster.run(2);
    }
    let place = cluster.cells[&cell(1)].brief(id).unwrap().place;
    assert!((99_000..101_000).contains(&place.pos.x), "it swayed around the border: {place:?}");
    assert_eq!(cluster.handoffs(id), 0);
}

#[test]
fn a_long_walk_along_and_over_a_border_hands_over_once_for_each_stay() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 400);
    cluster.until("the first handoff", |c| c.handoffs(id) == 1);
    cluster.run(5);
    cluster.command(id, 1, WALK, &(-400_i32).to_le_bytes());
    cluster.until("the way back", |c| c.handoffs(id) == 2);
    cluster.run(5);
    cluster.command(id, 1, WALK, &0_i32.to_le_bytes());
    cluster.run(100);
    assert_eq!(cluster.handoffs(id), 2);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    assert_eq!(cluster.base.records[&id].owner, cell(1));
}

#[test]
fn a_thousand_entities_without_a_client_cross_a_border() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(1_000))];
    let ids: Vec<EntityId> = (1..=1_000)
        .map(|n| {
            let place = at(90_000 + (n as i32 % 10) * 100, (n as i32 % 90) * 1_000);
            cluster.base.create_as(n, 1, place, THING, &speed)
        })
        .collect();
    cluster.until("all handoffs", |c| ids.iter().all(|id| c.handoffs(*id) == 1));
    cluster.run(3);
    for id in &ids {
        assert_eq!(cluster.missed_and_doubled(*id), (0, 0));
        assert_eq!(cluster.cells[&cell(2)].brief(*id).unwrap().role, Role::Real);
    }
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
}

#[test]
fn a_restore_goes_on_from_the_image_and_not_from_the_offload_of_a_handoff_that_was_called_off() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(2);
    cluster.base.refuses = Some(HandoffRefusal::TargetSilent);
    cluster.handoff(1, id, cell(2), 0);
    cluster.until("the refusal", |c| {
        c.events(cell(1)).any(|(_, e)| matches!(e, Event::Unfrozen { .. }))
    });
    // Its owner ran on, without a step, and is given up.
    let steps = 30;
    let record = cluster.base.records.get_mut(&id).unwrap();
    record.image.time.0 += steps * STEP_US;
    let time = record.image.time;
    cluster.base.re_own(id, cell(2));
    cluster.until("the restore", |c| {
        c.events(cell(2)).any(|(_, e)| matches!(e, Event::Activated { .. }))
    });
    let began = cluster.cells[&cell(2)].state(id).unwrap().time;
    assert!(began >= time, "{began:?} is before {time:?}: it went on from the offload");
}

#[test]
fn a_refused_handoff_leaves_the_owner_running_under_the_same_epoch_and_what_waited_runs_in_order() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.base.refuses = Some(HandoffRefusal::TargetNotAccepting);
    cluster
        .until("the freeze", |c| c.events(cell(1)).any(|(_, e)| matches!(e, Event::Frozen { .. })));
    cluster.command(id, 1, WALK, &0_i32.to_le_bytes());
    for n in 0..20_u8 {
        cluster.command(id, 1, ADD, &[n]);
    }
    cluster.run(4);
    let ends: Vec<&Event> = cluster
        .events(cell(1))
        .map(|(_, e)| e)
        .filter(|e| matches!(e, Event::Frozen { .. } | Event::Unfrozen { .. }))
        .collect();
    let [Event::Frozen { seq: at, .. }, Event::Unfrozen { seq, reason, epoch, .. }] = ends[..]
    else {
        panic!("frozen once and released once: {ends:?}")
    };
    assert_eq!((at, *reason), (seq, HandoffRefusal::TargetNotAccepting));
    assert_eq!(*epoch, Epoch::of_grant(1));
    let log = cluster.base.records[&id].image.props[usize::from(LOG)].bytes().to_vec();
    let want: Vec<u8> = b"b".iter().copied().chain(0..20).collect();
    assert_eq!(log, want);

    // It asks again, but not before it has stayed a while.
    cluster.base.refuses = None;
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(2);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
}

#[test]
fn an_unanswered_handoff_is_asked_for_every_tick_and_an_old_abort_changes_nothing() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.base.loses_grants = true;
    cluster
        .until("the freeze", |c| c.events(cell(1)).any(|(_, e)| matches!(e, Event::Frozen { .. })));
    let before = cluster.base.prepares;
    cluster.run(10);
    assert_eq!(cluster.base.prepares, before + 10);
    let (epoch, seq) = (Epoch::of_grant(1), Seq(0));
    let reason = HandoffRefusal::TargetDead;
    cluster.base.say(cell(1), BaseToCell::Abort { entity: id, epoch, seq, reason });
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().role, Role::Frozen);
}

#[test]
fn a_fenced_real_is_gone_in_the_tick_that_reads_it_and_its_old_grant_never_comes_back() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 50_000, 0);
    cluster.run(2);
    let old = cluster.base.records[&id].granted.clone();
    cluster.base.re_own(id, cell(2));
    cluster.command(id, 1, ADD, b"x");
    cluster.base.say(
        cell(1),
        BaseToCell::Fenced { entity: id, epoch: Epoch::of_grant(1), current: Epoch::of_grant(2) },
    );
    cluster.run(1);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().role, Role::Real);
    cluster.run(1);
    assert!(cluster.events(cell(1)).any(|(tick, e)| tick == cluster.tick
        && matches!(e, Event::Deactivated { why: EndWhy::Fenced, .. })));
    assert!(cluster.cells[&cell(1)].brief(id).is_none_or(|b| b.role == Role::Ghost));
    cluster.base.say(cell(1), BaseToCell::Grant(old));
    cluster.run(2);
    assert!(cluster.cells[&cell(1)].brief(id).is_none_or(|b| b.role == Role::Ghost));
    let stale = |m: &CellToBase| matches!(m, CellToBase::GrantStale { known, .. } if *known == Epoch::of_grant(2));
    assert!(cluster.base.refused.iter().any(stale));
}

#[test]
fn a_target_that_never_got_its_grant_is_passed_over_and_the_old_owner_goes_on_from_the_image() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.base.loses_grants = true;
    cluster.until("the commit", |c| c.handoffs(id) == 1);
    cluster.run(20);
    cluster.base.loses_grants = false;
    cluster.base.re_own(id, cell(1));
    cluster.run(2);
    let brief = cluster.cells[&cell(1)].brief(id).unwrap();
    assert_eq!((brief.role, brief.epoch), (Role::Real, Epoch::of_grant(3)));
    assert!(cluster.events(cell(1)).any(|(_, e)| matches!(
        e,
        Event::Deactivated { why: EndWhy::Replaced, epoch, .. } if *epoch == Epoch::of_grant(1)
    )));
    // The late grant of the epoch in between is nothing to the old target's parked copy.
    let mut late = cluster.base.records[&id].granted.clone();
    (late.epoch, late.to) = (Epoch::of_grant(2), cell(1));
    cluster.base.say(cell(1), BaseToCell::Grant(late));
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().epoch, Epoch::of_grant(3));
}

#[test]
fn a_grant_for_another_life_is_not_taken() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 2, at(50_000, 50_000));
    let mut grant = cluster.base.records[&id].granted.clone();
    grant.to = Node::new(NodeKind::Cell, 1, 9);
    cluster.base.say(cell(1), BaseToCell::Grant(grant));
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
    let refused = Refused::NotForMe;
    assert!(cluster.events(cell(1)).any(|(_, e)| matches!(
        e,
        Event::Refusal { reason, .. } if *reason == refused
    )));
}

#[test]
fn the_target_goes_on_from_the_offload_with_everything_that_does_not_last() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster
        .until("the freeze", |c| c.events(cell(1)).any(|(_, e)| matches!(e, Event::Frozen { .. })));
    let left = cluster.cells[&cell(1)].state(id).unwrap();
    cluster.run(1);
    let arrived = cluster.cells[&cell(2)].state(id).unwrap();
    assert_eq!(arrived.place.pos.x, left.place.pos.x + 500);
    assert_eq!(arrived.time.0, left.time.0 + STEP_US);
    assert_eq!(arrived.rng, left.rng);
}

#[test]
fn a_base_that_comes_back_in_the_middle_of_a_handoff_is_asked_again_and_commits_it() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.until("it strayed", |c| {
        c.events(cell(1)).any(|(_, e)| matches!(e, Event::Strayed { .. }))
    });
    cluster.run(4);
    cluster.base.stalled = true;
    let kept = cluster.base.records.clone();
    cluster.until("the freeze", |c| {
        c.events(cell(1)).any(|(_, e)| matches!(e, Event::Frozen { .. }))
            || c.events(cell(1)).any(|(_, e)| matches!(e, Event::WindowClosed { .. }))
    });
    cluster.run(5);
    cluster.restart_base(kept);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    assert_eq!(cluster.cells[&cell(2)].brief(id).unwrap().role, Role::Real);
    assert_eq!(cluster.missed_and_doubled(id).1, 0);
}

#[test]
fn a_target_of_an_earlier_life_is_not_handed_to_and_its_successor_is() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    let successor = Node::new(NodeKind::Cell, 2, 21);
    let config = marchland_cellapp_core::io::CellConfig::new(successor, 7, STEP_US);
    let core = marchland_cellapp_core::CellCore::new(config, world());
    cluster.cells.remove(&cell(2));
    cluster.cells.insert(successor, core);
    let members = [cell(1), successor, base()]
        .map(|node| marchland_common::cluster::Member {
            node,
            state: marchland_common::cluster::MemberState::Serving,
        })
        .to_vec();
    let slot = marchland_common::cluster::SlotOwner {
        slot: marchland_common::order::SlotId(0),
        base: base().name,
        term: marchland_common::order::Term(1),
    };
    let owners = [Some(cell(1)), Some(successor)];
    for change in [
        MapChange::Members(members),
        MapChange::Dead(vec![cell(2).incarnation]),
        MapChange::Slots(vec![slot]),
        MapChange::Layout(cluster::layout(PLAIN, 2, &owners)),
    ] {
        cluster.tell_all(change);
    }
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    assert_eq!(cluster.base.records[&id].owner, successor);
    assert_eq!(cluster.cells[&successor].brief(id).unwrap().role, Role::Real);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
}
