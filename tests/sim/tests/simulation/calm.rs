//! Inside the bounds of an unnoticed handoff, nobody misses a tick and nobody runs one twice.

use marchland_sim::{SimConfig, sweep};

#[test]
fn ten_thousand_handoffs_miss_no_tick_and_double_none() {
    // More ticks, more wolves and more orders than a seed usually has: many handoffs a run.
    let config = |seed| SimConfig {
        ticks: 1_600,
        wolves: 200,
        players: 8,
        order_every: 4,
        ..SimConfig::calm(seed)
    };
    let swept = sweep(0..20, 2, config);
    println!("{} handoffs, {} ticks missed", swept.handoffs, swept.ticks_missed);
    assert!(swept.failures.is_empty(), "{:#?}", swept.failures);
    assert!(swept.handoffs >= 10_000, "only {} handoffs", swept.handoffs);
    assert_eq!(swept.ticks_missed, 0);
}
