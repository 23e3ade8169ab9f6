//! A slot on its way between bases: its entities stand still from the tick in which their base
//! asks for it until the base that keeps it then says so.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_common::cluster::{MapChange, SlotOwner};
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToCell, CellToBase};
use marchland_common::order::{EntityId, NodeKind, NodeName, SlotId, Term};
use marchland_common::world::Value;
use support::*;

const SLOT: SlotId = SlotId(0);

fn walker(cluster: &mut Cluster) -> EntityId {
    let speed = [(SPEED, Value::Int(100))];
    let id = cluster.base.create_as(1, 1, at(20_000, 50_000), THING, &speed);
    cluster.run(5);
    id
}

fn x(cluster: &Cluster, id: EntityId) -> i32 {
    cluster.cells[&cell(1)].brief(id).unwrap().place.pos.x
}

fn key(base: NodeName, term: u64) -> MapChange {
    MapChange::Slots(vec![SlotOwner { slot: SLOT, base, term: Term(term) }])
}

/// How often the base was told that the slot is closed under a term.
fn closed(cluster: &Cluster, term: u64) -> usize {
    let said = cluster.base.refused.iter();
    said.filter(
        |msg| matches!(msg, CellToBase::SlotsClosed(slots) if slots[..] == [(SLOT, Term(term))]),
    )
    .count()
}

fn holdings(cluster: &Cluster) -> usize {
    let said = cluster.base.refused.iter();
    said.filter(|msg| matches!(msg, CellToBase::Holding { .. })).count()
}

#[test]
fn entities_of_a_closed_slot_stand_still_and_their_base_is_told_behind_their_last_step() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(2);
    let (stands, steps) = (x(&cluster, id), cluster.base.steps.len());
    assert_eq!(closed(&cluster, 1), 1);
    cluster.run(30);
    assert_eq!((x(&cluster, id), cluster.base.steps.len()), (stands, steps));
    assert!(closed(&cluster, 1) >= 4, "said again until somebody opens it");
    let time = cluster.cells[&cell(1)].state(id).unwrap().time;
    cluster.run(10);
    assert_eq!(cluster.cells[&cell(1)].state(id).unwrap().time, time, "nor does its time go on");
}

#[test]
fn neither_the_map_nor_the_word_of_a_base_alone_opens_a_slot_but_both_do() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    cluster.tell_all(key(base().name, 9));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands, "the base has not said that it knows");
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(9))]));
    cluster.run(5);
    assert!(x(&cluster, id) > stands);
    assert_eq!(holdings(&cluster), 1, "the base is told what stands here");

    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(9))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(12))]));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands, "the map says nothing of that term");
    cluster.tell_all(key(base().name, 12));
    cluster.run(5);
    assert!(x(&cluster, id) > stands);
}

#[test]
fn a_slot_is_opened_by_no_older_word_and_closed_by_no_other_base() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(0))]));
    cluster.run(10);
    let moved = x(&cluster, id);
    cluster.run(2);
    assert!(x(&cluster, id) > moved, "a term that is over closes nothing");
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(1))]));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands, "the same term is not a higher one");
    let other = NodeName { kind: NodeKind::Base, number: 2 };
    cluster.tell_all(key(other, 5));
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(5))]));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands, "another base keeps it");
}

/// The life that comes back may know from its log that it gave the slot away, while the map here
/// still says otherwise.
#[test]
fn a_later_life_of_who_closed_a_slot_opens_it_by_its_word_and_not_by_being_there() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    let records = cluster.base.records.clone();
    cluster.restart_base(records);
    cluster.run(2);
    assert_eq!(closed(&cluster, 1), 1, "it is asked as soon as it is there");
    cluster.run(20);
    let runs = |cluster: &Cluster| {
        let open =
            |e: &Event| matches!(e, Event::WindowOpened { base } if *base == cluster.base.life);
        cluster.events(cell(1)).any(|(_, e)| open(e))
    };
    assert!(runs(&cluster), "what else it keeps runs");
    assert_eq!(x(&cluster, id), stands, "nobody said that it keeps the slot");
    assert_eq!(holdings(&cluster), 0);
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(1))]));
    cluster.run(5);
    assert!(x(&cluster, id) > stands);
    assert_eq!(holdings(&cluster), 1, "it is told what stands here");

    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(1))]));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands, "now it is this life that closed it");
}

#[test]
fn a_later_life_of_who_closed_a_slot_may_close_it_again_under_the_same_term() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(3);
    let stands = x(&cluster, id);
    let records = cluster.base.records.clone();
    cluster.restart_base(records);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(2);
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(1))]));
    cluster.run(10);
    assert_eq!(x(&cluster, id), stands);
    cluster.tell_all(key(base().name, 2));
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(2))]));
    cluster.run(5);
    assert!(x(&cluster, id) > stands);
}

#[test]
fn a_slot_that_another_base_keeps_all_at_once_stands_still_until_that_one_says_that_it_knows() {
    let mut cluster = Cluster::new(1);
    let id = walker(&mut cluster);
    let other = NodeName { kind: NodeKind::Base, number: 2 };
    cluster.tell_all(key(other, 5));
    cluster.run(3);
    let stands = x(&cluster, id);
    // That one was lost as well, and its log came to a base that is well and confirms everything.
    cluster.tell_all(key(base().name, 9));
    cluster.run(20);
    assert_eq!(x(&cluster, id), stands, "the map alone opens nothing");
    assert!(closed(&cluster, 1) >= 2, "the base is asked for its word");
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(9))]));
    cluster.run(5);
    assert!(x(&cluster, id) > stands);
    assert_eq!(holdings(&cluster), 1, "the base is told what stands here");
}

#[test]
fn a_core_read_back_while_a_slot_is_closed_goes_on_exactly_as_the_original() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster);
    cluster.base.say(cell(1), BaseToCell::CloseSlots(vec![(SLOT, Term(1))]));
    cluster.run(4);
    cluster.shadow();
    cluster.run(20);
    cluster.tell_all(key(base().name, 3));
    cluster.base.say(cell(1), BaseToCell::OpenSlots(vec![(SLOT, Term(3))]));
    let stands = x(&cluster, id);
    cluster.run(20);
    assert!(x(&cluster, id) > stands);
}
