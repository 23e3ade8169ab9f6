//! `deep`: the larger runs, as rows of a table. `mutants`: each broken rule and the shortest way
//! to what it breaks. `trace MODEL RULE`: that way, action by action.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use marchland_model::check::{Checkable, Until, check};
use marchland_model::explore::{convergence, shortest_to};
use marchland_model::fate::{BrokenRule, Fate};
use marchland_model::judge::{Visitor, each_rule};
use marchland_model::runs::{self, Run};
use stateright::Model as _;

/// Generated states at which a deep run is cut; its row says so.
const DEEP_STATES_MAX: usize = 60_000_000;
/// States up to which convergence is asked for: every state stays in memory.
const CONVERGENCE_STATES_MAX: usize = 2_000_000;
/// States that the search for a shortest way visits.
const SEARCH_STATES_MAX: usize = 2_000_000;
const THREADS: usize = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["deep"] => deep(),
        ["mutants"] => each_mutant(None),
        ["trace", model, rule] => each_mutant(Some((model, rule))),
        _ => {
            eprintln!("usage: marchland-model deep | mutants | trace MODEL RULE");
            ExitCode::from(2)
        }
    }
}

fn deep() -> ExitCode {
    println!("| model | run | unique states | generated | explored | time | violations |");
    println!("|---|---|---|---|---|---|---|");
    let ownership = [runs::ownership_short(), runs::ownership_deep()].concat();
    let window = [runs::window_short(), runs::window_deep()].concat();
    let settling = [runs::window_settling_short(), runs::window_settling_deep()].concat();
    let transfer = [runs::transfer_short(), runs::transfer_deep()].concat();
    let order = [runs::order_short(), runs::order_deep()].concat();
    let term = [runs::term_short(), runs::term_deep()].concat();
    let slots = [runs::slots_short(), runs::slots_deep()].concat();
    let takeover = [runs::takeover_short(), runs::takeover_deep()].concat();
    let lead = [runs::lead_short(), runs::lead_deep()].concat();
    let mut fine = safety_rows("ownership", &ownership);
    fine &= safety_rows("window", &window);
    fine &= safety_rows("transfer", &transfer);
    fine &= safety_rows("order", &order);
    fine &= safety_rows("term", &term);
    fine &= safety_rows("slots", &slots);
    fine &= safety_rows("takeover", &takeover);
    fine &= safety_rows("lead", &lead);
    println!("\n| model | run | states | transitions | settled | stuck | time |");
    println!("|---|---|---|---|---|---|---|");
    fine &= convergence_rows("ownership", &ownership);
    fine &= convergence_rows("window", &settling);
    fine &= convergence_rows("transfer", &transfer);
    fine &= convergence_rows("order", &order);
    fine &= convergence_rows("term", &term);
    fine &= convergence_rows("slots", &slots);
    fine &= convergence_rows("takeover", &takeover);
    fine &= convergence_rows("lead", &lead);
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn safety_rows<M: Checkable>(model: &str, runs: &[Run<M>]) -> bool {
    let mut fine = true;
    for (name, run) in runs {
        let outcome = check(run.clone(), THREADS, Until::Generated(DEEP_STATES_MAX));
        println!("| {model} | {name} | {outcome} |");
        for (property, trace) in &outcome.violations {
            println!("{property}: {trace}");
        }
        if !outcome.unseen.is_empty() {
            println!("never {:?}", outcome.unseen);
        }
        fine &= outcome.violations.is_empty() && outcome.unseen.is_empty();
    }
    fine
}

fn convergence_rows<M: Checkable>(model: &str, runs: &[Run<M>]) -> bool {
    let mut fine = true;
    for (name, run) in runs {
        let Some(found) = convergence(run, CONVERGENCE_STATES_MAX) else {
            println!("| {model} | {name} | more than {CONVERGENCE_STATES_MAX} | | | not asked | |");
            continue;
        };
        println!(
            "| {model} | {name} | {} | {} | {} | {} | {:.1} s |",
            found.states,
            found.transitions,
            found.settled,
            found.stuck,
            found.elapsed.as_secs_f64()
        );
        if let Some(state) = &found.first_stuck {
            println!("{state:#?}");
        }
        fine &= found.stuck == 0;
    }
    fine
}

/// Prints each rule, or the one that is wanted with every action on the way.
struct Ways<'a> {
    wanted: Option<(&'a str, &'a str)>,
    shown: usize,
}

impl Visitor for Ways<'_> {
    fn visit<R: BrokenRule>(&mut self, rule: R) {
        let (model, name) = (R::MODEL, format!("{rule:?}"));
        if self.wanted.is_some_and(|wanted| wanted != (model, name.as_str())) {
            return;
        }
        self.shown += 1;
        let Fate::Violates(properties) = rule.fate() else {
            println!("| {model} | `{name}` | {} |", rule.fate());
            return;
        };
        let bounds = rule.bounds();
        let mut notices = Vec::new();
        for property in properties {
            let holds = bounds.property(property).condition;
            let way = shortest_to(&bounds, SEARCH_STATES_MAX, |state| !holds(&bounds, state));
            let steps = way.as_ref().map_or("not found".to_owned(), |way| way.len().to_string());
            notices.push(format!("{property} in {steps}"));
            if self.wanted.is_some() {
                way.into_iter().flatten().for_each(|action| println!("{action:?}"));
            }
        }
        println!("| {model} | `{name}` | {} |", notices.join(", "));
    }
}

fn each_mutant(wanted: Option<(&str, &str)>) -> ExitCode {
    println!("| model | broken rule | what notices it |\n|---|---|---|");
    let mut ways = Ways { wanted, shown: 0 };
    each_rule(&mut ways);
    if ways.shown == 0 {
        eprintln!("no such model or rule; `mutants` lists them");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
