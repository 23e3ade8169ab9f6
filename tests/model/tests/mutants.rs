//! Each broken rule comes to light in the way that it states.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;

use marchland_model::check::{Until, check};
use marchland_model::fate::{BrokenRule, Fate};
use marchland_model::judge::{Visitor, each_rule, judge};
use marchland_model::ownership::{Budget, Ownership, Params};
use marchland_model::{lead, order, ownership, slots, takeover, term, transfer, window};

/// Asserts that every broken rule of a model meets its fate, and that in the same bounds nothing
/// is wrong while all rules are kept.
fn every_fate_is_met<R: BrokenRule>() {
    let mut done = BTreeSet::new();
    for rule in R::all() {
        let begin = std::time::Instant::now();
        match judge(*rule) {
            Ok(found) => println!("{found} | {:.1} s", begin.elapsed().as_secs_f64()),
            Err(why) => panic!("{} {rule:?}: {why}", R::MODEL),
        }
        let unbroken = R::unbroken(rule.bounds());
        if done.insert(format!("{unbroken:?}")) {
            let outcome = check(unbroken, 1, Until::Exhausted);
            println!("    without it | {outcome}");
            assert!(outcome.complete, "{rule:?}: not explored to the end without it");
            assert!(outcome.violations.is_empty(), "{rule:?}: {:#?}", outcome.violations);
        }
    }
}

#[test]
fn every_broken_rule_of_ownership_comes_to_light() {
    every_fate_is_met::<ownership::Mutant>();
}

#[test]
fn every_broken_rule_of_the_window_comes_to_light() {
    every_fate_is_met::<window::Mutant>();
}

#[test]
fn every_broken_rule_of_transfers_comes_to_light() {
    every_fate_is_met::<transfer::Mutant>();
}

#[test]
fn every_broken_rule_of_order_comes_to_light() {
    every_fate_is_met::<order::Mutant>();
}

#[test]
fn every_broken_rule_of_terms_comes_to_light() {
    every_fate_is_met::<term::Mutant>();
}

#[test]
fn every_broken_rule_of_moving_slots_comes_to_light() {
    every_fate_is_met::<slots::Mutant>();
}

#[test]
fn every_broken_rule_of_takeovers_comes_to_light() {
    every_fate_is_met::<takeover::Mutant>();
}

#[test]
fn every_broken_rule_of_leading_comes_to_light() {
    every_fate_is_met::<lead::Mutant>();
}

#[test]
fn harmless_rules_are_harmless_also_when_no_message_is_forgotten() {
    let harmless = ownership::Mutant::ALL.iter().filter(|rule| rule.fate() == Fate::Harmless);
    for rule in harmless {
        let Ownership { params } = rule.bounds();
        let budget = Budget { crashes: 0, ..params.budget };
        let model = Ownership { params: Params { forget: false, budget, ..params } };
        let outcome = check(model, 1, Until::Exhausted);
        println!("{rule:?} | {outcome}");
        assert!(outcome.complete && outcome.violations.is_empty(), "{rule:?}: {outcome}");
    }
}

/// Collects all rules with their fates.
#[derive(Default)]
struct Table(Vec<(&'static str, String, String)>);

impl Visitor for Table {
    fn visit<R: BrokenRule>(&mut self, rule: R) {
        self.0.push((R::MODEL, format!("{rule:?}"), rule.fate().to_string()));
    }
}

#[test]
fn the_readme_lists_every_broken_rule_with_its_fate_and_no_other() {
    let readme = include_str!("../README.md");
    let (_, bugs) = readme.split_once("## Seeded bugs").expect("the section");
    let (bugs, _) = bugs.split_once("\n## ").expect("a section after it");
    let mut rows: BTreeSet<(String, String, String)> = BTreeSet::new();
    for line in bugs.lines() {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, model, rule, notices, _] = fields[..]
            && rule.starts_with('`')
        {
            let fate: Vec<&str> =
                notices.split(", ").map(|f| f.split(" in ").next().unwrap_or(f)).collect();
            rows.insert((model.to_owned(), rule.replace('`', ""), fate.join(", ")));
        }
    }
    let mut table = Table::default();
    each_rule(&mut table);
    let wanted: BTreeSet<_> =
        table.0.iter().map(|(m, r, f)| ((*m).to_owned(), r.clone(), f.clone())).collect();
    assert_eq!(wanted.len(), table.0.len(), "no rule is listed twice");
    let missing: Vec<_> = wanted.difference(&rows).collect();
    let surplus: Vec<_> = rows.difference(&wanted).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}, surplus {surplus:#?}");
}

/// The faults that a model of this protocol has to notice, whatever else it is good for. Each is
/// one of the rules above.
const DEMANDED: &[(&str, &str, &str)] = &[
    ("the base does not check the epoch", "ownership", "NoEpochCheck"),
    ("a client is told before the base's log is synced", "ownership", "AnswersBeforeSync"),
    ("the table of commands does not travel", "ownership", "DedupStaysBehind"),
    ("a restore keeps the epoch", "ownership", "RestoreKeepsEpoch"),
    ("a Grant is not bound to an incarnation", "ownership", "GrantIgnoresIncarnation"),
    ("the target activates without the base", "ownership", "ActivatesOnOffload"),
    ("the source goes on after it froze", "ownership", "SourceRunsOn"),
    ("an idle target sends no first step", "ownership", "FirstStepOptional"),
    ("a transfer is sent before it is durable", "transfer", "SentBeforePersist"),
    ("a transfer is not deduplicated", "transfer", "NoDedup"),
    ("the mark is not durable", "transfer", "MarkNotDurable"),
    ("a transfer is acknowledged before it is durable", "transfer", "AckBeforePersist"),
    ("no fence at the receiver's base", "transfer", "NoFenceAtX"),
    ("no fence at the sender's base", "transfer", "NoFenceAtA"),
    ("a falsely replaced base appends beside its successor", "term", "NoLock"),
    ("epochs fall", "ownership", "EpochFromMessage"),
    ("a later command overtakes", "ownership", "CommandsOneByOne"),
    ("a later transfer overtakes", "transfer", "GapAccepted"),
    ("a later message overtakes", "order", "OwnerPicksAny"),
    ("no window", "window", "NoWindow"),
    ("the durable tick goes on after a verdict", "window", "FencedKeepsAdvancing"),
    ("the durable tick goes on after a loss", "window", "GapOpensWindow"),
    ("a new base opens windows before it was told what is held", "window", "OpensUnlisted"),
    ("a successor does not raise the term", "term", "KeepsOldTerm"),
    ("an old leader's layout is not guarded", "lead", "NoGuard"),
    ("a verdict looks, then writes", "lead", "StoneLooksFirst"),
    ("a registration looks, then writes", "lead", "RegistersAfterLook"),
    ("the target of a move serves before the transaction", "slots", "TargetServesAtOnce"),
    ("the source of a move serves after it gave", "slots", "ServesAfterGave"),
    ("the transaction comes before the target's sync", "slots", "TransactionBeforeSync"),
];

#[test]
fn every_fault_that_is_demanded_is_among_the_broken_rules() {
    let mut table = Table::default();
    each_rule(&mut table);
    for (fault, model, rule) in DEMANDED {
        let found = table.0.iter().find(|(m, r, _)| m == model && r == rule);
        let (_, _, fate) = found.unwrap_or_else(|| panic!("{fault}: no {model} {rule}"));
        let may_be_harmless = *rule == "SourceRunsOn";
        assert!(fate != "harmless" || may_be_harmless, "{fault} is harmless");
    }
}
