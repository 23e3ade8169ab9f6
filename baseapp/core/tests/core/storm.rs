//! Everything at once, then calm: everything must have settled, with nothing lost and nothing
//! doubled.

use crate::support::*;
use marchland_common::journal::{Event, OwnerWhy};
use std::collections::BTreeMap;

#[test]
fn after_any_storm_everything_settles_and_nothing_is_lost_or_doubled() {
    for seed in 0..24 {
        eprintln!("seed {seed}");
        storm_and_calm(seed).check();
    }
}

#[test]
fn the_storms_hold_what_they_promise() {
    let mut counts = BTreeMap::<&str, usize>::new();
    for seed in 0..6 {
        let storm = storm_and_calm(seed);
        for event in storm.cluster.bases.iter().flat_map(|base| &base.events) {
            let name = match event {
                Event::Recovered { .. } => "restarts",
                Event::OwnerChanged { why, .. } => match why {
                    OwnerWhy::Handoff(_) => "handoffs",
                    OwnerWhy::GrantDeadline => "deadlines",
                    OwnerWhy::Verdict => "verdicts",
                    OwnerWhy::Birth => "births",
                },
                Event::FencedSent { .. } => "fences",
                Event::MessageTaken { .. } => "messages",
                Event::CommandConfirmed { .. } => "commands",
                Event::CommandAnswered { .. } => "answered alone",
                Event::Destroyed { .. } => "ends",
                Event::HandoffRefused { .. } => "refused handoffs",
                _ => continue,
            };
            *counts.entry(name).or_default() += 1;
        }
    }
    eprintln!("{counts:?}");
    assert_eq!(counts.len(), 11, "{counts:?}");
    assert!(counts.values().all(|n| *n >= 3), "{counts:?}");
}
