use super::*;
use crate::ghosts::kit::{CAVE, FUR, HEALTH, MOOD, SECRET};
use marchland_common::world::COMPASS;

#[test]
fn whoever_leaves_in_any_direction_leaves_once_on_each_side() {
    for (dx, dy) in COMPASS.iter().step_by(2) {
        for first_walks in [true, false] {
            let mut field = Field::new(LIMITS);
            field.put(1, at(0, 0));
            field.put(2, at(0, 0));
            field.attach(1, 30_000);
            field.attach(2, 30_000);
            let walker = if first_walks { 1 } else { 2 };
            for step in 0..50 {
                field.step(walker, spot(dx * step, dy * step));
                field.run();
                field.check(1);
                field.check(2);
            }
            let balance = field.balance();
            assert_eq!(balance[&(id(1), id(2))], (1, 1), "direction {dx} {dy}");
            assert_eq!(balance[&(id(2), id(1))], (1, 1), "direction {dx} {dy}");
        }
    }
}

#[test]
fn somebody_who_sways_at_the_edge_enters_at_most_once() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, spot(30_300, 0));
    field.attach(1, 30_000);
    for tick in 0..1_000 {
        field.step(2, spot(if tick % 2 == 0 { 29_700 } else { 30_300 }, 0));
        field.run();
    }
    assert_eq!(field.balance()[&(id(1), id(2))], (1, 0));
}

#[test]
fn a_radius_of_nothing_sees_nobody_again_and_again() {
    for radius in [0, -5, i32::MIN] {
        let mut field = Field::new(LIMITS);
        field.put(1, at(0, 0));
        field.put(2, at(0, 0));
        for _ in 0..3 {
            field.attach(1, radius);
            field.step(2, at(field.now.0 as i32 % 2, 0));
            field.run();
        }
        assert_eq!(field.client(1).enters, 0);
        assert_eq!(field.client(1).fresh, 3, "each begin is told, even an empty one");
    }
}

#[test]
fn a_radius_beyond_the_largest_becomes_the_largest() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(61, 0));
    field.put(3, at(59, 0));
    field.attach(1, i32::MAX);
    field.run();
    assert_eq!(field.witnesses.seen(id(1), session(1)), [id(3)]);
}

#[test]
fn a_client_that_attaches_late_gets_everything_whole() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    for tick in 0..100 {
        field.set(2, HEALTH, Value::Int(tick));
        field.run();
    }
    field.attach(1, 30_000);
    field.run();
    let held = &field.client(1).held[&id(2)];
    assert_eq!(held.props[&HEALTH], Value::Int(99));
    assert_eq!(held.props.keys().copied().collect::<Vec<_>>(), [HEALTH, FUR]);
    field.check(1);
}

#[test]
fn the_own_entity_is_nobody_in_its_view() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.attach(1, 30_000);
    field.step(1, at(1, 0));
    field.run();
    assert_eq!((field.client(1).enters, field.client(1).fresh), (0, 1));
}

#[test]
fn secrets_and_what_only_ghosts_know_are_in_no_view() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    field.run();
    field.set(2, FUR, Value::Bytes(b"white".to_vec()));
    field.set(2, MOOD, Value::Bytes(b"gloomy".to_vec()));
    field.run();
    let holds = |text: &[u8]| field.bytes.windows(text.len()).any(|part| part == text);
    assert!(holds(b"grey") && holds(b"white"));
    assert!(!holds(SECRET) && !holds(b"hungry") && !holds(b"gloomy"));
}

#[test]
fn whoever_ceases_to_be_known_here_leaves_exactly_once() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    field.run();
    field.looks.remove(id(2));
    (0..5).for_each(|_| field.run());
    assert_eq!((field.client(1).leaves, field.balance()[&(id(1), id(2))]), (1, (1, 1)));
    field.put(2, at(5, 0));
    field.step(2, Place { space: CAVE, ..at(5, 0) });
    field.run();
    assert_eq!(field.client(1).enters, 1, "it is in another space by now");
}

#[test]
fn a_neighbour_that_turns_from_ghost_to_real_and_back_stays_in_view() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    field.run();
    field.looks.set_real(id(2), false);
    field.run();
    field.looks.adopt(id(2), epoch(2), Seq(1));
    field.run();
    field.step(2, at(6, 0));
    field.run();
    assert_eq!(field.client(1).held[&id(2)].version.epoch, epoch(2), "a new epoch is told");
    field.show(2, at(7, 0), 3, 3, 1);
    field.run();
    field.check(1);
    let client = field.client(1);
    assert_eq!((client.enters, client.leaves, client.resets, client.updates), (1, 0, 0, 2));
    assert_eq!(client.held[&id(2)].version.epoch, epoch(3));
}

#[test]
fn a_restore_is_told_as_a_reset_in_the_same_tick() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    for x in 6..20 {
        field.step(2, at(x, 0));
        field.run();
    }
    field.show(2, at(7, 0), 2, 1, 2);
    field.run();
    field.check(1);
    let client = field.client(1);
    assert_eq!((client.resets, client.enters, client.leaves), (1, 1, 0));
}

#[test]
fn details_are_kept_back_while_far_and_made_up_for_when_near() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(25, 0));
    field.attach(1, 40_000);
    field.run();
    let fur = |field: &mut Field| field.client(1).held[&id(2)].props[&FUR].clone();
    field.set(2, FUR, Value::Bytes(b"white".to_vec()));
    field.run();
    field.set(2, HEALTH, Value::Int(3));
    field.run();
    assert_eq!(fur(&mut field).bytes(), b"grey");
    assert_eq!(field.client(1).held[&id(2)].props[&HEALTH], Value::Int(3));
    field.step(1, at(10, 0));
    field.run();
    assert_eq!(fur(&mut field).bytes(), b"white");
    let updates = field.client(1).updates;
    field.run();
    assert_eq!(field.client(1).updates, updates, "once");
}

#[test]
fn an_attach_begins_anew_and_an_end_closes_the_balance() {
    let mut field = Field::new(LIMITS);
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    for times in 1..=3 {
        field.attach(1, 30_000);
        field.run();
        assert_eq!(field.client(1).fresh, times);
        field.check(1);
    }
    let mut out = ViewOut::default();
    field.witnesses.end(id(1), &mut out);
    field.events.extend(out.events);
    assert_eq!(field.balance()[&(id(1), id(2))], (3, 3));
    assert!(field.witnesses.is_empty());
}

#[test]
fn the_deliberate_fault_forgets_to_say_who_left() {
    let mut field = Field::new(ViewLimits { forgets_leaves: true, ..LIMITS });
    field.put(1, at(0, 0));
    field.put(2, at(5, 0));
    field.attach(1, 30_000);
    field.run();
    field.step(2, at(50, 0));
    field.run();
    assert_eq!(field.balance()[&(id(1), id(2))], (1, 0));
}

#[test]
fn after_many_jumps_everybody_sees_exactly_who_is_there() {
    let mut field = Field::new(LIMITS);
    let mut seed = 7_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for n in 1..=12 {
        field.put(n, at(n as i32, 0));
        field.attach(n, 30_000);
    }
    for _ in 0..500 {
        let place = spot(draw(150_000) as i32, draw(150_000) as i32);
        let space = if draw(5) == 0 { CAVE } else { PLAIN };
        field.step(draw(12) + 1, Place { space, ..place });
        field.run();
    }
    (1..=12).for_each(|n| field.check(n));
}
