//! Runs the cores of a cluster in simulated worlds, and judges what happened.

use super::{print_json, print_line, print_table};
use crate::cli::SimArgs;
use crate::exit::{CHECK_FAILED, Failure};
use marchland_sim::{Class, Faults, SimConfig, Sweep, sweep};

/// What `--faults` asks for.
enum Asked {
    Drawn,
    These(Vec<Class>),
}

impl Asked {
    fn read(list: &str) -> Result<Self, Failure> {
        match list {
            "all" => Ok(Self::Drawn),
            "none" => Ok(Self::These(Vec::new())),
            list => {
                let classes = list.split(',').map(|word| word.trim().parse::<Class>());
                let classes: Result<Vec<Class>, _> = classes.collect();
                classes.map(Self::These).map_err(|bad| Failure::usage(bad.to_string()))
            }
        }
    }

    fn of(&self, drawn: Faults) -> Faults {
        match self {
            Self::Drawn => drawn,
            Self::These(classes) => drawn.listed(classes),
        }
    }
}

pub(crate) fn run(args: &SimArgs) -> Result<u8, Failure> {
    let asked = Asked::read(&args.faults)?;
    let config_of = |seed| {
        let config = SimConfig::of_seed(seed);
        SimConfig { faults: asked.of(config.faults), ticks: args.ticks, ..config }
    };
    let last = args.first.checked_add(args.seeds);
    let last = last.ok_or_else(|| Failure::usage("there are not so many seeds after the first"))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let swept = sweep(args.first..last, threads, config_of);
    if args.output.is_json() {
        print_json(&swept);
    } else {
        show(&swept);
    }
    Ok(if swept.failures.is_empty() { 0 } else { CHECK_FAILED })
}

/// For people.
fn show(swept: &Sweep) {
    let drawn = swept.faults.iter().filter(|(_, tally)| tally.drawn > 0);
    let row = |(class, tally): (&String, &marchland_sim::Tally)| {
        let numbers = [tally.drawn, tally.happened, tally.times].map(|n| n.to_string());
        std::iter::once(class.clone()).chain(numbers).collect()
    };
    let rows: Vec<Vec<String>> = drawn.map(row).collect();
    print_table(&["FAULTS", "DRAWN", "HAPPENED", "TIMES"], &rows);
    for failure in &swept.failures {
        print_line(&format!("seed {} fails; again: {}", failure.seed, failure.replay));
        for complaint in &failure.complaints {
            print_line(&format!("  {}: {}", complaint.name, complaint.text));
        }
    }
    print_line(&format!(
        "{} seeds, {:.2} virtual hours, {} ticks, {} handoffs, {} commands, {} lives lost, {} \
         violations",
        swept.seeds,
        swept.virtual_hours,
        swept.ticks,
        swept.handoffs,
        swept.commands,
        swept.lives_lost,
        swept.violations,
    ));
}
