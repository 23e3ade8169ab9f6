//! The protocol as it is: nothing is violated, everything worth seeing is seen, nothing gets stuck.
#![allow(clippy::print_stdout)]

use marchland_model::check::{Checkable, Until, check};
use marchland_model::explore::views;
use marchland_model::judge::settles;
use marchland_model::ownership::{Budget, Cluster, Ownership, Params};
use marchland_model::runs::{self, Run};

const STATES_MAX: usize = 1_000_000;

fn holds_in<M: Checkable>(runs: Vec<Run<M>>) {
    for (name, model) in runs {
        let outcome = check(model, 1, Until::Exhausted);
        println!("{name} | {outcome}");
        assert!(outcome.complete, "{name}: not explored to the end");
        assert!(outcome.violations.is_empty(), "{name}: {:#?}", outcome.violations);
        assert!(outcome.unseen.is_empty(), "{name}: never {:?}", outcome.unseen);
    }
}

fn settles_in<M: Checkable>(runs: Vec<Run<M>>) {
    for (name, model) in runs {
        let found = settles(&model).unwrap_or_else(|why| panic!("{name}: {why}"));
        println!("{name} | {found}");
    }
}

#[test]
fn ownership_keeps_every_promise_within_the_short_bounds() {
    holds_in(runs::ownership_short());
}

#[test]
fn from_every_state_ownership_can_settle_without_a_further_fault() {
    settles_in(runs::ownership_short());
}

#[test]
fn the_window_stops_every_stale_copy_and_lets_an_idle_owner_run() {
    holds_in(runs::window_short());
}

#[test]
fn from_every_state_the_owner_can_run_again_and_a_stale_copy_can_end() {
    settles_in(runs::window_settling_short());
}

#[test]
fn value_is_conserved_and_delivered_in_order_within_the_short_bounds() {
    holds_in(runs::transfer_short());
}

#[test]
fn from_every_state_all_value_can_arrive_or_come_back() {
    settles_in(runs::transfer_short());
}

#[test]
fn what_one_sender_says_is_applied_in_order_and_can_always_arrive() {
    holds_in(runs::order_short());
    settles_in(runs::order_short());
}

#[test]
fn one_life_after_another_writes_a_log_and_the_next_can_always_begin() {
    holds_in(runs::term_short());
    settles_in(runs::term_short());
}

#[test]
fn a_slot_moves_whole_whoever_dies_on_the_way_and_can_always_be_served() {
    holds_in(runs::slots_short());
    settles_in(runs::slots_short());
}

#[test]
fn a_slot_goes_on_from_the_log_of_a_lost_base_and_nothing_confirmed_is_lost_whoever_dies() {
    holds_in(runs::takeover_short());
    settles_in(runs::takeover_short());
}

#[test]
fn only_the_leader_writes_the_living_are_not_dead_and_the_store_can_always_settle() {
    holds_in(runs::lead_short());
    settles_in(runs::lead_short());
}

/// Everything but the network, and what the properties remember for the sake of messages on it.
fn without_network(state: &Cluster) -> Cluster {
    let mut seen = state.clone();
    seen.net.clear();
    seen.history.active = Default::default();
    seen.history.refused = 0;
    for real in seen.cells.iter_mut().filter_map(|cell| cell.real.as_mut()) {
        real.held &= !real.lineage.commands_after(0);
    }
    seen
}

#[test]
fn forgetting_dead_messages_loses_no_reachable_state() {
    let (small, budget) = (Params::small(), Params::small().budget);
    let commands = Params { commands: 0, late_commands: 1, expiry: true, ..small.clone() };
    for params in [
        Params { budget: Budget { crashes: 0, ..budget }, ..small.clone() },
        Params { budget: Budget { verdicts: 0, ..budget }, ..small.clone() },
        Params { budget: Budget { crashes: 0, refusals: 1, ..budget }, ..small },
        Params { budget: Budget { crashes: 0, restarts: 1, ..budget }, ..commands },
    ] {
        let kept = Ownership { params: Params { forget: false, ..params.clone() } };
        let kept = views(&kept, STATES_MAX, without_network);
        let forgotten = views(&Ownership { params }, STATES_MAX, without_network);
        println!("{} states apart from the network", kept.len());
        assert!(kept == forgotten);
    }
}
