//! Deliberate faults: each makes the audit fail, with the name of an invariant that it breaks.

use marchland_baseapp_core::io::BaseBug;
use marchland_cellapp_core::io::CellBug;
use marchland_common::order::{NodeKind, NodeName};
use marchland_sim::{Class, Faults, Judged, Scripted, SimConfig, judged, try_run};
use std::collections::BTreeSet;

/// What the simulator itself says when a base refused steps because their digests do not fit. Some
/// faults never get farther: the base takes nothing that does not follow from what it holds.
const UNFIT: &str = Judged::UNFIT;

/// Faults that bring the bugs out: copies, late and lost messages, frozen and stalled owners.
fn rough(seed: u64) -> SimConfig {
    use Class::{Clients, Cuts, Delays, Disks, Layouts, Stalls};
    let faults = Faults::of(&[Delays, Cuts, Stalls, Disks, Layouts, Clients]);
    SimConfig { faults, order_every: 10, ticks: 900, ..SimConfig::of_seed(seed) }
}

/// Lives that end and are followed by others, and lives that come back from the dead.
fn deadly(seed: u64) -> SimConfig {
    use Class::{CrashCell, Delays, FalseVerdict, Misdelivered, OldEvents, Zombie};
    let faults = Faults::of(&[Delays, CrashCell, FalseVerdict, Misdelivered, OldEvents, Zombie]);
    SimConfig { faults, order_every: 2, ticks: 900, ..SimConfig::of_seed(seed) }
}

/// Owners who hear their bases and are not heard, for about as long as a grant waits for its first
/// step: what they did is on its way when others have taken over.
fn unheard(seed: u64) -> SimConfig {
    let name = |kind, number| NodeName { kind, number };
    let cut = |n: u64| {
        let cell = name(NodeKind::Cell, 1 + (n % 3) as u16);
        let base = name(NodeKind::Base, 1 + (n / 3 % 2) as u16);
        (60 + n * 35, Scripted::OneWay(cell, base, 18 + (seed + n) % 10))
    };
    let script = (0..24).map(cut).collect();
    SimConfig { script, order_every: 1, ticks: 900, ..SimConfig::calm(seed) }
}

/// Bases that die and come back with their logs, while their cellapps go on.
fn reborn(seed: u64) -> SimConfig {
    use Class::{CrashBase, Delays};
    SimConfig { faults: Faults::of(&[Delays, CrashBase]), ticks: 900, ..SimConfig::of_seed(seed) }
}

/// Slots on the move, and owners that die meanwhile.
fn moving(seed: u64) -> SimConfig {
    let faults = Faults::of(&[Class::SlotMoves, Class::Delays, Class::CrashCell]);
    SimConfig { faults, ticks: 900, ..SimConfig::of_seed(seed) }
}

#[test]
fn without_a_bug_the_same_runs_pass() {
    for seed in 1..=4 {
        for config in [rough(seed), deadly(seed), unheard(seed), reborn(seed), moving(seed)] {
            let judged = judged(&config);
            assert!(judged.complaints.is_empty(), "seed {seed}: {:#?}", judged.complaints);
        }
    }
}

/// The first of some seeds that fails, with what it names.
fn caught(config: impl Fn(u64) -> SimConfig) -> Option<(u64, BTreeSet<String>)> {
    (1..=12).find_map(|seed| {
        let complaints = match try_run(&config(seed)) {
            Ok(judged) => judged.complaints,
            Err(panic) => vec![panic],
        };
        let names: BTreeSet<String> = complaints.into_iter().map(|c| c.name).collect();
        (!names.is_empty()).then_some((seed, names))
    })
}

fn cell(bug: CellBug, expected: &[&str]) {
    cell_in(rough, bug, expected);
}

fn base(bug: BaseBug, expected: &[&str]) {
    base_in(rough, bug, expected);
}

fn must_name(bug: &str, found: Option<(u64, BTreeSet<String>)>, expected: &[&str]) {
    let Some((seed, names)) = found else { panic!("{bug} passed every seed") };
    println!("{bug}: seed {seed} fails {names:?}");
    assert!(
        expected.iter().any(|e| names.contains(*e)),
        "{bug} fails {names:?}, none of {expected:?}"
    );
}

fn cell_in(config: fn(u64) -> SimConfig, bug: CellBug, expected: &[&str]) {
    let found = caught(|seed| SimConfig { cell_bug: Some(bug), ..config(seed) });
    must_name(&format!("{bug:?}"), found, expected);
}

fn base_in(config: fn(u64) -> SimConfig, bug: BaseBug, expected: &[&str]) {
    let found = caught(|seed| SimConfig { base_bug: Some(bug), ..config(seed) });
    must_name(&format!("{bug:?}"), found, expected);
}

#[test]
fn a_fenced_owner_that_goes_on_is_caught() {
    cell_in(unheard, CellBug::IgnoreFence, &["fence", "census"]);
}

#[test]
fn a_grant_that_any_life_takes_is_caught() {
    cell_in(deadly, CellBug::IgnoreIncarnation, &["single-owner"]);
}

#[test]
fn steps_of_an_ended_epoch_that_are_accepted_are_caught() {
    base_in(unheard, BaseBug::NoEpochCheck, &["fence", "one-chain"]);
}

#[test]
fn a_restore_that_keeps_the_epoch_is_caught() {
    base_in(deadly, BaseBug::KeepEpoch, &["epochs-grow", "single-owner"]);
}

#[test]
fn a_target_that_activates_without_the_base_is_caught() {
    cell(CellBug::ActivateOnOffload, &["single-owner", "tick-not-doubled", "fence", "one-chain"]);
}

#[test]
fn a_table_of_commands_that_stays_behind_is_caught() {
    cell(CellBug::DedupStays, &["command-once", "one-chain", "terminal", UNFIT]);
}

#[test]
fn a_window_that_is_not_kept_is_caught() {
    cell(CellBug::NoWindow, &["bounded-speculation"]);
}

#[test]
fn a_source_that_goes_on_after_it_froze_is_caught() {
    cell(CellBug::NoFreeze, &["single-owner", "one-chain", "tick-not-doubled"]);
}

#[test]
fn a_message_taken_without_a_look_at_the_inbox_is_caught() {
    cell(CellBug::NoInbox, &["message-once", "value-conserved", "one-chain", UNFIT]);
}

#[test]
fn a_ghost_that_goes_back_is_caught() {
    cell(CellBug::GhostGoesBack, &["ghost-grows", "fence", "ghost-equals"]);
}

#[test]
fn a_tick_that_both_owners_run_is_caught() {
    cell(CellBug::DoubleTick, &["tick-not-doubled"]);
}

#[test]
fn a_leave_that_is_never_said_is_caught() {
    cell(CellBug::NoLeave, &["aoi-balance"]);
}

#[test]
fn results_that_leave_before_they_are_durable_are_caught() {
    base(BaseBug::ReleaseEarly, &["confirmed-is-durable"]);
}

#[test]
fn messages_that_leave_before_they_are_durable_are_caught() {
    base(BaseBug::SendBeforeDurable, &["debit-before-credit", "confirmed-is-durable"]);
}

#[test]
fn an_answer_that_leaves_before_it_is_durable_is_caught() {
    base(BaseBug::AnswerEarly, &["confirmed-is-durable", "message-once"]);
}

#[test]
fn ticks_that_count_before_a_cellapp_said_what_it_holds_are_caught() {
    base_in(reborn, BaseBug::CountUnlisted, &["bounded-speculation"]);
}

#[test]
fn a_slot_that_is_served_before_it_is_given_is_caught() {
    base_in(moving, BaseBug::ServesEarly, &["one-base-serves"]);
}

#[test]
fn a_slot_that_is_served_on_after_it_was_given_away_is_caught() {
    base_in(moving, BaseBug::KeepsGiven, &["confirmed-by-keeper"]);
}

#[test]
fn an_id_that_is_handed_out_twice_is_caught() {
    // An id comes back only when a slot has had several births.
    let crowded = |seed| SimConfig {
        wolves: 1_200,
        players: 0,
        ticks: 260,
        base_bug: Some(BaseBug::ReuseId),
        ..SimConfig::calm(seed)
    };
    let found = caught(crowded);
    must_name("ReuseId", found, &["unique-ids", "census", "one-chain", UNFIT]);
}
