use super::*;
use crate::ghosts::kit::FUR;

/// A crowd of movers around one witness, all at different distances.
fn crowd(count: u64, bytes: usize) -> Field {
    let mut field = Field::new(ViewLimits { bytes, ..LIMITS });
    field.put(1, at(0, 0));
    for n in 2..2 + count {
        field.put(n, spot(n as i32 * 100, 0));
    }
    field.attach(1, 60_000);
    field
}

fn walk(field: &mut Field, count: u64, tick: i32) {
    for n in 2..2 + count {
        field.step(n, spot(n as i32 * 100, 50 * (tick % 40)));
    }
}

#[test]
fn a_budget_is_kept_and_everybody_has_a_turn() {
    let (count, bytes) = (300, 256);
    let mut field = crowd(count, bytes);
    let mut last_told: BTreeMap<EntityId, i32> = BTreeMap::new();
    let mut longest = 0;
    let mut told: BTreeMap<EntityId, usize> = BTreeMap::new();
    for tick in 0..600 {
        walk(&mut field, count, tick);
        let before = field.client(1).held.clone();
        field.run();
        for (entity, held) in &field.client(1).held {
            if before.get(entity) != Some(held) {
                longest = longest.max(tick - last_told.insert(*entity, tick).unwrap_or(0));
                *told.entry(*entity).or_default() += usize::from(tick >= 300);
            }
        }
    }
    let client = field.client(1);
    assert_eq!((client.enters, client.leaves), (count as usize, 0));
    assert!(client.sizes.iter().all(|size| *size <= bytes));
    assert!(longest <= 150, "somebody waited {longest} ticks");
    let nearest = told[&id(2)];
    let farthest = told[&id(count + 1)];
    assert!(nearest >= 150 && nearest >= farthest * 10, "{nearest} and {farthest} times");
    assert!(farthest >= 2);
}

#[test]
fn when_the_crowd_rests_the_view_catches_up() {
    let mut field = crowd(300, 256);
    for tick in 0..20 {
        walk(&mut field, 300, tick);
        field.run();
    }
    (0..400).for_each(|_| field.run());
    field.check(1);
    let passes = field.scratch.cost().passes;
    field.run();
    assert_eq!(field.scratch.cost().passes, passes, "and then it has nothing to do");
}

#[test]
fn a_record_larger_than_the_budget_goes_alone() {
    let mut field = crowd(3, 64);
    field.set(2, FUR, Value::Bytes(vec![7; 900]));
    (0..8).for_each(|_| field.run());
    field.check(1);
    let large = field.client(1).sizes.iter().filter(|size| **size > 64).count();
    assert_eq!(large, 1);
}

#[test]
fn a_client_holds_a_bounded_number_and_the_nearest_enter() {
    let count = SEEN_MAX as u64 + 20;
    let mut field = crowd(count, 1 << 16);
    field.run();
    let seen = field.witnesses.seen(id(1), session(1));
    assert_eq!(seen.len(), SEEN_MAX);
    assert_eq!(seen.last(), Some(&id(SEEN_MAX as u64 + 1)), "who is nearest");
    field.looks.remove(id(5));
    field.run();
    assert_eq!(field.witnesses.seen(id(1), session(1)).len(), SEEN_MAX, "one leaves, one enters");
}

#[test]
fn an_update_is_encoded_once_and_copied_to_all_who_see_it() {
    let mut field = Field::new(LIMITS);
    for n in 1..=20 {
        field.put(n, at(n as i32, 0));
        field.attach(n, 60_000);
    }
    field.run();
    for tick in 1..=10 {
        (1..=20).for_each(|n| field.step(n, at(n as i32, tick)));
        field.run();
    }
    let cost = field.scratch.cost();
    assert_eq!((cost.encoded, cost.copied), (20 * 10, 20 * 19 * 10));
    (1..=20).for_each(|n| field.check(n));
}

#[test]
fn a_witness_among_entities_that_rest_has_nothing_to_do() {
    let mut field = crowd(500, 1 << 16);
    field.run();
    let cost = field.scratch.cost();
    (0..10).for_each(|_| field.run());
    let after = field.scratch.cost();
    assert_eq!((after.passes, after.entries), (cost.passes, cost.entries));
    assert_eq!(after.skipped, cost.skipped + 10);
    field.put(9_000, at(500, 500));
    field.run();
    assert_eq!(field.scratch.cost().passes, cost.passes, "far away is not around it");
    field.step(3, spot(300, 50));
    field.run();
    let last = field.scratch.cost();
    assert_eq!((last.passes, last.encoded), (cost.passes + 1, cost.encoded + 1));
}
