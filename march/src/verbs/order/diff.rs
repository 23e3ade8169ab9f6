//! The first event in which two recordings differ.

use super::read;
use crate::cli::DiffArgs;
use crate::exit::{CHECK_FAILED, Failure, NOT_FOUND};
use crate::verbs::{print_json, print_line};
use marchland_observe::Line;
use marchland_observe::causal::Fact;
use marchland_observe::diff::{Comparison, Divergence, FieldDiff, compare};
use serde::Serialize;

pub(crate) fn run(args: &DiffArgs) -> Result<u8, Failure> {
    let (first, second) = (read(&args.run1)?, read(&args.run2)?);
    let compared = compare(&first, &second, args.process);
    if compared.lives == 0 {
        let whom = args.process.map_or_else(|| "no process".to_owned(), |name| name.to_string());
        return Err(Failure::new(NOT_FOUND, format!("{whom} is in both recordings"))
            .hint("give two folders of recordings of the same cluster"));
    }
    if args.output.is_json() {
        print_json(&Told::of(&compared));
    } else {
        show(&compared);
    }
    Ok(if compared.first.is_none() { 0 } else { CHECK_FAILED })
}

fn show(compared: &Comparison) {
    let Comparison { first, differing, lives, equal, left_out } = compared;
    left_out.iter().for_each(|left| print_line(&format!("left out: {left}")));
    let Some(first) = first else {
        return print_line(&format!("equal: {equal} events of {lives} lives"));
    };
    let Divergence { process, tick, moment, what, .. } = first;
    print_line(&format!("{process} differs first, in tick {tick} ({moment:?}): {what}"));
    let side = |name: &str, fact: &Option<Fact>| {
        let text = fact.as_ref().map(|fact| format!("{}  {}", fact.id, fact.text()));
        print_line(&format!("  {name}: {}", text.unwrap_or_else(|| "nothing".to_owned())));
    };
    side("first ", &first.first);
    side("second", &first.second);
    for FieldDiff { name, first, second } in &first.fields {
        print_line(&format!("  {name}: {first} | {second}"));
    }
    match first.input_differs {
        Some(true) => print_line("  what came in from outside differed already"),
        Some(false) => print_line("  the same came in from outside: the program itself differs"),
        None => {}
    }
    print_line(&format!("{equal} events were equal before; {differing} of {lives} lives differ"));
}

/// For programs.
#[derive(Serialize)]
struct Told<'a> {
    equal: bool,
    lives: usize,
    differing: usize,
    equal_events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<ToldFirst<'a>>,
    left_out: &'a [String],
}

#[derive(Serialize)]
struct ToldFirst<'a> {
    process: String,
    tick: u64,
    what: &'a str,
    first: Option<Line>,
    second: Option<Line>,
    fields: &'a [FieldDiff],
    input_differs: Option<bool>,
}

impl<'a> Told<'a> {
    fn of(compared: &'a Comparison) -> Self {
        let first = compared.first.as_ref().map(|first| ToldFirst {
            process: first.process.to_string(),
            tick: first.tick.0,
            what: first.what,
            first: first.first.as_ref().map(Fact::line),
            second: first.second.as_ref().map(Fact::line),
            fields: &first.fields,
            input_differs: first.input_differs,
        });
        Self {
            equal: first.is_none(),
            lives: compared.lives,
            differing: compared.differing,
            equal_events: compared.equal,
            first,
            left_out: &compared.left_out,
        }
    }
}
