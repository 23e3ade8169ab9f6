//! Why one event comes after another.

use super::{folder, read, tell};
use crate::cli::ExplainArgs;
use crate::exit::{Failure, NOT_FOUND, USAGE};
use crate::verbs::{print_json, print_line};
use marchland_common::order::{EntityId, Tick};
use marchland_observe::causal::{
    Catalog, EventId, Explanation, Hop, HopVia, KindAt, Names, NoEvent, Relation, explain, first_of,
};
use marchland_observe::{Journals, Line};
use serde::Serialize;

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let dir = folder(&args.at)?;
    let journals = read(&dir)?;
    let catalog = Catalog::of(&journals);
    let (a, b) = ends(args, &journals, &catalog)?;
    let explained = explain(&journals, &catalog, a, b)
        .map_err(|e| Failure::new(NOT_FOUND, e.to_string()).hint(LISTING))?;
    if args.output.is_json() {
        print_json(&Told::of(&explained));
    } else {
        lines(&explained, catalog.names()).iter().for_each(|line| print_line(line));
        explained.left_out.iter().for_each(|left| tell(&format!("left out: {left}")));
    }
    Ok(0)
}

const LISTING: &str = "march order show --entity N   # prints events with their names";

/// The two events that were asked about.
fn ends(
    args: &ExplainArgs,
    journals: &Journals,
    catalog: &Catalog,
) -> Result<(EventId, EventId), Failure> {
    let named = |text: &str| {
        catalog.named(text).map_err(|e| {
            let code = if matches!(e, NoEvent::Malformed(_)) { USAGE } else { NOT_FOUND };
            Failure::new(code, e.to_string()).hint(LISTING)
        })
    };
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        return Ok((named(a)?, named(b)?));
    }
    let (Some(entity), Some(from), Some(to)) = (args.entity, args.from, args.to) else {
        return Err(Failure::usage("name two events, or --entity with --from and --to"));
    };
    let find = |wanted: KindAt, since: Tick| {
        first_of(journals, catalog, entity, wanted, since)
            .ok_or_else(|| no_such(entity, wanted, since))
    };
    let first = find(from, Tick(0))?;
    let second = find(to, first.tick)?;
    Ok((first.id, second.id))
}

fn no_such(entity: EntityId, wanted: KindAt, since: Tick) -> Failure {
    let when = match wanted.tick {
        Some(tick) => format!("in tick {tick}"),
        None => format!("from tick {since} on"),
    };
    let text = format!("nothing of kind {} is told of entity {entity} {when}", wanted.kind.name());
    let hint = format!("march order show --entity {entity} --kind {}", wanted.kind.name());
    Failure::new(NOT_FOUND, text).hint(hint)
}

/// For people: an event a line, and below it why it came there.
pub(super) fn lines(explained: &Explanation, names: &Names) -> Vec<String> {
    let mut out = vec![explained.rule.clone()];
    let id = |hop: &Hop| names.event(hop.fact.id);
    let width = explained.hops.iter().map(|hop| id(hop).len()).max().unwrap_or(0);
    let mut last: Option<u64> = None;
    for hop in &explained.hops {
        let tick = hop.fact.tick.0;
        let waited = match last.map(|last| tick.saturating_sub(last)) {
            None | Some(0) => String::new(),
            Some(ticks) => format!("+{ticks}"),
        };
        let mark = if hop.on_path { ' ' } else { '|' };
        let text = hop.fact.text();
        out.push(format!("{mark} {:<width$}  {tick:<8}{waited:<5} {text}", id(hop)));
        if !hop.rule.is_empty() {
            let arrow = match hop.via {
                HopVia::Message => "<-",
                HopVia::Hold => "||",
                HopVia::Start | HopVia::Program => "..",
            };
            out.push(format!("{mark} {:<width$}                 {arrow} {}", "", hop.rule));
        }
        if hop.on_path {
            last = Some(tick);
        }
    }
    let held = explained.hops.iter().filter(|hop| hop.rule.contains("held")).count();
    if !explained.hops.is_empty() {
        let (ticks, hops) = (explained.ticks, explained.hops.iter().filter(|h| h.on_path).count());
        let beside = explained.hops.len() - hops;
        out.push(format!(
            "{ticks} ticks, {hops} events on the path, {beside} beside it, {held} held"
        ));
    }
    out
}

/// For programs.
#[derive(Serialize)]
struct Told<'a> {
    relation: Relation,
    a: Line,
    b: Line,
    rule: &'a str,
    ticks: u64,
    hops: Vec<ToldHop<'a>>,
    left_out: &'a [String],
}

#[derive(Serialize)]
struct ToldHop<'a> {
    event: Line,
    via: HopVia,
    rule: &'a str,
    ticks: u64,
    on_path: bool,
}

impl<'a> Told<'a> {
    fn of(explained: &'a Explanation) -> Self {
        let hop = |hop: &'a Hop| ToldHop {
            event: hop.fact.line(),
            via: hop.via,
            rule: &hop.rule,
            ticks: hop.ticks,
            on_path: hop.on_path,
        };
        Self {
            relation: explained.relation,
            a: explained.a.line(),
            b: explained.b.line(),
            rule: &explained.rule,
            ticks: explained.ticks,
            hops: explained.hops.iter().map(hop).collect(),
            left_out: &explained.left_out,
        }
    }
}
