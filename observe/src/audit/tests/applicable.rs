//! What did not happen needs no check; what might have does.

use super::completeness::incomplete;
use super::*;
use crate::testing::forget;
use marchland_common::order::NodeKind;

fn passes_without(history: &History, names: &[(&str, &str)]) {
    let verdict = verdict(history);
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
    let not: Vec<(&str, &str)> =
        verdict.not_applicable.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
    assert_eq!(not, names);
}

/// The history of a cluster that nobody played in.
fn without_clients(seed: u64) -> History {
    let mut history = history(Plan::new(seed));
    history.journals.retain(|(node, _)| node.name.kind != NodeKind::Client);
    forget(&mut history, |event| {
        matches!(
            event,
            Event::SessionOpened { .. }
                | Event::SessionClosed { .. }
                | Event::CommandQueued { .. }
                | Event::CommandRun { .. }
                | Event::CommandConfirmed { .. }
                | Event::CommandAnswered { .. }
                | Event::Entered { .. }
                | Event::Left { .. }
                | Event::ViewRestarted { .. }
        )
    });
    history
}

#[test]
fn a_cluster_that_nobody_played_in_passes_and_says_what_had_nothing_to_check() {
    let names = [
        ("aoi-balance", "no client played"),
        ("command-once", "no command was sent"),
        ("same-answer", "no command was sent"),
        ("view-never-back", "no client played"),
    ];
    passes_without(&without_clients(1), &names);
}

#[test]
fn timers_that_never_fired_have_nothing_to_check() {
    let mut history = history(Plan::new(3));
    forget(&mut history, |event| matches!(event, Event::TimerFired { .. }));
    passes_without(&history, &[("timer-once", "no timer fired")]);
}

#[test]
fn one_trace_of_a_thing_is_enough_to_ask_for_its_checks() {
    let whole = history(Plan::new(1));
    let trace = whole.places(|event| matches!(event, Event::SessionOpened { .. }))[0];
    let Record::Tick(tick) = &whole.journals[trace.0].1[trace.1] else { panic!("no tick") };
    let mut traced = without_clients(1);
    traced.tick_mut(trace.0, trace.1).events.push(tick.events[trace.2].clone());
    incomplete(&traced, "`view-never-back` was never checked");
    incomplete(&traced, "`aoi-balance` was never checked");
    let not = verdict(&traced).not_applicable;
    assert_eq!(not.keys().collect::<Vec<_>>(), ["command-once", "same-answer"], "none was sent");
}

#[test]
fn journals_that_are_not_all_there_prove_nothing() {
    let mut history = without_clients(2);
    history.journals.remove(0);
    let verdict = verdict(&history);
    assert_eq!(verdict.not_applicable, Default::default());
    incomplete(&history, "`command-once` was never checked");
}

#[test]
fn a_run_in_which_nothing_happened_never_passes() {
    let mut history = history(Plan { drops: false, ..Plan::new(1) });
    history.journals.retain(|(node, _)| node.name.kind != NodeKind::Client);
    forget(&mut history, |_| true);
    history.logs.clear();
    incomplete(&history, "`single-owner` was never checked");
    incomplete(&history, "`census` was never checked");
    let mut silent = history.clone();
    for (_, records) in &mut silent.journals {
        records.retain(|record| !matches!(record, Record::Tick(_)));
    }
    incomplete(&silent, "`fifo` was never checked");
}
