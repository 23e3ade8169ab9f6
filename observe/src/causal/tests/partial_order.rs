//! The relation, against what follows from journals by hand and the slow way.

#![allow(clippy::unwrap_used)]

use super::support::{A, ALL, B, C, Slow, facts, graph, id, moment};
use crate::causal::{Catalog, EventId, Graph, Relation, Span};
use crate::journals::Journals;
use crate::testing::{CORRUPTIONS, Plan, cases, history};
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_common::rng::Rng;
use proptest::prelude::*;

/// A tells B, B tells C; C is told nothing by A.
fn chain() -> Journals {
    Journals::from_records(vec![
        (A, vec![moment(9, &[], &[(B, 1)], facts(2)), moment(10, &[], &[], facts(1))]),
        (B, vec![moment(1, &[], &[], facts(1)), moment(2, &[(A, 1, 9)], &[(C, 1)], facts(1))]),
        (C, vec![moment(1, &[], &[], facts(1)), moment(1, &[(B, 1, 2)], &[], facts(1))]),
    ])
}

#[test]
fn facts_are_ordered_by_their_process_and_by_bundles_whatever_their_ticks_say() {
    let (_, graph) = graph(&chain());
    let relation = |a, b| graph.relation(a, b).unwrap();
    assert_eq!(relation(id(A, 0), id(A, 1)), Relation::Before);
    assert_eq!(relation(id(A, 1), id(B, 2)), Relation::Before);
    assert_eq!(relation(id(A, 2), id(B, 1)), Relation::Before, "a bundle leaves before it comes");
    assert_eq!(relation(id(A, 0), id(C, 2)), Relation::Before, "by way of B");
    assert_eq!(relation(id(C, 2), id(A, 0)), Relation::After);
    assert_eq!(relation(id(A, 0), id(B, 0)), Relation::Concurrent);
    assert_eq!(relation(id(A, 3), id(C, 2)), Relation::Concurrent, "after the bundle had left");
    assert_eq!(relation(id(C, 0), id(C, 0)), Relation::Same);
    assert_eq!(graph.relation(id(A, 4), id(C, 0)), None, "there is no such fact");
    assert_eq!(graph.relation(id(Node::new(NodeKind::Cell, 9, 1), 0), id(C, 0)), None);
    let leaps = graph.path(id(A, 0), id(C, 2)).unwrap();
    let ways: Vec<(EventId, EventId)> = leaps.iter().map(|leap| (leap.from, leap.to)).collect();
    assert_eq!(ways, [(id(A, 2), id(B, 1)), (id(B, 3), id(C, 1))]);
    assert_eq!(graph.path(id(A, 3), id(C, 2)), None);
}

#[test]
fn two_bundles_of_one_moment_do_not_tell_of_each_other() {
    // A tells B and C at once; only C tells D.
    let journals = Journals::from_records(vec![
        (A, vec![moment(1, &[], &[(B, 1), (C, 1)], Vec::new())]),
        (B, vec![moment(2, &[(A, 1, 1)], &[], facts(1))]),
        (C, vec![moment(2, &[(A, 1, 1)], &[], facts(1))]),
    ]);
    let (_, graph) = graph(&journals);
    assert_eq!(graph.relation(id(A, 0), id(C, 1)), Some(Relation::Before), "sent after it");
    assert_eq!(graph.relation(id(A, 1), id(B, 1)), Some(Relation::Concurrent), "never told to B");
    // What comes in first knows nothing of what comes in after it.
    let journals = Journals::from_records(vec![
        (A, vec![moment(1, &[], &[(C, 1)], facts(1))]),
        (B, vec![moment(1, &[], &[(C, 1)], facts(1))]),
        (C, vec![moment(2, &[(A, 1, 1), (B, 1, 1)], &[], facts(1))]),
    ]);
    let (_, graph) = super::support::graph(&journals);
    assert_eq!(graph.relation(id(B, 0), id(C, 0)), Some(Relation::Concurrent));
    assert_eq!(graph.relation(id(B, 0), id(C, 1)), Some(Relation::Before));
}

#[test]
fn a_later_life_of_a_base_knows_what_its_log_knows() {
    let later = Node::new(NodeKind::Base, 1, 9);
    let journals = Journals::from_records(vec![
        (A, vec![moment(1, &[], &[(C, 1)], facts(1))]),
        (C, vec![moment(1, &[(A, 1, 1)], &[], facts(1))]),
        (later, vec![moment(1, &[], &[], facts(1))]),
    ]);
    let (_, graph) = graph(&journals);
    assert_eq!(graph.relation(id(A, 0), id(later, 0)), Some(Relation::Before));
}

#[test]
fn a_span_tells_the_same_as_the_whole_about_what_lies_in_it() {
    let journals = Journals::from_records(history(Plan { ticks: 60, ..Plan::new(3) }).journals);
    let (catalog, whole) = graph(&journals);
    let span = Span { from: Tick(20), to: Tick(40) };
    let part = Graph::of(&journals, &catalog, span);
    let ids: Vec<EventId> =
        Slow::of(&journals).ids.into_iter().filter(|id| part.holds(*id)).collect();
    assert!(ids.len() > 500 && ids.len() < 20_000, "{}", ids.len());
    let mut rng = Rng(1);
    for _ in 0..2_000 {
        let [a, b] = [0, 1].map(|_| ids[rng.below(ids.len() as u64) as usize]);
        assert_eq!(part.relation(a, b), whole.relation(a, b), "{a} {b}");
    }
}

#[test]
fn what_is_beyond_the_bound_is_left_out_and_told() {
    let journals = Journals::from_records(history(Plan::new(3)).journals);
    let catalog = Catalog::of(&journals);
    let graph = Graph::within(&journals, &catalog, ALL, 300);
    let told = graph.left_out();
    assert!(told.iter().any(|line| line.contains("too much is there")), "{told:?}");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn the_relation_is_what_program_order_and_messages_lead_to(seed in any::<u64>()) {
        let plan = Plan { entities: 4, ticks: 26, busy_until: 20, ..Plan::new(seed) };
        let journals = Journals::from_records(history(plan).journals);
        let (_, graph) = graph(&journals);
        let slow = Slow::of(&journals);
        let mut rng = Rng(seed);
        for _ in 0..12 {
            let a = slow.ids[rng.below(slow.ids.len() as u64) as usize];
            let (future, back) = (slow.future(a), slow.past(a));
            let cut = graph.future_from(a);
            for b in &slow.ids {
                let expected = match (future.contains(b), *b == a) {
                    (_, true) => Relation::Same,
                    (true, false) => Relation::Before,
                    (false, false) if back.contains(b) => Relation::After,
                    (false, false) => Relation::Concurrent,
                };
                prop_assert_eq!(graph.relation(a, *b), Some(expected), "{} {}", a, b);
                let inside = cut.get(&b.node).is_some_and(|first| b.n >= *first);
                prop_assert_eq!(inside, future.contains(b));
                let reached = graph.path(a, *b).is_some();
                prop_assert_eq!(reached, future.contains(b));
            }
        }
    }

    #[test]
    fn whatever_journals_say_the_relation_is_a_partial_order(
        seed in any::<u64>(),
        spoilt in 0_usize..100,
    ) {
        let mut history = history(Plan { entities: 4, ticks: 60, ..Plan::new(seed) });
        let fault = &CORRUPTIONS[spoilt % CORRUPTIONS.len()];
        (fault.apply)(&mut history, &mut Rng(seed));
        let journals = Journals::from_records(history.journals);
        let (_, graph) = graph(&journals);
        let ids = Slow::of(&journals).ids;
        let mut rng = Rng(seed);
        let mut one = || ids[rng.below(ids.len() as u64) as usize];
        for _ in 0..300 {
            let [a, b, c] = [one(), one(), one()];
            let before = |a, b| graph.relation(a, b) == Some(Relation::Before);
            prop_assert!(!before(a, a));
            prop_assert!(!before(a, b) || !before(b, a));
            prop_assert!(!(before(a, b) && before(b, c)) || before(a, c), "{} {} {}", a, b, c);
            prop_assert!(a.node != b.node || a.n >= b.n || before(a, b), "its own journal's order");
            prop_assert_eq!(before(a, b), graph.relation(b, a) == Some(Relation::After));
            let through = graph.past_through(b);
            let inside = through.get(&a.node).is_some_and(|last| a.n <= *last);
            prop_assert_eq!(inside, a == b || before(a, b));
            for leap in graph.path(a, b).unwrap_or_default() {
                prop_assert!(before(leap.from, leap.to), "no message before its sending");
            }
        }
    }
}
