//! A run with its verdict: what the audit says of its journals, and what the simulator saw itself.

use crate::config::{LIVENESS_TICKS, SimConfig};
use crate::run::{SimReport, run};
use marchland_baseapp_core::log::account;
use marchland_common::journal::{Event, Record, Refused};
use marchland_common::order::NodeName;
use marchland_frontier_core::kinds;
use marchland_observe::{
    AuditOptions, BaseLog, Journals, Outcome, Summary, Verdict, Violation, judge,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// The invariant, or the simulator's own word for it.
    pub name: String,
    /// What happened, for people.
    pub text: String,
}

/// A run with its verdict.
#[derive(Debug)]
pub struct Judged {
    /// What was run.
    pub config: SimConfig,
    /// What it left. Its journals and logs are gone: the audit took them.
    pub report: SimReport,
    /// What the audit says.
    pub verdict: Verdict,
    /// What happened, in figures.
    pub summary: Summary,
    /// Everything that must not be.
    pub complaints: Vec<Complaint>,
}

/// The simulator's own words for what must not be.
impl Judged {
    /// A base refused steps because their digests or changes do not fit: never in a sound cluster,
    /// however rough the world around it is.
    pub const UNFIT: &'static str = "unfit-steps";
    /// A player never got an answer.
    pub const UNANSWERED: &'static str = "unanswered";
    /// Something did not come right after the heal.
    pub const UNSETTLED: &'static str = "unsettled";
    /// Something panicked.
    pub const PANIC: &'static str = "panic";
    /// The audit did not see enough.
    pub const INCOMPLETE: &'static str = "incomplete";

    /// The names of what must not be.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        self.complaints.iter().map(|complaint| complaint.name.as_str()).collect()
    }
}

/// Runs and judges. A panic is a complaint like any other; then there is nothing else.
///
/// # Errors
/// The panic.
pub fn try_run(config: &SimConfig) -> Result<Judged, Complaint> {
    catch_unwind(AssertUnwindSafe(|| judged(config))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
        Complaint { name: Judged::PANIC.to_owned(), text: text.to_owned() }
    })
}

/// Runs and judges.
#[must_use]
pub fn judged(config: &SimConfig) -> Judged {
    let mut report = run(config);
    let records = std::mem::take(&mut report.journals);
    let unfit: u64 = records.iter().map(|(_, records)| unfit(records)).sum();
    let logs = std::mem::take(&mut report.logs).into_iter().map(|(base, log)| log_of(base, &log));
    let journals = Journals::from_records(records).with_logs(logs.collect());
    let options = AuditOptions {
        killed: report.killed.clone(),
        recover_within: Some(LIVENESS_TICKS),
        ..AuditOptions::default()
    };
    let (verdict, summary) = judge(&journals, &options);
    let mut complaints = Vec::new();
    let mut complain = |name: &str, text: String| {
        complaints.push(Complaint { name: name.to_owned(), text });
    };
    for violation in &verdict.violations {
        complain(&violation.invariant, told(violation));
    }
    for name in verdict.violated() {
        if verdict.violations.iter().all(|violation| violation.invariant != name) {
            complain(name, "violated".to_owned());
        }
    }
    if verdict.verdict == Outcome::Incomplete {
        complain(Judged::INCOMPLETE, verdict.incomplete.join("; "));
    }
    if unfit > 0 {
        complain(Judged::UNFIT, format!("bases refused {unfit} steps that do not fit"));
    }
    if report.unanswered > 0 {
        let players = report.unanswered;
        complain(Judged::UNANSWERED, format!("{players} players wait for answers"));
    }
    if summary.ticks_doubled > 0 {
        complain("tick-not-doubled", format!("{} ticks", summary.ticks_doubled));
    }
    for text in &report.unsettled {
        complain(Judged::UNSETTLED, text.clone());
    }
    Judged { config: config.clone(), report, verdict, summary, complaints }
}

/// What is on a virtual disk, as an audit reads it.
fn log_of(base: NodeName, records: &[Vec<u8>]) -> BaseLog {
    let (account, wrong) = account(&kinds(), records);
    let faults = wrong.into_iter().map(|wrong| wrong.to_string()).collect();
    BaseLog { base, account, faults }
}

fn unfit(records: &[Record]) -> u64 {
    let events = records.iter().filter_map(|r| match r {
        Record::Tick(tick) => Some(&tick.events),
        _ => None,
    });
    let unfit = |e: &Event| match e {
        Event::Refusal { reason: Refused::DigestMismatch | Refused::BadChange, count, .. } => {
            u64::from(*count)
        }
        _ => 0,
    };
    events.flatten().map(unfit).sum()
}

fn told(violation: &Violation) -> String {
    let line = |l: &marchland_observe::Line| format!("    {} t{} {}", l.proc, l.tick, l.text);
    let witness: Vec<String> = violation.witness.iter().map(line).collect();
    format!("{}\n{}", violation.text, witness.join("\n"))
}
