//! What an audit of a run of half a minute costs. Nothing is asserted about time; run it by hand:
//! `cargo test -p marchland-observe the_cost -- --ignored --nocapture`.

#![allow(clippy::print_stdout)]

use super::*;
use crate::load;

/// Processor time of this process so far, in milliseconds.
fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    ticks * 10
}

#[test]
#[ignore = "measures"]
fn the_cost_of_an_audit_of_a_busy_half_minute() {
    let plan = Plan { entities: 2_000, busy_until: 500, ticks: 600, ..Plan::new(5) };
    let history = history(plan);
    let events: usize = (0..history.journals.len())
        .map(|at| history.ticks(at).map(|(_, tick)| tick.events.len()).sum::<usize>())
        .sum();
    let dir = tempfile::tempdir().unwrap();
    history.write(dir.path());
    let options = options(&history);
    drop(history);
    let start = cpu_ms();
    let journals = load(dir.path()).unwrap();
    let loaded = cpu_ms();
    let (verdict, summary) = judge(&journals, &options);
    let judged = cpu_ms();
    println!(
        "{events} events: loaded in {} ms, judged in {} ms of processor time: {} {summary:?}",
        loaded - start,
        judged - loaded,
        verdict.verdict
    );
    assert_eq!(verdict.violated(), Vec::<&str>::new(), "{}", told(&verdict));
}
