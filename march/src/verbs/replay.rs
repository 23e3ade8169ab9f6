//! Runs journals again through the cores that wrote them, and tells where they first differ.

use super::{print_json, print_line, print_table};
use crate::cli::ReplayArgs;
use crate::exit::{CHECK_FAILED, Failure, NOT_FOUND};
use marchland_common::msg::Moment;
use marchland_frontier_core::Frontier;
use marchland_observe::load;
use marchland_replay::{LifeReplay, Outcome, ReplayOptions, Replayed, World, replay};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is answered.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    replayed: &'a Replayed,
    /// How long it took, in seconds.
    took_s: f64,
    /// How many times faster than the run itself.
    times_real_time: f64,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<u8, Failure> {
    let failed = |text| Failure::new(NOT_FOUND, text).hint("give the folder with the journals");
    if !args.dir.is_dir() {
        return Err(failed(format!("{} is not a folder", args.dir.display())));
    }
    let journals = load(&args.dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    let is_asked = |name| args.process.is_none_or(|process| process == name);
    if !journals.processes().iter().any(|process| is_asked(process.node().name)) {
        let whose = args.process.map_or_else(String::new, |name| format!(" of {name}"));
        return Err(failed(format!("there is no journal{whose} in {}", args.dir.display())));
    }
    let options = ReplayOptions {
        process: args.process,
        from: args.from,
        to: args.to,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let world = World::new(Arc::new(Frontier::new()));
    let began = Instant::now();
    let replayed = replay(&journals, &world, &options);
    let took = began.elapsed();
    if args.output.is_json() {
        let took_s = took.as_secs_f64();
        let times_real_time = times(&replayed, took);
        print_json(&Answer { replayed: &replayed, took_s, times_real_time });
    } else {
        show(&replayed, took);
    }
    Ok(if replayed.verdict == Outcome::Equal { 0 } else { CHECK_FAILED })
}

fn times(replayed: &Replayed, took: Duration) -> f64 {
    replayed.real_us as f64 / 1e6 / took.as_secs_f64().max(1e-9)
}

/// For people.
fn show(replayed: &Replayed, took: Duration) {
    print_line(&format!("replay: {}", replayed.verdict));
    let rows: Vec<Vec<String>> = replayed.lives.iter().filter(|l| l.has_core).map(row).collect();
    print_table(&["LIFE", "VERDICT", "TICKS", "OUTPUT MOMENTS", "FROM", "TO"], &rows);
    for life in &replayed.lives {
        for reason in &life.unchecked {
            print_line(&format!("{}: {reason}", life.node));
        }
        if let Some(difference) = &life.difference {
            let moment = match difference.moment {
                Moment::Flush => "Flush".to_owned(),
                Moment::Release(n) => format!("Release {n}"),
            };
            let (node, tick, count) = (life.node, difference.tick, difference.count);
            print_line(&format!(
                "{node} differs first at tick {tick}, {moment} (record {}), in {count} places:",
                difference.record
            ));
            for field in &difference.fields {
                print_line(&format!("  {}", field.name));
                print_line(&format!("    recorded {}", field.recorded));
                print_line(&format!("    replayed {}", field.replayed));
            }
        }
    }
    replayed.unchecked.iter().for_each(|reason| print_line(reason));
    let without = replayed.lives.iter().filter(|life| !life.has_core).count();
    let without = match without {
        0 => String::new(),
        n => format!(" ({n} journals are of processes without a core)"),
    };
    print_line(&format!(
        "{} ticks of {} lives, {} output moments{without}, in {:.2} s: {:.0} times as fast as the run",
        replayed.ticks,
        rows.len(),
        replayed.moments,
        took.as_secs_f64(),
        times(replayed, took),
    ));
}

fn row(life: &LifeReplay) -> Vec<String> {
    let (from, to) = match life.span {
        Some((first, last)) => (first.to_string(), last.to_string()),
        None => ("-".to_owned(), "-".to_owned()),
    };
    let (ticks, moments) = (life.ticks.to_string(), life.moments.to_string());
    vec![life.node.to_string(), life.verdict.to_string(), ticks, moments, from, to]
}
