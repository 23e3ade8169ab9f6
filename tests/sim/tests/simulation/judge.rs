//! Running a seed and judging its journals.

use marchland_observe::{AuditOptions, Journals, Outcome, Summary, Verdict, judge};
use marchland_sim::{SimConfig, SimReport, run};

/// A run with its verdict.
pub struct Judged {
    pub report: SimReport,
    pub verdict: Verdict,
    pub summary: Summary,
}

/// Runs and judges.
pub fn judged(config: &SimConfig) -> Judged {
    let mut report = run(config);
    let records = std::mem::take(&mut report.journals);
    let journals = Journals::from_records(records);
    let (verdict, summary) = judge(&journals, &AuditOptions::default());
    Judged { report, verdict, summary }
}

impl Judged {
    /// Panics with what the audit says, unless it passes.
    pub fn must_pass(&self, seed: u64) {
        let v = &self.verdict;
        assert!(
            v.verdict == Outcome::Pass,
            "seed {seed}: {} {:?}\n{:#?}",
            v.verdict,
            v.incomplete,
            v.violations
                .iter()
                .map(|x| format!(
                    "{}: {} {:?}",
                    x.invariant,
                    x.text,
                    x.witness
                        .iter()
                        .map(|l| format!("{} t{} {}", l.proc, l.tick, l.text))
                        .collect::<Vec<_>>()
                ))
                .collect::<Vec<_>>(),
        );
    }
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
