//! The deliberate faults do what they are named after: an audit has something to find.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_cellapp_core::cell::Role;
use marchland_cellapp_core::io::CellBug;
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToCell, InboxMessage, Origin};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Seq, Tick};
use marchland_common::world::Value;
use support::*;

fn with(bug: CellBug) -> Cluster {
    Cluster::with(2, |config| config.seeded_bug = Some(bug))
}

fn walker(cluster: &mut Cluster) -> EntityId {
    let speed = [(SPEED, Value::Int(500))];
    let id = cluster.base.create_as(1, 1, at(95_000, 50_000), THING, &speed);
    cluster.run(2);
    id
}

#[test]
fn activate_on_offload_makes_real_what_no_grant_did() {
    let mut cluster = with(CellBug::ActivateOnOffload);
    let id = walker(&mut cluster);
    cluster.base.refuses = Some(marchland_common::msg::HandoffRefusal::TargetSilent);
    cluster
        .until("the freeze", |c| c.events(cell(1)).any(|(_, e)| matches!(e, Event::Frozen { .. })));
    cluster.run(2);
    let both = [1, 2].map(|n| cluster.cells[&cell(n)].brief(id).map(|b| b.role));
    assert_eq!(both, [Some(Role::Real), Some(Role::Real)]);
}

#[test]
fn ignore_incarnation_takes_the_grant_of_another_life() {
    let mut cluster = with(CellBug::IgnoreIncarnation);
    let id = cluster.base.create(1, 2, at(50_000, 50_000));
    let mut grant = cluster.base.records[&id].granted.clone();
    grant.to = Node::new(NodeKind::Cell, 1, 9);
    cluster.base.say(cell(1), BaseToCell::Grant(grant));
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].reals(), [id]);
}

#[test]
fn no_window_runs_on_without_its_base() {
    let mut cluster = with(CellBug::NoWindow);
    let id = walker(&mut cluster);
    cluster.base.stalled = true;
    let before = cluster.cells[&cell(1)].state(id).unwrap().time;
    cluster.run(50);
    let time = cluster.cells[&cell(1)].state(id).unwrap().time;
    assert!(time.0 - before.0 > 10 * STEP_US);
}

#[test]
fn no_freeze_goes_on_after_the_freeze_under_the_old_epoch() {
    let mut cluster = with(CellBug::NoFreeze);
    let id = walker(&mut cluster);
    cluster.base.loses_releases = true;
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(15);
    let frozen = cluster
        .events(cell(1))
        .find(|(_, e)| matches!(e, Event::Frozen { .. }))
        .map(|(tick, _)| tick)
        .unwrap();
    assert!(cluster.events(cell(1)).any(|(tick, e)| tick > frozen
        && matches!(e, Event::Stepped { epoch, .. } if *epoch == Epoch::of_grant(1))));
}

#[test]
fn ignore_fence_keeps_what_is_fenced() {
    let mut cluster = with(CellBug::IgnoreFence);
    let id = walker(&mut cluster);
    cluster.base.re_own(id, cell(2));
    let (epoch, current) = (Epoch::of_grant(1), Epoch::of_grant(2));
    cluster.base.say(cell(1), BaseToCell::Fenced { entity: id, epoch, current });
    cluster.run(3);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().role, Role::Real);
}

#[test]
fn no_inbox_runs_a_message_twice() {
    let mut cluster = with(CellBug::NoInbox);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(3);
    let (authority, epoch, seq, tick) = (cell(9), Epoch::of_grant(1), Seq(1), Tick(100));
    let give = BaseToCell::Inbox(InboxMessage {
        entity: id,
        source: entity(9),
        out_seq: 1,
        payload: Bytes::from_static(b"m"),
        value: 5,
        origin: Origin { authority, epoch, seq, tick },
        settled: 0,
    });
    for _ in 0..2 {
        cluster.base.say(cell(1), give.clone());
        cluster.run(3);
    }
    assert_eq!(cluster.base.records[&id].image.props[usize::from(GOLD)], Value::Int(10));
}

#[test]
fn dedup_stays_runs_a_command_again_at_the_new_owner() {
    let mut cluster = with(CellBug::DedupStays);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    let n = cluster.command(id, 1, ADD, b"x");
    let again = cluster.base.open[0].clone();
    cluster.run(3);
    cluster.handoff(1, id, cell(2), 200);
    cluster.run(2);
    cluster.base.stalled = true;
    let frame_of = |msg| marchland_common::msg::Frame {
        from: base(),
        bundle: marchland_common::msg::Bundle {
            n: 500,
            src_tick: Tick(1),
            moment: Default::default(),
            phase_us: 0,
            header: marchland_common::msg::Header::BaseToCell { durable_tick: None },
            msgs: vec![marchland_common::msg::Msg::BaseToCell(msg)],
        },
    };
    cluster.inject(cell(2), frame_of(again));
    cluster.run(2);
    let runs = cluster
        .all_events()
        .filter(|(_, _, e)| matches!(e, Event::CommandRun { n: ran, .. } if *ran == n));
    assert_eq!(runs.count(), 2);
}

#[test]
fn double_tick_counts_the_last_tick_of_the_old_owner_again() {
    let mut cluster = with(CellBug::DoubleTick);
    let id = walker(&mut cluster);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    assert_eq!(cluster.missed_and_doubled(id), (0, 1));
}

#[test]
fn no_leave_forgets_to_say_that_somebody_left() {
    let mut cluster = with(CellBug::NoLeave);
    let id = cluster.base.create(1, 1, at(10_000, 50_000));
    let speed = [(SPEED, Value::Int(2_000))];
    let other = cluster.base.create_as(2, 1, at(12_000, 50_000), THING, &speed);
    cluster.run(2);
    cluster.attach_with_view(id, 1, 20_000);
    cluster.run(30);
    let count = |wanted: &dyn Fn(&Event) -> bool| {
        cluster.all_events().filter(|(_, _, e)| wanted(e)).count()
    };
    assert_eq!(count(&|e| matches!(e, Event::Entered { entity, .. } if *entity == other)), 1);
    assert_eq!(count(&|e| matches!(e, Event::Left { entity, .. } if *entity == other)), 0);
}

#[test]
fn without_a_fault_none_of_this_happens() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(5);
    let mut owners = Vec::new();
    for (node, tick, event) in cluster.all_events() {
        match event {
            Event::Activated { .. } => owners.push((tick, node, true)),
            Event::Frozen { .. } | Event::Deactivated { .. } => owners.push((tick, node, false)),
            _ => {}
        }
    }
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    assert_eq!(owners.iter().filter(|(_, _, begins)| *begins).count(), 2);
}
