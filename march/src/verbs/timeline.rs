//! A recording for other programs.

use super::order::{folder_of, read, tell};
use super::{print_json, print_line};
use crate::cli::TimelineArgs;
use crate::exit::{Failure, NOT_FOUND, REFUSED};
use marchland_observe::Journals;
use marchland_observe::causal::Catalog;
use marchland_observe::trace::{Figures, Form, TraceOptions, trace};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// The step of a demo.
const STEP: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &TimelineArgs) -> Result<u8, Failure> {
    let form = match args.perfetto.extension().and_then(|end| end.to_str()) {
        Some("json") => Form::Json,
        Some("pftrace" | "perfetto-trace") => Form::TrackEvent,
        _ => {
            let text = format!("{} ends neither in .json nor .pftrace", args.perfetto.display());
            return Err(Failure::usage(text).hint("--perfetto out.json   # or out.pftrace"));
        }
    };
    let dir = folder_of(args.dir.as_deref(), args.cluster.as_deref())?;
    let journals = read(&dir)?;
    let step = args.step.or_else(|| step_of(&journals)).unwrap_or_else(|| {
        tell("note: no journal says how long a tick is; taken are 50 ms, --step says others");
        STEP
    });
    let catalog = Catalog::of(&journals);
    if let (Some(span), Some((first, last))) = (args.tick, catalog.ticks())
        && (span.from > last || span.to < first)
    {
        let text = format!("nothing is recorded of ticks {} to {}", span.from, span.to);
        return Err(Failure::new(NOT_FOUND, text).hint(format!("--tick {first}..{last}")));
    }
    let step_us = u64::try_from(step.as_micros()).unwrap_or(u64::MAX);
    let options = TraceOptions { span: args.tick, ..TraceOptions::new(step_us) };
    let figures = write(&args.perfetto, &journals, &catalog, &options, form).map_err(|e| {
        Failure::new(REFUSED, format!("{} was not written: {e}", args.perfetto.display()))
    })?;
    figures.left_out.iter().for_each(|left| tell(&format!("left out: {left}")));
    if args.output.is_json() {
        print_json(&Told::of(&figures, &args.perfetto));
    } else {
        let Figures { processes, slices, marks, arrows, .. } = figures;
        let (from, to) = figures.ticks.unwrap_or_default();
        print_line(&format!(
            "{}: ticks {from} to {to} of {processes} processes, {slices} slices, {marks} marks, \
             {arrows} ends of arrows",
            args.perfetto.display()
        ));
        print_line("times are nominal: journals hold ticks and no times");
        print_line("open it in https://ui.perfetto.dev, which keeps it in the browser");
    }
    Ok(0)
}

fn write(
    path: &Path,
    journals: &Journals,
    catalog: &Catalog,
    options: &TraceOptions,
    form: Form,
) -> io::Result<Figures> {
    let mut file = BufWriter::new(File::create(path)?);
    let figures = trace(journals, catalog, options, form, &mut file)?;
    file.flush()?;
    Ok(figures)
}

/// How long a tick was, by what a process says of its settings.
fn step_of(journals: &Journals) -> Option<Duration> {
    let headers = journals.processes().iter().filter_map(|process| process.header());
    headers.filter_map(|header| step_in(&header.config)).next()
}

fn step_in(config: &str) -> Option<Duration> {
    let (_, rest) = config.split_once("step: ")?;
    let end = rest.find([',', ' ', '}']).unwrap_or(rest.len());
    crate::durations::parse_step(&rest[..end]).ok()
}

#[derive(Serialize)]
struct Told<'a> {
    file: String,
    ticks: Option<(u64, u64)>,
    processes: u64,
    slices: u64,
    marks: u64,
    arrows: u64,
    times: &'static str,
    left_out: &'a [String],
}

impl<'a> Told<'a> {
    fn of(figures: &'a Figures, file: &Path) -> Self {
        let Figures { processes, slices, marks, arrows, ticks, left_out } = figures;
        Self {
            file: file.display().to_string(),
            ticks: *ticks,
            processes: *processes,
            slices: *slices,
            marks: *marks,
            arrows: *arrows,
            times: "nominal",
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_read_out_of_what_a_process_says_of_itself() {
        let config = "ProcessOptions { name: cell-1, step: 50ms, ttl: 5s }";
        assert_eq!(step_in(config), Some(Duration::from_millis(50)));
        assert_eq!(step_in("something else"), None);
    }
}
