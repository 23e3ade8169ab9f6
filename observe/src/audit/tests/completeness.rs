//! What cannot be seen is never passed.

use super::*;
use crate::testing::forget;
use marchland_common::journal::{Logged, Record};
use marchland_common::order::{EntityId, Node, NodeKind, Seq, Tick};
use std::collections::BTreeMap;

pub(super) fn incomplete(history: &History, because: &str) {
    let verdict = verdict(history);
    assert_eq!(verdict.verdict, Outcome::Incomplete, "{}", told(&verdict));
    let found = verdict.incomplete.iter().any(|reason| reason.contains(because));
    assert!(found, "no `{because}` in {:?}", verdict.incomplete);
}

/// Incomplete, or faultless besides: nobody is accused for what is missing.
fn accuses_nobody(history: &History) -> Result<(), TestCaseError> {
    let verdict = verdict(history);
    prop_assert!(verdict.violated().is_empty(), "{}", told(&verdict));
    prop_assert_eq!(verdict.verdict, Outcome::Incomplete);
    Ok(())
}

proptest! {
    #![proptest_config(crate::testing::cases(48))]

    #[test]
    fn whichever_journal_is_missing_nobody_is_accused(
        seed in any::<u64>(),
        which in 0_usize..6,
        restart in proptest::option::of(10_u64..90),
    ) {
        let mut history = history(Plan { restart_at: restart, ..Plan::new(seed) });
        history.journals.remove(which);
        accuses_nobody(&history)?;
    }

    #[test]
    fn whichever_ticks_are_missing_nobody_is_accused(
        seed in any::<u64>(),
        which in 0_usize..6,
        from in 2_u64..120,
        len in 1_u64..60,
        restart in proptest::option::of(10_u64..90),
    ) {
        let mut history = history(Plan { restart_at: restart, ..Plan::new(seed) });
        lose_ticks(&mut history.journals[which].1, from, from + len - 1);
        accuses_nobody(&history)?;
    }
}

/// Leaves ticks out, both ends included, and says so.
fn lose_ticks(records: &mut Vec<Record>, from: u64, to: u64) {
    let in_gap = |record: &Record| match record {
        Record::Tick(tick) => (from..=to).contains(&tick.tick.0),
        _ => false,
    };
    let at = records.iter().position(in_gap).unwrap_or(1);
    records.retain(|record| !in_gap(record));
    records.insert(at, Record::Gap { from: Tick(from), to: Tick(to) });
}

fn without(mut history: History, kind: NodeKind) -> (History, Node) {
    let at = history.journals.iter().position(|(node, _)| node.name.kind == kind).unwrap();
    let (node, _) = history.journals.remove(at);
    (history, node)
}

#[test]
fn nothing_at_all_is_incomplete() {
    let verdict = audit(&Journals::from_records(Vec::new()), &AuditOptions::default());
    assert_eq!(verdict.verdict, Outcome::Incomplete);
    assert!(verdict.incomplete.iter().any(|reason| reason == "there is no journal"));
}

#[test]
fn a_missing_journal_of_a_server_is_told_and_accuses_nobody() {
    for kind in [NodeKind::Cell, NodeKind::Base] {
        for seed in 0..10 {
            let (history, node) = without(history(Plan::new(seed)), kind);
            incomplete(&history, &format!("{node} took part and left no journal"));
        }
    }
}

#[test]
fn a_run_whose_clients_left_no_journal_is_incomplete_unless_that_was_said() {
    let (history, _) = without(history(Plan::new(1)), NodeKind::Client);
    incomplete(&history, "`view-never-back` was never checked");
    incomplete(&history, "clients of 2 sessions left no journal");
    let options = options(&history).without(&AuditOptions::CLIENTS);
    let verdict = audit(&history.read(), &options);
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
}

#[test]
fn a_journal_that_breaks_off_is_incomplete_unless_its_life_was_killed() {
    let mut history = history(Plan::new(2));
    for (_, records) in &mut history.journals {
        records.retain(|record| !matches!(record, Record::End { .. }));
    }
    incomplete(&history, "neither ended in order nor is known to be killed");
    history.killed = history.journals.iter().map(|(node, _)| *node).collect();
    let verdict = verdict(&history);
    assert!(verdict.violated().is_empty(), "{}", told(&verdict));
    assert!(!verdict.incomplete.iter().any(|reason| reason.contains("ended in order")));
}

#[test]
fn ticks_that_a_journal_could_not_keep_are_incomplete_and_accuse_nobody() {
    for at in 0..5 {
        let mut history = history(Plan::new(at));
        lose_ticks(&mut history.journals[at as usize].1, 40, 59);
        incomplete(&history, "could not keep ticks 40 to 59");
    }
}

#[test]
fn a_fault_is_a_fault_whatever_else_is_missing() {
    let fence = CORRUPTIONS.iter().find(|c| c.name == "a base accepts another life").unwrap();
    let (history, _) = without(corrupted(fence, 5), NodeKind::Client);
    let verdict = verdict(&history);
    assert_eq!(verdict.verdict, Outcome::Fail);
    assert!(!verdict.incomplete.is_empty());
}

#[test]
fn an_invariant_that_was_never_checked_is_told_unless_it_is_out_of_scope() {
    let mut history = history(Plan::new(3));
    // Ghosts were sent; what became of them is not told.
    forget(&mut history, |event| {
        matches!(event, Event::GhostApplied { .. } | Event::GhostEnded { .. })
    });
    incomplete(&history, "`ghost-equals` was never checked");
    let options = options(&history).without(&AuditOptions::GHOSTS);
    let verdict = audit(&history.read(), &options);
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
}

#[test]
fn a_scope_that_names_no_invariant_is_told() {
    let history = history(Plan::new(1));
    let options = options(&history).without(&["timer-twice"]);
    let verdict = audit(&history.read(), &options);
    assert_eq!(verdict.verdict, Outcome::Incomplete);
    assert!(verdict.incomplete[0].contains("timer-twice"));
}

#[test]
fn a_base_that_goes_on_from_a_log_of_nobody_is_incomplete_and_accuses_nobody() {
    let mut history = history(Plan { restart_at: Some(40), ..Plan::new(4) });
    let old = *history.killed.first().unwrap();
    history.journals.retain(|(node, _)| *node != old);
    incomplete(&history, "went on from a log whose writer left no journal");
}

#[test]
fn a_log_that_is_not_there_is_told_unless_nobody_asked_for_it() {
    let mut history = history(Plan::new(6));
    let gone = history.logs.remove(0);
    incomplete(&history, &format!("the log of {} is not here", gone.base));
    history.logs = vec![history.logs[0].clone(), history.logs[0].clone()];
    incomplete(&history, "there is more than one log of base-2");
    history.logs.clear();
    incomplete(&history, "`log-is-whole` was never checked");
    let options = options(&history).without(&AuditOptions::LOGS);
    let verdict = audit(&history.read(), &options);
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
}

#[test]
fn a_log_that_is_ahead_of_a_life_that_was_killed_accuses_nobody_and_one_behind_does() {
    let mut history = history(Plan { restart_at: Some(40), ..Plan::new(4) });
    let base = history.killed.first().unwrap().name;
    let log = history.logs.iter_mut().find(|log| log.base == base).unwrap();
    let entity = *log.account.end.iter().find(|(_, kept)| !kept.ended).unwrap().0;
    let kept = log.account.end.get_mut(&entity).unwrap();
    kept.seq.0 += 3;
    kept.digest ^= 1;
    let ahead = verdict(&history);
    assert_eq!(ahead.violated(), Vec::<&str>::new(), "{}", told(&ahead));
    let log = history.logs.iter_mut().find(|log| log.base == base).unwrap();
    log.account.end.get_mut(&entity).unwrap().seq.0 -= 4;
    let behind = verdict(&history);
    assert_eq!(behind.violated(), ["image-is-lineage"], "{}", told(&behind));
}

/// The last step that a killed base accepted of an entity whose owner is replaced by its next life.
fn last_before_the_next_owner(history: &History) -> Option<(EntityId, Seq)> {
    let killed = *history.killed.first().unwrap();
    let events = |of: &dyn Fn(Node) -> bool| -> Vec<Event> {
        let lives = history.journals.iter().filter(|(node, _)| of(*node));
        let ticks = lives.flat_map(|(_, records)| records).filter_map(|record| match record {
            Record::Tick(tick) => Some(tick.events.clone()),
            _ => None,
        });
        ticks.flatten().collect()
    };
    let next = events(&|node| node.name == killed.name && node != killed);
    let mut seen = BTreeMap::new();
    for event in events(&|node| node == killed) {
        if let Event::Accepted { entity, seq, .. } = event {
            seen.insert(entity, seq);
        }
    }
    seen.into_iter().find(|(id, last)| {
        let first = next.iter().find_map(|event| match event {
            Event::OwnerChanged { entity, seq, .. } if entity == id => Some(*seq),
            Event::Accepted { entity, .. } if entity == id => Some(Seq(0)),
            _ => None,
        });
        first == Some(*last)
    })
}

#[test]
fn a_step_that_only_the_log_of_a_killed_base_tells_of_is_no_gap_and_one_that_nobody_tells_of_is() {
    let plans = (0..300).map(|seed| Plan { restart_at: Some(30 + seed % 40), ..Plan::new(seed) });
    let mut found = plans.map(history).filter_map(|history| {
        let step = last_before_the_next_owner(&history)?;
        Some((history, step))
    });
    let (mut history, step) = found.next().expect("an owner is replaced soon after some restart");
    forget(
        &mut history,
        |event| matches!(event, Event::Accepted { entity, seq, .. } if (*entity, *seq) == step),
    );
    let told_of = verdict(&history);
    assert!(!told_of.violated().contains(&"one-chain"), "{}", told(&told_of));
    for log in &mut history.logs {
        log.account.records.retain(|(_, said)| {
            !matches!(said, Logged::Step { entity, seq, .. } if (*entity, *seq) == step)
        });
    }
    let lost = verdict(&history);
    assert!(lost.violated().contains(&"one-chain"), "{}", told(&lost));
}

#[test]
fn what_a_checkpoint_stands_for_is_judged_by_its_image() {
    let mut history = history(Plan::new(8));
    for log in &mut history.logs {
        let account = &mut log.account;
        let middle = account.records.len() / 2;
        account.through = account.records[middle].0;
        let mut first = account.clone();
        first.records.truncate(middle + 1);
        crate::testing::image(&mut first);
        account.begin = first.end;
        account.records.drain(..=middle);
    }
    let verdict = verdict(&history);
    assert_eq!(verdict.verdict, Outcome::Pass, "{}", told(&verdict));
}

#[test]
fn the_verdict_reads_as_the_documented_json() {
    let twice = CORRUPTIONS.iter().find(|c| c.name == "a command runs twice").unwrap();
    let json = serde_json::to_value(verdict(&corrupted(twice, 1))).unwrap();
    assert_eq!(json["verdict"], "fail");
    assert_eq!(json["invariants"]["command-once"]["violations"], 1);
    assert!(json["invariants"]["command-once"]["checked"].as_u64().unwrap() > 1);
    let violation = json["violations"].as_array().unwrap();
    let violation = violation.iter().find(|v| v["invariant"] == "command-once").unwrap();
    assert!(violation["entity"].is_u64());
    let witness = violation["witness"].as_array().unwrap();
    assert_eq!(witness.len(), 3);
    for field in ["proc", "inc", "tick", "n", "kind", "entity", "epoch", "seq", "msg", "peer"] {
        assert!(witness[0].get(field).is_some(), "{field}");
    }
    assert_eq!(witness[0]["kind"], "command_run");
    let passed = serde_json::to_value(verdict(&history(Plan::new(1)))).unwrap();
    let keys: Vec<&str> = passed.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["invariants", "verdict", "violations"]);
}
