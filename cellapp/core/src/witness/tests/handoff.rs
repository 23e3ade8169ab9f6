use super::*;
use crate::ghosts::kit::HEALTH;
use marchland_common::msg::WitnessState;

/// A witness at 1 and a neighbour at 2, seen and moving; then the entity is handed over.
fn before() -> (Field, Vec<WitnessState>) {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    for x in 6..10 {
        field.step(2, at(x, 0));
        field.run();
    }
    let states = field.witnesses.freeze(id(1));
    (field, states)
}

/// The field of the next owner, which knows the neighbour as of `seq`, and the same client.
fn after(old: &Field, x: i32, seq: u64) -> Field {
    let mut field = Field::new(LIMITS);
    field.show(1, at(0, 0), 2, 1, 1);
    field.show(2, at(x, 0), 1, seq, 1);
    field.clients.clone_from(&old.clients);
    field.now = old.now;
    field
}

#[test]
fn a_witness_moves_with_its_entity_without_a_leave_and_an_enter() {
    let (old, states) = before();
    let mut new = after(&old, 9, 5);
    new.witnesses.resume(id(1), &[(session(1), 30_000)], &states);
    new.run();
    new.step(2, at(10, 0));
    new.run();
    new.check(1);
    let client = new.client(1);
    assert_eq!((client.enters, client.leaves, client.fresh, client.resets), (1, 0, 1, 0));
    assert_eq!(client.updates, 4, "three before, one after");
}

#[test]
fn a_next_owner_that_knows_less_tells_nothing_older() {
    let (old, states) = before();
    let mut new = after(&old, 7, 3);
    new.witnesses.resume(id(1), &[(session(1), 30_000)], &states);
    new.run();
    new.step(2, at(8, 0));
    new.run();
    assert_eq!(new.client(1).held, old.clients[&(id(1), session(1))].held);
    new.step(2, at(9, 0));
    new.step(2, at(10, 0));
    new.run();
    new.check(1);
}

#[test]
fn a_field_that_changed_and_changed_back_while_nobody_here_looked_is_told() {
    let mut old = Field::new(LIMITS);
    old.put(1, at(0, 0));
    old.put(2, at(5, 0));
    old.attach(1, 30_000);
    old.set(2, HEALTH, Value::Int(1));
    old.run();
    let states = old.witnesses.freeze(id(1));
    let mut new = after(&old, 5, 1);
    new.show(2, at(5, 0), 1, 3, 1);
    new.witnesses.resume(id(1), &[(session(1), 30_000)], &states);
    new.run();
    new.check(1);
    assert_eq!(new.client(1).held[&id(2)].props[&HEALTH], Value::Int(100));
}

#[test]
fn a_session_without_a_usable_state_begins_anew() {
    let (old, states) = before();
    let mut twice = states.clone();
    let seen = twice[0].seen[0];
    twice[0].seen.push(seen);
    let mut crowd = states.clone();
    crowd[0].seen = (1..=SEEN_MAX as u64 + 1)
        .map(|n| marchland_common::msg::Seen { entity: id(n), ..seen })
        .collect();
    for states in [vec![], twice, crowd] {
        let mut new = after(&old, 9, 5);
        new.witnesses.resume(id(1), &[(session(1), 30_000)], &states);
        new.run();
        new.check(1);
        assert_eq!((new.client(1).fresh, new.client(1).enters), (2, 2));
    }
}

#[test]
fn only_the_sessions_of_the_grant_go_on_with_its_radius() {
    let (old, states) = before();
    let mut new = after(&old, 9, 5);
    new.witnesses.resume(id(1), &[(session(8), 0)], &states);
    assert_eq!(new.witnesses.len(), 1);
    new.run();
    assert!(new.clients[&(id(1), session(8))].held.is_empty());
}

#[test]
fn both_sessions_of_an_entity_travel_and_one_that_heard_nothing_does_not() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    let mut out = ViewOut::default();
    field.witnesses.attach(id(1), session(7), 10_000, &mut out);
    field.witnesses.attach(id(1), session(8), 20_000, &mut out);
    field.run();
    field.witnesses.attach(id(1), session(9), 20_000, &mut out);
    let states = field.witnesses.freeze(id(1));
    let travels: Vec<_> = states.iter().map(|s| (s.session, s.radius, s.seen.len())).collect();
    assert_eq!(travels, [(session(7), 10_000, 1), (session(8), 20_000, 1)]);
    field.witnesses.forget(id(1));
    assert!(field.witnesses.is_empty());
    assert!(field.balance().values().all(|(_, left)| *left == 0));
}

#[test]
fn a_frozen_witness_is_silent_and_goes_on_when_the_handoff_is_called_off() {
    let (mut field, _) = before();
    field.step(2, at(20, 0));
    field.run();
    assert_eq!(field.client(1).updates, 3);
    field.witnesses.thaw(id(1));
    field.run();
    field.check(1);
    assert_eq!((field.client(1).enters, field.client(1).fresh), (1, 1));
}
