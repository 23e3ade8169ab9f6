//! What happened to an entity, a column for each process.

use super::{folder, read};
use crate::cli::ShowArgs;
use crate::exit::{Failure, NOT_FOUND};
use crate::verbs::{print_json, print_line};
use marchland_observe::{Line, OrderFilter, columns, order};

pub(crate) fn run(args: &ShowArgs) -> Result<u8, Failure> {
    let dir = folder(&args.at)?;
    let journals = read(&dir)?;
    let entity = args.entity.ok_or_else(|| Failure::usage("say which entity with --entity"))?;
    let filter = OrderFilter {
        entity: Some(entity),
        from: args.from,
        to: args.to,
        ..OrderFilter::default()
    };
    let limit = args.limit.unwrap_or(usize::MAX);
    let wanted = |line: &Line| {
        let fits = |at: &marchland_observe::causal::KindAt| {
            at.kind.name() == line.kind && at.tick.is_none_or(|tick| tick.0 == line.tick)
        };
        args.kind.is_empty() || args.kind.iter().any(fits)
    };
    let lines: Vec<Line> = order(&journals, &filter).filter(wanted).take(limit).collect();
    if lines.is_empty() {
        let text = format!("no journal in {} tells that of entity {entity}", dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("march entity ls   # shows who lives"));
    }
    if args.output.is_json() {
        lines.iter().for_each(print_json);
    } else {
        columns(&lines).iter().for_each(|line| print_line(line));
    }
    Ok(0)
}
