//! Inside the bounds of an unnoticed handoff, nobody misses a tick and nobody runs one twice.

use crate::judge::{for_seeds, judged};
use marchland_sim::SimConfig;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn ten_thousand_handoffs_miss_no_tick_and_double_none() {
    let (handoffs, missed, doubled) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(0..20, |seed| {
        // More ticks, more wolves and more orders than a seed usually has: many handoffs a run.
        let config = SimConfig {
            ticks: 1_600,
            wolves: 200,
            players: 8,
            order_every: 4,
            ..SimConfig::calm(seed)
        };
        let judged = judged(&config);
        judged.must_pass(seed);
        handoffs.fetch_add(judged.summary.handoffs.committed, Ordering::Relaxed);
        missed.fetch_add(judged.summary.ticks_missed, Ordering::Relaxed);
        doubled.fetch_add(judged.summary.ticks_doubled, Ordering::Relaxed);
        assert_eq!(judged.report.unanswered, 0, "seed {seed}");
    });
    let (handoffs, missed, doubled) =
        (handoffs.into_inner(), missed.into_inner(), doubled.into_inner());
    println!("{handoffs} handoffs, {missed} ticks missed, {doubled} doubled");
    assert!(handoffs >= 10_000, "only {handoffs} handoffs");
    assert_eq!((missed, doubled), (0, 0));
}
