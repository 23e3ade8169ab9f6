//! Runs one seed and prints what happened.
#![allow(clippy::print_stdout, missing_docs)]
use marchland_common::journal::{Event, Record};
use marchland_sim::{SimConfig, run};
use std::collections::BTreeMap;

fn main() {
    let mut args = std::env::args().skip(1);
    let mode = args.next().unwrap_or_else(|| "calm".into());
    let seed: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    let n: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1);
    for seed in seed..seed + n {
        let config = if mode == "calm" { SimConfig::calm(seed) } else { SimConfig::of_seed(seed) };
        let t = std::time::Instant::now();
        let report = run(&config);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut last: BTreeMap<_, u64> = BTreeMap::new();
        let (mut missed, mut doubled, mut gaps) = (0u64, 0u64, BTreeMap::<u64, u64>::new());
        for (_, records) in &report.journals {
            for record in records {
                let Record::Tick(t) = record else { continue };
                for e in &t.events {
                    let name = format!("{e:?}");
                    let key = name.split([' ', '{', '(']).next().unwrap_or("").to_owned();
                    let key = match e {
                        Event::Refusal { reason, .. } => format!("Refusal {reason:?}"),
                        Event::OwnerChanged { why, .. } => format!("OwnerChanged {why:?}")
                            .split("Order(")
                            .next()
                            .unwrap_or("")
                            .to_owned(),
                        Event::HandoffRefused { reason, .. } => {
                            format!("HandoffRefused {reason:?}")
                        }
                        _ => key,
                    };
                    *counts.entry(key).or_default() += 1;
                    match e {
                        Event::OwnerChanged { entity, last_tick: Some(l), .. } => {
                            last.insert(*entity, l.0);
                        }
                        Event::FirstStep { entity, first_tick, .. } => {
                            if let Some(l) = last.remove(entity) {
                                let f = first_tick.0;
                                missed += f.saturating_sub(l + 1);
                                doubled += (l + 1).saturating_sub(f);
                                *gaps.entry(f - l).or_default() += 1;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        println!(
            "seed {seed} {:?} trace {:016x} missed {missed} doubled {doubled} gaps {gaps:?} unanswered {} answered {} frames {} faults {:?}",
            t.elapsed(),
            report.trace,
            report.unanswered,
            report.answered,
            report.frames,
            report.faults
        );
        if n == 1 {
            for (k, v) in &counts {
                println!("  {k}: {v}");
            }
            println!("{:?}", config.faults);
            for o in report.orders.iter().filter(|o| !format!("{o:?}").contains("Created")) {
                println!("{o:?}");
            }
        }
    }
}
