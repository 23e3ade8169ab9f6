//! Judges the journals of a cluster, and the write-ahead logs of its bases.

pub(crate) mod logs;

use super::{print_json, print_line, print_table};
use crate::cli::AuditArgs;
use crate::exit::{CHECK_FAILED, Failure, NOT_FOUND};
use marchland_common::order::{Node, NodeName, Tick};
use marchland_observe::{AuditOptions, Journals, Outcome, Summary, Verdict, columns, judge, load};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the demo noted beside its journals, for whoever audits them later.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct AuditNotes {
    /// The tick at whose end the census is taken.
    pub(crate) census_at: Option<u64>,
    /// Processes that ended unasked, by name, once for each time.
    #[serde(default)]
    pub(crate) killed: Vec<String>,
}

/// The name of that file.
pub(crate) const NOTES_FILE: &str = "audit.json";

impl AuditNotes {
    /// What is noted in a folder.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(dir.join(NOTES_FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn options(&self, journals: &Journals) -> AuditOptions {
        AuditOptions {
            census_at: self.census_at.map(Tick),
            killed: lost_lives(journals, &self.killed),
            ..AuditOptions::default()
        }
    }
}

/// The lives that were lost: of each process as many as it was lost times, of those whose journals
/// have no end mark the first. A life that was given up and left has one.
fn lost_lives(journals: &Journals, names: &[String]) -> BTreeSet<Node> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *times.entry(name).or_default() += 1);
    let broken_off = journals.processes().iter().filter(|p| p.end().is_none()).map(|p| p.node());
    let mut lives: Vec<Node> = broken_off.collect();
    lives.sort_unstable();
    lives.retain(|node| {
        times.get_mut(node.name.to_string().as_str()).is_some_and(|left| {
            let lost = *left > 0;
            *left = left.saturating_sub(1);
            lost
        })
    });
    lives.into_iter().collect()
}

/// Audits a folder: its journals, the logs beside them, and what is noted there.
pub(crate) fn audit_dir(dir: &Path) -> Result<(Verdict, Summary), Failure> {
    audit(dir, AuditNotes::read(dir).unwrap_or_default())
}

fn audit(dir: &Path, notes: AuditNotes) -> Result<(Verdict, Summary), Failure> {
    let journals = recorded(dir)?;
    Ok(judge(&journals, &notes.options(&journals)))
}

/// The journals of a folder with the verdict on them, when these processes were killed beside those
/// that are noted there.
pub(crate) fn judged(dir: &Path, killed: &[NodeName]) -> Result<(Journals, Verdict), Failure> {
    let mut notes = AuditNotes::read(dir).unwrap_or_default();
    notes.killed.extend(killed.iter().map(NodeName::to_string));
    let journals = recorded(dir)?;
    let (verdict, _) = judge(&journals, &notes.options(&journals));
    Ok((journals, verdict))
}

/// What is recorded in a folder.
fn recorded(dir: &Path) -> Result<Journals, Failure> {
    if !dir.is_dir() {
        let text = format!("{} is not a folder", dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("give the folder with the journals"));
    }
    let journals = load(dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    if journals.processes().is_empty() {
        let text = format!("there is no journal in {}", dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("give the folder with the journals"));
    }
    // After the journals: whatever they say to be durable is in the logs by now.
    Ok(journals.with_logs(logs::load(dir)?))
}

pub(crate) fn run(args: &AuditArgs) -> Result<u8, Failure> {
    let mut notes = AuditNotes::read(&args.dir).unwrap_or_default();
    notes.killed.extend(args.killed.iter().map(NodeName::to_string));
    let (verdict, summary) = audit(&args.dir, notes)?;
    if args.output.is_json() {
        print_json(&verdict);
    } else {
        show(&verdict, &summary);
    }
    Ok(if verdict.verdict == Outcome::Pass { 0 } else { CHECK_FAILED })
}

/// For people.
pub(crate) fn show(verdict: &Verdict, summary: &Summary) {
    print_line(&format!("audit: {}", verdict.verdict));
    let row = |(name, count): (&String, &marchland_observe::InvariantCount)| {
        let checked = match verdict.not_applicable.get(name) {
            Some(why) => format!("not applicable: {why}"),
            None => count.checked.to_string(),
        };
        vec![name.clone(), count.violations.to_string(), checked]
    };
    let rows: Vec<Vec<String>> = verdict.invariants.iter().map(row).collect();
    print_table(&["INVARIANT", "VIOLATIONS", "CHECKED"], &rows);
    for reason in &verdict.incomplete {
        print_line(&format!("incomplete: {reason}"));
    }
    for violation in &verdict.violations {
        print_line(&format!("{}: {}", violation.invariant, violation.text));
        columns(&violation.witness).iter().for_each(|line| print_line(&format!("  {line}")));
    }
    let h = &summary.handoffs;
    print_line(&format!(
        "{} ticks, {} entities; handoffs: {} committed ({} ordered), {} aborted; ticks missed {}, \
         doubled {}; gaps {:?}",
        summary.ticks,
        summary.entities,
        h.committed,
        h.ordered,
        h.aborted,
        summary.ticks_missed,
        summary.ticks_doubled,
        summary.handoff_gaps,
    ));
}
