//! Each broken rule comes to light in the way that it states.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use marchland_model::check::{Until, check};
use marchland_model::explore::convergence;
use marchland_model::fate::Fate;
use marchland_model::ownership::{Budget, Ownership, Params};
use marchland_model::{ownership, transfer, window};
use stateright::Model;

const STATES_MAX: usize = 1_000_000;

/// Asserts what a checker alone can tell of a fate.
fn meets<M>(rule: &dyn Debug, fate: Fate, model: &M)
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    match fate {
        Fate::Violates(properties) => {
            for property in properties {
                let outcome = check(model.clone(), 1, Until::Violated(property));
                println!("{rule:?} | {property} | {} states", outcome.unique_states);
                let noticed = outcome.violations.contains_key(property);
                assert!(noticed, "{rule:?}: {property} did not notice it");
            }
        }
        Fate::NeverSees(sight) => {
            let outcome = check(model.clone(), 1, Until::Exhausted);
            println!("{rule:?} | {outcome}");
            assert!(outcome.complete && outcome.unseen.contains(sight), "{rule:?}: {sight}");
        }
        Fate::Harmless => {
            let outcome = check(model.clone(), 1, Until::Exhausted);
            println!("{rule:?} | {outcome}");
            assert!(outcome.complete, "{rule:?}: not explored to the end");
            assert!(outcome.violations.is_empty(), "{rule:?}: {:#?}", outcome.violations);
        }
        Fate::GetsStuck => {}
    }
}

#[test]
fn every_broken_rule_of_ownership_comes_to_light() {
    for rule in ownership::Mutant::ALL {
        let model = Ownership { params: rule.bounds() };
        meets(rule, rule.fate(), &model);
        if !matches!(rule.fate(), Fate::Violates(_)) {
            let found = convergence(&model, STATES_MAX).unwrap();
            println!("{rule:?} | {} of {} states stuck", found.stuck, found.states);
            assert_eq!(found.stuck > 0, rule.fate() == Fate::GetsStuck, "{rule:?}");
        }
    }
}

#[test]
fn harmless_rules_are_harmless_also_when_no_message_is_forgotten() {
    let harmless = ownership::Mutant::ALL.iter().filter(|rule| rule.fate() == Fate::Harmless);
    for rule in harmless {
        let bounds = rule.bounds();
        let budget = Budget { crashes: 0, ..bounds.budget };
        let model = Ownership { params: Params { forget: false, budget, ..bounds } };
        meets(rule, Fate::Harmless, &model);
    }
}

#[test]
fn every_broken_rule_of_the_window_comes_to_light() {
    for rule in window::Mutant::ALL {
        meets(rule, rule.fate(), &rule.bounds());
    }
}

#[test]
fn every_broken_rule_of_transfers_comes_to_light() {
    for rule in transfer::Mutant::ALL {
        meets(rule, rule.fate(), &rule.bounds());
    }
}

#[test]
fn the_same_bounds_without_the_broken_rule_are_free_of_violations() {
    let mut done = BTreeSet::new();
    for rule in ownership::Mutant::ALL {
        let params = Params { mutant: ownership::Mutant::None, forget: true, ..rule.bounds() };
        if done.insert(format!("{params:?}")) {
            meets(rule, Fate::Harmless, &Ownership { params });
        }
    }
    for rule in window::Mutant::ALL {
        let model = window::Window { mutant: window::Mutant::None, ..rule.bounds() };
        if done.insert(format!("{model:?}")) {
            meets(rule, Fate::Harmless, &model);
        }
    }
    for rule in transfer::Mutant::ALL {
        let model = transfer::Transfer { mutant: transfer::Mutant::None, ..rule.bounds() };
        if done.insert(format!("{model:?}")) {
            meets(rule, Fate::Harmless, &model);
        }
    }
}
