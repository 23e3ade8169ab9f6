//! Running a seed and judging its journals.

use marchland_baseapp_core::log::account;
use marchland_common::journal::{Event, Record, Refused};
use marchland_common::order::Node;
use marchland_frontier_core::kinds;
use marchland_observe::{
    AuditOptions, BaseLog, Journals, Outcome, Summary, Verdict, Violation, judge,
};
use marchland_sim::{SimConfig, SimReport, run};

/// A run with its verdict.
pub struct Judged {
    /// Steps that a base refused because their digests or changes do not fit: never in a sound
    /// cluster, however rough the world around it is.
    pub unfit_steps: u64,
    pub report: SimReport,
    pub verdict: Verdict,
    pub summary: Summary,
}

/// Runs and judges.
pub fn judged(config: &SimConfig) -> Judged {
    let mut report = run(config);
    let records = std::mem::take(&mut report.journals);
    let unfit_steps = records.iter().map(|(_, records)| unfit(records)).sum();
    let logs = std::mem::take(&mut report.logs).into_iter().map(|(base, log)| log_of(base, &log));
    let journals = Journals::from_records(records).with_logs(logs.collect());
    let (verdict, summary) = judge(&journals, &AuditOptions::default());
    Judged { unfit_steps, report, verdict, summary }
}

/// What is on a virtual disk, as an audit reads it.
fn log_of(base: Node, records: &[Vec<u8>]) -> BaseLog {
    let (account, wrong) = account(&kinds(), records);
    let faults = wrong.into_iter().map(|wrong| wrong.to_string()).collect();
    BaseLog { base: base.name, account, faults }
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

impl Judged {
    /// Panics with what the audit says, unless it passes.
    pub fn must_pass(&self, seed: u64) {
        let v = &self.verdict;
        assert_eq!(self.unfit_steps, 0, "seed {seed}: a base refused steps that do not fit");
        assert!(
            v.verdict == Outcome::Pass,
            "seed {seed}: {} {:?}\n{}",
            v.verdict,
            v.incomplete,
            v.violations.iter().map(told).collect::<Vec<_>>().join("\n"),
        );
    }
}

fn told(violation: &Violation) -> String {
    let line = |l: &marchland_observe::Line| format!("    {} t{} {}", l.proc, l.tick, l.text);
    let witness: Vec<String> = violation.witness.iter().map(line).collect();
    format!("  {}: {}\n{}", violation.invariant, violation.text, witness.join("\n"))
}

/// Runs `work` for each seed on two threads; a panic names its seed.
pub fn for_seeds(seeds: std::ops::Range<u64>, work: impl Fn(u64) + Sync) {
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    work(seed);
                }
            });
        }
    });
}
