//! The audit is tested with histories that are right, and with the same histories with one fact
//! changed: the first must pass, each of the others must fail by the name of its invariant.

#![allow(clippy::unwrap_used)]

mod applicable;
mod completeness;
mod cost;
mod hostile;

use super::*;
use crate::testing::{CORRUPTIONS, Corruption, History, Plan, history};
use marchland_common::journal::{Event, Record};
use marchland_common::rng::Rng;
use proptest::prelude::*;

fn options(history: &History) -> AuditOptions {
    AuditOptions { killed: history.killed.clone(), answer_within: 100, ..AuditOptions::default() }
}

fn verdict(history: &History) -> Verdict {
    audit(&history.read(), &options(history))
}

fn told(verdict: &Verdict) -> String {
    let texts = verdict.violations.iter().map(|v| format!("{}: {}", v.invariant, v.text));
    texts.chain(verdict.incomplete.iter().cloned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_right_history_passes_and_checks_everything() {
    let verdict = verdict(&history(Plan::new(1)));
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
    assert_eq!(verdict.invariants.len(), invariants().count());
    assert!(verdict.invariants.values().all(|count| count.checked > 0 && count.violations == 0));
}

#[test]
fn a_history_in_which_a_base_comes_back_passes() {
    for seed in 0..20 {
        let plan = Plan { restart_at: Some(20 + seed), ..Plan::new(seed) };
        let verdict = verdict(&history(plan));
        assert_eq!(verdict.violated(), Vec::<&str>::new(), "{seed}: {}", told(&verdict));
    }
}

#[test]
#[ignore = "the model's cells run on beyond their window while a base is lost"]
fn a_history_in_which_a_base_is_lost_and_another_goes_on_from_its_log_passes() {
    for seed in 0..20 {
        let plan = Plan::with_loss(seed);
        // It comes back, or it never does.
        for lost in [plan.lost, plan.lost.map(|(at, _)| (at, u64::MAX))] {
            let history = history(Plan { lost, ..plan });
            let verdict = verdict(&history);
            assert_eq!(verdict.violated(), Vec::<&str>::new(), "{seed}: {}", told(&verdict));
            let taken = history.places(|event| matches!(event, Event::SlotAdopted { .. }));
            assert!(!taken.is_empty());
        }
    }
}

/// At the end a slot is frozen, or has just been taken.
#[test]
fn a_history_that_ends_while_a_slot_moves_passes_and_its_logs_are_compared() {
    for moves in [&[(24, 0), (200, 0)][..], &[(199, 0)], &[(24, 1), (199, 1)]] {
        let history = history(Plan { moves, ..Plan::new(4) });
        let told_of = verdict(&history);
        assert_eq!(told_of.verdict, Outcome::Pass, "{moves:?}: {}", told(&told_of));
        let images = told_of.invariants["image-is-lineage"].checked;
        assert!(images >= 12, "{images}");
        let slots: Vec<usize> = history.logs.iter().map(|log| log.account.slots.len()).collect();
        assert_eq!(slots.iter().sum::<usize>(), 2, "{slots:?}");
    }
}

/// A base that comes back with a slot that it gave away, and says that it goes on with it.
#[test]
fn a_base_that_comes_back_with_what_it_gave_away_is_found() {
    let plan = Plan { restart_at: Some(40), ..Plan::new(9) };
    let mut history = history(plan);
    let slot = marchland_common::order::SlotId(0);
    let term = marchland_common::order::Term(1_001);
    for place in history.places(|event| matches!(event, Event::Recovered { .. })) {
        let kept = Event::SlotKept { slot, term, frozen_for: None };
        history.tick_mut(place.0, place.1).events.push(kept);
    }
    let verdict = verdict(&history);
    assert!(verdict.violated().contains(&"one-base-serves"), "{}", told(&verdict));
}

proptest! {
    #![proptest_config(crate::testing::cases(24))]

    #[test]
    fn no_right_history_is_accused(
        seed in any::<u64>(),
        restart in proptest::option::of(10_u64..90),
    ) {
        let verdict = verdict(&history(Plan { restart_at: restart, ..Plan::new(seed) }));
        prop_assert!(verdict.violated().is_empty(), "{}", told(&verdict));
    }
}

/// A base that comes back without something that it had said to be durable.
#[test]
fn a_base_that_loses_what_was_durable_is_found() {
    let plan = Plan { restart_at: Some(40), ..Plan::new(9) };
    let mut history = history(plan);
    for (_, records) in &mut history.journals {
        for record in records {
            let Record::Tick(tick) = record else { continue };
            for event in &mut tick.events {
                if let Event::Recovered { lsn } = event {
                    lsn.0 -= 40;
                }
            }
        }
    }
    let verdict = verdict(&history);
    assert!(verdict.violated().contains(&"confirmed-is-durable"), "{}", told(&verdict));
    let lost = verdict.violations.iter().any(|v| v.text.contains("gone after a restart"));
    assert!(lost, "{}", told(&verdict));
}

/// Applies a fault to histories of rising seeds until one has a place for it.
fn corrupted(corruption: &Corruption, seed: u64) -> History {
    for seed in seed.. {
        for plan in [Plan::new(seed), Plan::with_loss(seed)] {
            let mut history = history(plan);
            if (corruption.apply)(&mut history, &mut Rng(seed)) {
                return history;
            }
        }
    }
    unreachable!("there are seeds enough")
}

#[test]
fn every_fault_is_found_by_the_invariant_that_it_breaks() {
    for corruption in CORRUPTIONS {
        for seed in [3, 1_000, 77_000] {
            let verdict = verdict(&corrupted(corruption, seed));
            let (name, invariant) = (corruption.name, corruption.invariant);
            let violated = verdict.violated();
            assert!(violated.contains(&invariant), "{name} ({seed}): {violated:?}");
            assert_eq!(verdict.verdict, Outcome::Fail);
            let of_it = verdict.violations.iter().find(|v| v.invariant == invariant).unwrap();
            assert!(!of_it.text.is_empty(), "{name}");
        }
    }
}

#[test]
fn every_invariant_is_broken_by_some_fault() {
    for invariant in invariants() {
        let broken = CORRUPTIONS.iter().any(|corruption| corruption.invariant == invariant.name);
        assert!(broken, "nothing shows that `{}` can fail", invariant.name);
        assert!(!invariant.rule.is_empty());
    }
}
