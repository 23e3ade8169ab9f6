//! `deep`: the larger runs, as rows of a table. `mutants`: each broken rule and the shortest way
//! to what it breaks. `trace MODEL RULE`: that way, action by action.
#![allow(clippy::print_stdout)]

use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;

use marchland_model::check::{Until, check};
use marchland_model::explore::{Converges, convergence, shortest_to};
use marchland_model::fate::Fate;
use marchland_model::ownership::Ownership;
use marchland_model::runs::{self, Run};
use marchland_model::{ownership, transfer, window};
use stateright::Model;

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
    let mut fine = true;
    let all = |short: Vec<_>, deep: Vec<_>| short.into_iter().chain(deep).collect::<Vec<_>>();
    let ownership = all(runs::ownership_short(), runs::ownership_deep());
    fine &= safety_rows("ownership", &ownership);
    fine &= safety_rows("window", &[runs::window_short(), runs::window_deep()].concat());
    let transfer = [runs::transfer_short(), runs::transfer_deep()].concat();
    fine &= safety_rows("transfer", &transfer);
    println!("\n| model | run | states | transitions | settled | stuck | time |");
    println!("|---|---|---|---|---|---|---|");
    fine &= convergence_rows("ownership", &ownership);
    fine &= convergence_rows("transfer", &transfer);
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn safety_rows<M>(model: &str, runs: &[Run<M>]) -> bool
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let mut fine = true;
    for (name, run) in runs {
        let outcome = check(run.clone(), THREADS, Until::Generated(DEEP_STATES_MAX));
        println!("| {model} | {name} | {outcome} |");
        for (property, trace) in &outcome.violations {
            println!("{property}: {trace}");
        }
        fine &= outcome.violations.is_empty() && outcome.unseen.is_empty();
    }
    fine
}

fn convergence_rows<M>(model: &str, runs: &[Run<M>]) -> bool
where
    M: Converges,
    M::State: Clone + Debug + Eq + Hash,
{
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

fn each_mutant(wanted: Option<(&str, &str)>) -> ExitCode {
    let mut shown = 0;
    for mutant in ownership::Mutant::ALL {
        let model = Ownership { params: mutant.bounds() };
        shown += show("ownership", &format!("{mutant:?}"), mutant.fate(), &model, wanted);
    }
    for mutant in window::Mutant::ALL {
        shown += show("window", &format!("{mutant:?}"), mutant.fate(), &mutant.bounds(), wanted);
    }
    for mutant in transfer::Mutant::ALL {
        shown += show("transfer", &format!("{mutant:?}"), mutant.fate(), &mutant.bounds(), wanted);
    }
    if shown == 0 {
        eprintln!("no such model or rule; `mutants` lists them");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn show<M>(name: &str, rule: &str, fate: Fate, model: &M, wanted: Option<(&str, &str)>) -> usize
where
    M: Model,
    M::State: Clone + Eq + Hash,
    M::Action: Clone + Debug,
{
    if wanted.is_some_and(|wanted| wanted != (name, rule)) {
        return 0;
    }
    let Fate::Violates(properties) = fate else {
        println!("| {name} | {rule} | {fate:?} | |");
        return 1;
    };
    for property in properties {
        let holds = model.property(property).condition;
        let way = shortest_to(model, SEARCH_STATES_MAX, |state| !holds(model, state));
        let steps = way.as_ref().map_or("not found".to_owned(), |way| way.len().to_string());
        println!("| {name} | {rule} | {property} | {steps} |");
        if wanted.is_some() {
            way.into_iter().flatten().for_each(|action| println!("{action:?}"));
        }
    }
    1
}
