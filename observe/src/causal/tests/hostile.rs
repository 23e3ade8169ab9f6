//! What is missing is told, and nothing is said of it.

#![allow(clippy::unwrap_used)]

use super::explain::handoff;
use super::support::{A, B, C, facts, id, moment};
use crate::causal::{Catalog, NoEvent, Relation, explain, past};
use crate::journals::Journals;
use crate::testing::{CORRUPTIONS, Plan, history};
use marchland_common::journal::Record;
use marchland_common::order::{Node, Tick};
use marchland_common::rng::Rng;

fn left_out(journals: &Journals, a: &str, b: &str) -> (Relation, Vec<String>) {
    let catalog = Catalog::of(journals);
    let [a, b] = [a, b].map(|name| catalog.named(name).unwrap());
    let explained = explain(journals, &catalog, a, b).unwrap();
    (explained.relation, explained.left_out)
}

fn records(of: Node) -> Vec<(Node, Vec<Record>)> {
    let whole = handoff(false);
    let read = |process: &crate::journals::Process| {
        let moments = (0..process.len()).filter_map(|at| process.record(at));
        (process.node(), moments.map(|moment| Record::Tick(moment.into_owned())).collect())
    };
    whole.processes().iter().filter(|process| process.node() != of).map(read).collect()
}

#[test]
fn a_process_without_a_journal_is_named_with_what_cannot_be_said() {
    let journals = Journals::from_records(records(A));
    let (relation, told) = left_out(&journals, "base-1:0", "cell-2:5");
    assert_eq!(relation, Relation::Before, "by way of the base it is still known");
    assert!(told.iter().any(|line| line.contains("no journal of cell-1@5")), "{told:?}");
}

#[test]
fn a_gap_between_two_events_is_told() {
    let mut all = records(Node::new(marchland_common::order::NodeKind::Cell, 9, 9));
    for (node, records) in &mut all {
        if *node == C {
            // What the base did in tick 1201 was not kept.
            records.drain(1..3);
            records.insert(1, Record::Gap { from: Tick(1201), to: Tick(1201) });
        }
    }
    let journals = Journals::from_records(all);
    let (relation, told) = left_out(&journals, "base-1:0", "cell-2:5");
    assert_eq!(relation, Relation::Before, "an earlier bundle had told of it");
    let gap = "base-1 has nothing of ticks 1201 to 1201";
    assert!(told.iter().any(|line| line.contains(gap)), "{told:?}");
    let unsent =
        "cell-2 took in 1 bundles of base-1 that its journal does not send here, bundle 41";
    assert!(told.iter().any(|line| line.contains(unsent)), "{told:?}");
}

#[test]
fn moments_that_wait_for_each_other_are_told_and_ordered_all_the_same() {
    let journals = Journals::from_records(vec![
        (A, vec![moment(1, &[(B, 1, 1)], &[(B, 1)], facts(1))]),
        (B, vec![moment(1, &[(A, 1, 1)], &[(A, 1)], facts(1))]),
    ]);
    let (relation, told) = left_out(&journals, "cell-1:1", "cell-2:1");
    assert_eq!(relation, Relation::Before, "one of them had to come first");
    assert!(told.iter().any(|line| line.contains("wait for what they caused themselves")));
}

#[test]
fn an_event_that_is_not_there_is_refused_with_the_numbers_that_are() {
    let journals = handoff(false);
    let catalog = Catalog::of(&journals);
    let told = catalog.named("cell-1:99").unwrap_err();
    assert_eq!(
        told.to_string(),
        "the journal of cell-1@5 has no event 99: its numbers are 0 to 10"
    );
    assert!(matches!(catalog.named("cell-3:0"), Err(NoEvent::NoJournal(_))));
    assert!(past(&journals, &catalog, id(A, 1_000), 40, 10).is_err());
}

#[test]
fn a_window_of_a_journal_keeps_the_numbers_that_the_whole_has() {
    let all = records(Node::new(marchland_common::order::NodeKind::Cell, 9, 9));
    let whole = Journals::from_records(all.clone());
    let cut = all.into_iter().map(|(node, mut records)| {
        let first = if node == A { 4 } else { 0 };
        if node == A {
            records.remove(0);
        }
        (node, first, records)
    });
    let window = Journals::from_windows(cut.collect());
    let (of_whole, of_window) = (Catalog::of(&whole), Catalog::of(&window));
    let held = of_window.named("cell-1:5").unwrap();
    assert_eq!(of_window.fact(&window, held), of_whole.fact(&whole, held));
    assert!(of_window.named("cell-1:3").is_err(), "it is before the window");
}

#[test]
fn the_witness_of_an_audit_is_made_of_events_that_their_names_lead_to() {
    let mut seen = 0;
    for (seed, fault) in CORRUPTIONS.iter().enumerate() {
        let mut history = history(Plan::new(seed as u64));
        if !(fault.apply)(&mut history, &mut Rng(seed as u64)) {
            continue;
        }
        let journals = history.read();
        let verdict = crate::audit(&journals, &crate::AuditOptions::default());
        let catalog = Catalog::of(&journals);
        for line in verdict.violations.iter().flat_map(|violation| &violation.witness) {
            let id = catalog.named(&format!("{}@{}:{}", line.proc, line.inc, line.n)).unwrap();
            if line.kind != "moment" {
                let fact = catalog.fact(&journals, id).unwrap();
                assert_eq!((fact.kind(), fact.text()), (line.kind.as_str(), line.text.clone()));
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}
