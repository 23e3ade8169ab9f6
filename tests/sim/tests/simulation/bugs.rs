//! Deliberate faults: each makes the audit fail, with the name of an invariant that it breaks.

use crate::judge::{Judged, judged};
use marchland_baseapp_core::io::BaseBug;
use marchland_cellapp_core::io::CellBug;
use marchland_observe::Outcome;
use marchland_sim::{Faults, SimConfig};

/// What the simulator itself says when a base refused steps because their digests do not fit. Some
/// faults never get farther: the base takes nothing that does not follow from what it holds.
const UNFIT: &str = "unfit-steps";

/// Faults that bring the bugs out: copies, late and lost messages, frozen and stalled owners.
fn rough(seed: u64) -> SimConfig {
    let faults = Faults {
        delays: true,
        cuts: true,
        stalls: true,
        disks: true,
        store: false,
        layouts: true,
        clients: true,
    };
    SimConfig { faults, order_every: 10, ticks: 900, ..SimConfig::of_seed(seed) }
}

/// The first of some seeds whose audit fails, with what it names.
fn caught(config: impl Fn(u64) -> SimConfig) -> Option<(u64, Vec<String>)> {
    (1..=12).find_map(|seed| {
        let Judged { verdict, unfit_steps, .. } = judged(&config(seed));
        let mut names: Vec<String> = verdict.violated().into_iter().map(str::to_owned).collect();
        if unfit_steps > 0 {
            names.push(UNFIT.to_owned());
        }
        (verdict.verdict == Outcome::Fail || unfit_steps > 0).then_some((seed, names))
    })
}

fn cell(bug: CellBug, expected: &[&str]) {
    let found = caught(|seed| SimConfig { cell_bug: Some(bug), ..rough(seed) });
    must_name(&format!("{bug:?}"), found, expected);
}

fn base(bug: BaseBug, expected: &[&str]) {
    let found = caught(|seed| SimConfig { base_bug: Some(bug), ..rough(seed) });
    must_name(&format!("{bug:?}"), found, expected);
}

fn must_name(bug: &str, found: Option<(u64, Vec<String>)>, expected: &[&str]) {
    let Some((seed, names)) = found else { panic!("{bug} passed every seed") };
    println!("{bug}: seed {seed} fails {names:?}");
    assert!(
        expected.iter().any(|e| names.iter().any(|n| n == e)),
        "{bug} fails {names:?}, none of {expected:?}"
    );
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
