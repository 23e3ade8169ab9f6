//! Drills: something bad is done on purpose to a running cluster under load, and what comes of it
//! is held against the bound that is promised for it, and against the audit.

mod before;
mod bound;
mod field;
mod ground;
mod journals;
mod report;
mod scripts;
mod table;

use crate::cli::{Against, DrillArgs};
use crate::exit::Failure;
use crate::verbs::{print_json, print_line};
use field::{Field, Played};
use journals::Scope;
use marchland_common::order::Tick;
use report::Report;
use table::{DRILLS, Drill, named};

/// The word that is no drill.
const LIST: &str = "list";

pub(crate) async fn run(args: DrillArgs) -> Result<u8, Failure> {
    let json = args.output.is_json();
    if args.name == LIST {
        list(args.against, json);
        return Ok(0);
    }
    let drill = named(&args.name).ok_or_else(|| unknown(&args.name))?;
    let report = perform(drill, &args).await?;
    if json {
        print_json(&report);
    } else {
        report.show();
    }
    Ok(report.code())
}

async fn perform(drill: &'static Drill, args: &DrillArgs) -> Result<Report, Failure> {
    let mut field = Field::up(drill, args).await?;
    let bounds = drill.bounds(args.against, field.ttl());
    let told = match scripts::play(drill.script, &mut field).await {
        Ok(told) => told,
        Err(failure) => {
            field.leave().await;
            return Err(failure);
        }
    };
    let Played { said, began, ended, bots, left } = field.end().await;
    let left = left?;
    let scope = Scope { began: Tick(began), ended: Tick(ended.unwrap_or(u64::MAX)), bots };
    let figures = journals::observe(&left, &told, scope)?;
    Ok(Report::new(drill.name, &bounds, said, &figures, &left))
}

fn list(against: Against, json: bool) {
    let drills = DRILLS.iter().filter(|drill| drill.can_be_done_to(against));
    if json {
        print_json(&drills.map(|drill| drill.about(against)).collect::<Vec<_>>());
    } else {
        drills.for_each(|drill| print_line(drill.name));
    }
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = DRILLS.iter().map(|drill| drill.name).collect();
    Failure::usage(format!("there is no drill `{name}`"))
        .hint(format!("there are {}; `march drill list --json` says more", names.join(", ")))
}
