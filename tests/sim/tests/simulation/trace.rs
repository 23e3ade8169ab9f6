//! One seed, one trace.

use marchland_sim::{SimConfig, run};

#[test]
fn the_same_seed_makes_the_same_trace_and_another_seed_another() {
    let of = |seed| run(&SimConfig { ticks: 500, ..SimConfig::of_seed(seed) }).trace;
    let first = of(3);
    assert_eq!(first, of(3));
    assert_ne!(first, of(4));
}
