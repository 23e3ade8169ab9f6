//! Whether what happened happened in order: the audit's rules of order, and for the first that does
//! not hold the smallest excerpt that shows it, with what to look at next.

use super::{folder_of, notes, tell};
use crate::cli::CheckArgs;
use crate::exit::{CHECK_FAILED, Failure};
use crate::verbs::audit::judged;
use crate::verbs::{print_json, print_line};
use marchland_common::order::NodeName;
use marchland_observe::causal::Catalog;
use marchland_observe::{
    ExcerptLine, InvariantCount, Line, ORDER_RULES, Outcome, Verdict, Violation, columns, excerpt,
    invariants,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Most lines of an excerpt, unless the proof alone has more.
const EXCERPT_LINES: usize = 10;

pub(crate) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let only = args.only.as_deref();
    if let Some(name) = only.filter(|name| !ORDER_RULES.contains(name)) {
        let known = invariants().any(|invariant| invariant.name == name);
        let text = match known {
            true => format!("{name} is no rule of order"),
            false => format!("there is no invariant {name}"),
        };
        let hint = format!("rules of order are {}", ORDER_RULES.join(", "));
        return Err(Failure::usage(text).hint(hint));
    }
    let dir = folder_of(args.dir.as_deref(), args.cluster.as_deref())?;
    let (journals, verdict) = judged(&dir, &args.killed)?;
    notes(&journals).iter().for_each(|note| tell(&format!("note: {note}")));
    let mut report = Report::of(&verdict, only);
    if let Some(violation) = report.smallest(&verdict) {
        let lines = excerpt(&journals, violation, EXCERPT_LINES);
        let catalog = Catalog::of(&journals);
        report.first = Some(Finding::of(violation, lines, &catalog, &dir, &args.killed));
    }
    if args.output.is_json() {
        print_json(&report);
    } else {
        report.show();
    }
    Ok(if report.verdict == Outcome::Pass { 0 } else { CHECK_FAILED })
}

/// What is said.
#[derive(Serialize)]
struct Report {
    verdict: Outcome,
    /// How often each rule of order was checked, and violated.
    rules: BTreeMap<String, InvariantCount>,
    /// Why nothing can be said, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<String>,
    /// Violations of rules that are not about order.
    others: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Finding>,
}

impl Report {
    fn of(verdict: &Verdict, only: Option<&str>) -> Self {
        let wanted =
            |name: &str| ORDER_RULES.contains(&name) && only.is_none_or(|only| only == name);
        let (rules, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = verdict
            .invariants
            .iter()
            .map(|(name, count)| (name.clone(), *count))
            .partition(|(name, _)| wanted(name));
        let fails = rules.values().any(|count| count.violations > 0);
        let outcome = match (fails, verdict.incomplete.is_empty()) {
            (true, _) => Outcome::Fail,
            (false, true) => Outcome::Pass,
            (false, false) => Outcome::Incomplete,
        };
        let others = rest.values().map(|count| count.violations).sum();
        let incomplete = verdict.incomplete.clone();
        Self { verdict: outcome, rules, incomplete, others, first: None }
    }

    /// The violation that the fewest events prove.
    fn smallest<'a>(&self, verdict: &'a Verdict) -> Option<&'a Violation> {
        let ours = verdict.violations.iter().filter(|v| self.rules.contains_key(&v.invariant));
        ours.min_by_key(|violation| violation.witness.len())
    }

    fn show(&self) {
        print_line(&format!("order: {}", self.verdict));
        let checked: u64 = self.rules.values().map(|count| count.checked).sum();
        print_line(&format!("{} rules, checked {checked} times", self.rules.len()));
        for (name, count) in self.rules.iter().filter(|(_, count)| count.violations > 0) {
            let InvariantCount { violations, checked } = count;
            print_line(&format!("{name}: violated {violations} times in {checked}"));
        }
        self.incomplete.iter().for_each(|why| print_line(&format!("incomplete: {why}")));
        if let Some(finding) = &self.first {
            finding.show();
        }
        if self.others > 0 {
            print_line(&format!("{} violations of other rules: march audit", self.others));
        }
    }
}

/// The violation that is shown.
#[derive(Serialize)]
struct Finding {
    invariant: String,
    text: String,
    /// The events that prove it, by name.
    events: Vec<String>,
    excerpt: Vec<ExcerptLine>,
    /// Where to look in the console.
    link: String,
    /// What shows more of it.
    commands: Vec<String>,
}

impl Finding {
    fn of(
        violation: &Violation,
        excerpt: Vec<ExcerptLine>,
        catalog: &Catalog,
        dir: &Path,
        killed: &[NodeName],
    ) -> Self {
        let proof: Vec<&Line> =
            excerpt.iter().filter(|line| line.proof).map(|line| &line.line).collect();
        let short = |line: &&Line| match catalog.named(&line.id) {
            Ok(id) => catalog.names().event(id),
            Err(_) => line.id.clone(),
        };
        let events: Vec<String> = proof.iter().map(short).collect();
        let link = proof.last().map(|last| deep_link(last, violation.entity)).unwrap_or_default();
        let dir = dir.display();
        let names = killed.iter().map(NodeName::to_string).collect::<Vec<_>>().join(",");
        let killed = if names.is_empty() { String::new() } else { format!(" --killed {names}") };
        let mut commands =
            vec![format!("march order check {dir} --only {}{killed}", violation.invariant)];
        if let [first, .., last] = &events[..] {
            commands.push(format!("march order explain {first} {last} --dir {dir}"));
        }
        let ticks = proof.iter().map(|line| line.tick);
        if let (Some(entity), Some(from), Some(to)) =
            (violation.entity, ticks.clone().min(), ticks.max())
        {
            commands.push(format!(
                "march order show --entity {entity} --from {from} --to {to} --dir {dir}"
            ));
        }
        let (invariant, text) = (violation.invariant.clone(), violation.text.clone());
        Self { invariant, text, events, excerpt, link, commands }
    }

    fn show(&self) {
        print_line(&format!("{}: {}", self.invariant, self.text));
        let lines: Vec<Line> = self.excerpt.iter().map(|line| line.line.clone()).collect();
        let mut rows = columns(&lines).into_iter();
        rows.by_ref().take(1).for_each(|head| print_line(&format!("  {head}")));
        for (row, line) in rows.zip(&self.excerpt) {
            let mark = if line.proof { '!' } else { ' ' };
            print_line(&format!("{mark} {row}"));
        }
        print_line(&format!("the proof: {}", self.events.join(", ")));
        print_line(&format!("in the console: {}", self.link));
        self.commands.iter().for_each(|command| print_line(&format!("again: {command}")));
    }
}

/// What follows the address of a console to show an event.
fn deep_link(line: &Line, entity: Option<u64>) -> String {
    let entity = entity.or(line.entity).map(|id| format!("&entity={id}")).unwrap_or_default();
    format!("#tick={}{entity}&event={}", line.tick, line.id)
}
