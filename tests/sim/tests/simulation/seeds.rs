//! Seeds with faults: reorder and delay across streams, connections that break, processes and
//! disks that stand still, watches that lose events, layouts that change, clients that come back.

use crate::judge::{for_seeds, judged};
use marchland_sim::SimConfig;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How many seeds; more by the environment, for long runs.
fn seeds() -> u64 {
    std::env::var("MARCH_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(200)
}

/// Where to begin.
fn first() -> u64 {
    std::env::var("MARCH_FIRST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

#[test]
fn every_seed_passes_the_audit_and_its_faults_really_happen() {
    let (first, count) = (first(), seeds());
    let faults: Mutex<BTreeMap<&str, (u64, u64)>> = Mutex::default();
    let figures: Mutex<(u64, u64, u64)> = Mutex::default();
    for_seeds(first..first + count, |seed| {
        let config = SimConfig::of_seed(seed);
        let judged = judged(&config);
        judged.must_pass(seed);
        assert_eq!(judged.report.unanswered, 0, "seed {seed} left commands without an answer");
        let handoffs = judged.summary.handoffs.committed;
        assert!(handoffs >= 20, "seed {seed} has only {handoffs} handoffs");
        assert_eq!(judged.summary.ticks_doubled, 0, "seed {seed}");
        let mut all = faults.lock().unwrap();
        for (class, drawn) in drawn(&config) {
            let happened = judged.report.faults.get(class).copied().unwrap_or(0);
            let entry = all.entry(class).or_default();
            entry.0 += u64::from(drawn);
            entry.1 += u64::from(drawn && happened > 0);
        }
        let mut f = figures.lock().unwrap();
        f.0 += handoffs;
        f.1 += judged.summary.ticks_missed;
        f.2 += judged.report.answered;
    });
    let (handoffs, missed, answered) = figures.into_inner().unwrap();
    println!("{count} seeds: {handoffs} handoffs, {missed} ticks missed, {answered} commands");
    for (class, (drawn, happened)) in faults.into_inner().unwrap() {
        println!("  {class}: drawn {drawn}, happened {happened}");
        assert!(happened * 10 >= drawn * 8, "{class} was drawn {drawn} times, came {happened}");
    }
}

fn drawn(config: &SimConfig) -> [(&'static str, bool); 6] {
    let f = config.faults;
    [
        ("cuts", f.cuts),
        ("stalls", f.stalls),
        ("disks", f.disks),
        ("store", f.store),
        ("layouts", f.layouts),
        ("clients", f.clients),
    ]
}
