//! Drills: something bad is done on purpose to a running cluster under load, and what comes of it
//! is held against the bound that is promised for it, and against the audit.

mod bound;
mod field;
mod journals;
mod report;
mod scripts;
mod table;

use crate::cli::{Against, DrillArgs};
use crate::exit::Failure;
use crate::verbs::{print_json, print_line};
use field::Field;
use report::Report;
use table::{DRILLS, Drill, named};

/// The word that is no drill.
const LIST: &str = "list";

pub(crate) async fn run(args: DrillArgs) -> Result<u8, Failure> {
    let json = args.output.is_json();
    if args.name == LIST {
        list(json);
        return Ok(0);
    }
    let drill = named(&args.name).ok_or_else(|| unknown(&args.name))?;
    match args.against {
        Against::Demo => {}
        Against::Compose => {
            let text = format!("{} cannot be done to containers yet", drill.name);
            return Err(Failure::usage(text).hint("leave --against out: it starts its own cluster"));
        }
    }
    let report = perform(drill).await?;
    if json {
        print_json(&report);
    } else {
        report.show();
    }
    Ok(report.code())
}

async fn perform(drill: &'static Drill) -> Result<Report, Failure> {
    let mut field = Field::up(drill).await?;
    let told = scripts::play(drill.script, &mut field).await;
    // However it went, everybody is ended.
    let (said, left) = field.end().await;
    let (told, left) = (told?, left?);
    let figures = journals::observe(&left, &told)?;
    Ok(Report::new(drill, said, &figures, &left))
}

fn list(json: bool) {
    if json {
        print_json(&DRILLS.iter().map(Drill::about).collect::<Vec<_>>());
    } else {
        DRILLS.iter().for_each(|drill| print_line(drill.name));
    }
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = DRILLS.iter().map(|drill| drill.name).collect();
    Failure::usage(format!("there is no drill `{name}`"))
        .hint(format!("there are {}; `march drill list --json` says more", names.join(", ")))
}
