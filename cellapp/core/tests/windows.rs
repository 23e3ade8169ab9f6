//! The window: an owner that its base does not confirm stops by itself, and what that means for
//! idle entities, entity time and a base that comes back.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::io::CellOrder;
use marchland_common::cluster::{MapChange, SlotOwner};
use marchland_common::journal::{EndWhy, Event};
use marchland_common::msg::{BaseToCell, CellToBase, StepBody};
use marchland_common::order::{EntityId, Epoch, NodeKind, NodeName, SlotId, Term, Tick};
use marchland_common::time::{Dropped, OverloadPolicy};
use marchland_common::world::Value;
use support::*;

fn time_of(cluster: &Cluster, id: EntityId) -> u64 {
    cluster.cells[&cell(1)].state(id).unwrap().time.0
}

fn window_events(cluster: &Cluster) -> Vec<(Tick, bool)> {
    let changes = cluster.events(cell(1)).filter_map(|(tick, e)| match e {
        Event::WindowOpened { .. } => Some((tick, true)),
        Event::WindowClosed { .. } => Some((tick, false)),
        _ => None,
    });
    changes.collect()
}

#[test]
fn entities_of_a_silent_base_run_three_ticks_more_and_go_on_when_it_speaks() {
    let mut cluster = Cluster::new(1);
    let speed = [(SPEED, Value::Int(100))];
    let id = cluster.base.create_as(1, 1, at(20_000, 50_000), THING, &speed);
    cluster.run(5);
    let x = |c: &Cluster| c.cells[&cell(1)].brief(id).unwrap().place.pos.x;
    let (before, heard) = (x(&cluster), cluster.tick);
    cluster.base.stalled = true;
    cluster.run(40);
    assert_eq!(x(&cluster) - before, 300, "what was under way, and three ticks");
    cluster.base.stalled = false;
    cluster.run(10);
    assert_eq!(x(&cluster) - before, 300 + 900);
    let changes = window_events(&cluster);
    let closed = Tick(heard.0 + 4);
    let opened = Tick(heard.0 + 42);
    assert_eq!(changes[1..], [(closed, false), (opened, true)]);
}

#[test]
fn time_stands_still_for_an_idle_entity_while_its_window_is_closed() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, AWAKE, &[0]);
    cluster.run(3);
    let behaviours = cluster.outputs.last().unwrap().2.stats.behaviours;
    assert_eq!(behaviours, 0, "it sleeps");
    let before = time_of(&cluster, id);
    cluster.run(10);
    assert_eq!(time_of(&cluster, id) - before, 10 * STEP_US);
    cluster.base.stalled = true;
    cluster.run(50);
    assert_eq!(time_of(&cluster, id) - before, 13 * STEP_US);
    cluster.base.stalled = false;
    cluster.run(2);
    cluster.run(10);
    assert_eq!(time_of(&cluster, id) - before, 24 * STEP_US);
}

#[test]
fn commands_that_come_while_the_window_is_closed_wait_and_run_in_order() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(2);
    cluster.order(cell(1), CellOrder::Freeze);
    for n in 0..50 {
        cluster.command(id, 1, ADD, &[n]);
        cluster.step();
    }
    let log = |c: &Cluster| c.base.records[&id].image.props[usize::from(LOG)].bytes().to_vec();
    assert_eq!(log(&cluster), b"b");
    cluster.order(cell(1), CellOrder::Thaw);
    cluster.run(3);
    assert_eq!(log(&cluster)[1..], (0..50).collect::<Vec<u8>>());
}

#[test]
fn a_closed_window_fires_no_timer_and_an_open_one_fires_it_late_and_once() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, ALARM, &[6]);
    cluster.run(2);
    cluster.base.stalled = true;
    cluster.run(50);
    let fired = |c: &Cluster| {
        c.events(cell(1)).filter(|(_, e)| matches!(e, Event::TimerFired { .. })).count()
    };
    assert_eq!(fired(&cluster), 0);
    cluster.base.stalled = false;
    cluster.run(10);
    assert_eq!(fired(&cluster), 1);
}

#[test]
fn a_base_that_comes_back_hears_what_stands_here_and_the_steps_it_lacks() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(3);
    cluster.command(id, 1, ADD, b"1");
    cluster.run(1);
    cluster.base.stalled = true;
    cluster.run(1);
    let kept = cluster.base.records.clone();
    assert_eq!(kept[&id].image.props[usize::from(LOG)].bytes(), b"b");
    cluster.restart_base(kept);
    cluster.run(4);
    let record = &cluster.base.records[&id];
    assert_eq!(record.image.props[usize::from(LOG)].bytes(), b"b1", "it was sent again");
    let held = |m: &CellToBase| {
        matches!(m, CellToBase::Holding { entity, epoch, .. }
            if *entity == id && *epoch == Epoch::of_grant(1))
    };
    let said: Vec<&CellToBase> = cluster.base.refused.iter().collect();
    let of_list = |m: &&CellToBase| held(m) || **m == CellToBase::Listed { question: 1 };
    let list: Vec<bool> = said.into_iter().filter(of_list).map(held).collect();
    assert_eq!(list, [true, false], "what it holds, and then that this was all");
    let x = cluster.base.steps.len();
    cluster.command(id, 1, ADD, b"z");
    cluster.run(4);
    assert!(cluster.base.steps.len() > x, "it runs on under the same epoch");
    assert_eq!(cluster.base.records[&id].epoch, Epoch::of_grant(1));
}

/// What the base was told of what stands here: entities, and the ends of lists.
fn told(cluster: &Cluster) -> (usize, Vec<u64>) {
    let said = cluster.base.refused.iter();
    let holding = said.clone().filter(|m| matches!(m, CellToBase::Holding { .. })).count();
    let ends = said.filter_map(|m| match m {
        CellToBase::Listed { question } => Some(*question),
        _ => None,
    });
    (holding, ends.collect())
}

fn ask(cluster: &mut Cluster, question: u64) {
    cluster.base.say(cell(1), BaseToCell::Resync { question });
}

#[test]
fn every_question_is_answered_once_and_so_by_a_cellapp_that_holds_nothing() {
    let mut cluster = Cluster::new(1);
    for _ in 0..3 {
        ask(&mut cluster, 1);
        cluster.run(1);
    }
    cluster.run(3);
    assert_eq!(told(&cluster), (0, vec![1]));
    cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.base.create(2, 1, at(30_000, 50_000));
    cluster.run(3);
    ask(&mut cluster, 2);
    cluster.run(3);
    assert_eq!(told(&cluster), (2, vec![1, 2]));
    ask(&mut cluster, 1);
    cluster.run(3);
    assert_eq!(told(&cluster), (2, vec![1, 2]), "an old question is answered");
}

#[test]
fn what_is_said_unasked_after_a_lost_link_answers_the_newest_question_that_was_heard() {
    let mut cluster = Cluster::new(1);
    cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(3);
    cluster.order(cell(1), CellOrder::LinkReset(cluster.base.life));
    cluster.run(3);
    assert_eq!(told(&cluster), (1, vec![0]), "nobody had asked");
    ask(&mut cluster, 4);
    cluster.run(3);
    cluster.order(cell(1), CellOrder::LinkReset(cluster.base.life));
    cluster.run(3);
    assert_eq!(told(&cluster), (3, vec![0, 4, 4]));
}

#[test]
fn a_slot_that_the_base_gets_after_a_list_is_told_as_well() {
    let mut cluster = Cluster::new(1);
    cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(3);
    let key = |number, term| {
        let base = NodeName { kind: NodeKind::Base, number };
        MapChange::Slots(vec![SlotOwner { slot: SlotId(0), base, term: Term(term) }])
    };
    cluster.tell_all(key(9, 2));
    cluster.run(2);
    ask(&mut cluster, 1);
    cluster.run(3);
    assert_eq!(told(&cluster), (0, vec![1]), "as far as the map says it keeps nothing");
    cluster.tell_all(key(1, 3));
    cluster.run(3);
    assert_eq!(told(&cluster), (0, vec![1]), "it has not said that it knows");
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SlotId(0), Term(3))]));
    cluster.run(3);
    assert_eq!(told(&cluster), (1, vec![1]));
}

#[test]
fn time_goes_on_without_a_jump_when_a_base_comes_back() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(10);
    let before = time_of(&cluster, id);
    let kept = cluster.base.records.clone();
    cluster.restart_base(kept);
    let restarted = cluster.tick;
    cluster.run(13);
    let changes = window_events(&cluster);
    let [(closed, false), (opened, true)] = changes[1..] else {
        panic!("closed for the old life, open for the new one: {changes:?}")
    };
    let ran = (closed.0 - restarted.0 - 1) + (cluster.tick.0 - opened.0 + 1);
    assert_eq!(time_of(&cluster, id) - before, ran * STEP_US);
}

#[test]
fn a_snapshot_is_sent_when_asked_for_and_the_chain_goes_on_from_it() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(4);
    let record = &cluster.base.records[&id];
    let (epoch, seq) = (record.epoch, record.seq);
    cluster.base.say(cell(1), BaseToCell::NeedSnapshot { entity: id, epoch, seq });
    cluster.run(4);
    let whole = cluster
        .base
        .steps
        .iter()
        .filter(|(_, _, step)| matches!(step.body, StepBody::Snapshot(_)))
        .count();
    assert_eq!(whole, 1);
    cluster.attach(id, 1);
    cluster.command(id, 1, ADD, b"q");
    cluster.run(4);
    assert_eq!(cluster.base.records[&id].image.props[usize::from(LOG)].bytes(), b"bq");
}

#[test]
fn volatile_changes_are_reported_every_so_often_and_idle_entities_say_nothing() {
    let mut cluster = Cluster::new(1);
    let speed = [(SPEED, Value::Int(10))];
    let moving = cluster.base.create_as(1, 1, at(20_000, 50_000), THING, &speed);
    let idle = cluster.base.create(2, 1, at(60_000, 50_000));
    cluster.run(2);
    let steps = |c: &Cluster, id| c.base.steps.iter().filter(|(_, _, s)| s.entity == id).count();
    let before = (steps(&cluster, moving), steps(&cluster, idle));
    cluster.run(100);
    assert_eq!(steps(&cluster, moving) - before.0, 10);
    assert_eq!(steps(&cluster, idle) - before.1, 0);
    let record = &cluster.base.records[&moving];
    let here = cluster.cells[&cell(1)].brief(moving).unwrap().place.pos.x;
    assert!(here - record.image.place.pos.x <= 100, "never older than ten ticks");
}

#[test]
fn a_life_that_was_declared_dead_drops_everything_at_once_and_takes_nothing_more() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(5);
    cluster.tell(cell(1), MapChange::Dead(vec![cell(1).incarnation]));
    cluster.run(1);
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
    assert!(cluster.events(cell(1)).any(|(_, e)| matches!(
        e,
        Event::Deactivated { why: EndWhy::Fenced, entity, .. } if *entity == id
    )));
    let steps = cluster.base.steps.len();
    cluster.base.create(2, 1, at(20_000, 50_000));
    cluster.run(5);
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
    assert_eq!(cluster.base.steps.len(), steps);
    assert!(!cluster.base.accepting[&cell(1)]);
}

#[test]
fn ticks_that_were_left_out_are_said_and_the_window_is_judged_by_the_new_number() {
    let mut cluster = Cluster::new(1);
    cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(5);
    let (from, to) = (cluster.tick.next(), Tick(cluster.tick.0 + 41));
    let dropped = Dropped { from, to, ns: 2_000_000_000, policy: OverloadPolicy::Drop, version: 1 };
    cluster.input(cell(1)).dropped = Some(dropped);
    cluster.tick = Tick(to.0 - 1);
    cluster.run(10);
    let said = cluster
        .events(cell(1))
        .any(|(tick, e)| tick == to && matches!(e, Event::TicksDropped(said) if *said == dropped));
    assert!(said);
    let changes = window_events(&cluster);
    assert_eq!(changes[1..], [(to, false), (Tick(to.0 + 1), true)]);
}

#[test]
fn a_target_that_lags_behind_runs_no_tick_that_the_owner_before_ran() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    let last = Tick(cluster.tick.0 + 6);
    cluster.base.say_last_tick(id, last);
    cluster.run(20);
    let record = &cluster.base.records[&id];
    assert_eq!(record.first_ticks, [last.next()]);
    let ran = cluster.tick.0 - last.0;
    assert_eq!(time_of(&cluster, id), ran * STEP_US);
}
