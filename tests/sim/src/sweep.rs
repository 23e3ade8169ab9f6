//! Many seeds: what they did together, which failed, and the smallest run that still fails.

use crate::config::SimConfig;
use crate::faults::{Class, Faults};
use crate::judge::{Complaint, try_run};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How often a class of faults was drawn and happened, in seeds, and how often in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Seeds that drew it.
    pub drawn: u64,
    /// Of these, seeds in which it happened.
    pub happened: u64,
    /// How often, over all seeds.
    pub times: u64,
}

/// A seed that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was wrong.
    pub complaints: Vec<Complaint>,
    /// The command that runs it again; of the first failure, the smallest known run that fails.
    pub replay: String,
}

/// What many seeds did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sweep {
    /// How many.
    pub seeds: u64,
    /// Time that passed in them, in hours.
    pub virtual_hours: f64,
    /// Ticks that processes ran.
    pub ticks: u64,
    /// Handoffs that were completed.
    pub handoffs: u64,
    /// The fewest in one seed.
    pub handoffs_least: u64,
    /// Ticks that handoffs missed.
    pub ticks_missed: u64,
    /// Commands answered.
    pub commands: u64,
    /// Faults, by class.
    pub faults: BTreeMap<String, Tally>,
    /// Lives that ended before their run did.
    pub lives_lost: u64,
    /// How much was wrong, and the same by name.
    pub violations: u64,
    /// By invariant.
    pub violated: BTreeMap<String, u64>,
    /// The seeds that failed.
    pub failing_seeds: Vec<u64>,
    /// What was wrong in them, and how to run them again.
    pub failures: Vec<Failure>,
}

impl Sweep {
    /// Classes that came in less than eight of ten seeds that drew them.
    #[must_use]
    pub fn too_rare(&self) -> Vec<&str> {
        let rare = self.faults.iter().filter(|(_, t)| t.happened * 10 < t.drawn * 8);
        rare.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether nothing was wrong and everything that was drawn happened.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.failures.is_empty() && self.too_rare().is_empty()
    }

    fn add(&mut self, config: &SimConfig) {
        self.seeds += 1;
        self.virtual_hours += config.end_us() as f64 / 3_600e6;
        let complaints = match try_run(config) {
            Err(panic) => vec![panic],
            Ok(judged) => {
                let committed = judged.summary.handoffs.committed;
                self.handoffs_least = match self.seeds {
                    1 => committed,
                    _ => self.handoffs_least.min(committed),
                };
                self.handoffs += committed;
                self.ticks += judged.report.ticks;
                self.ticks_missed += judged.summary.ticks_missed;
                self.commands += judged.report.answered;
                self.lives_lost += judged.report.killed.len() as u64;
                for class in Class::ALL {
                    let drawn = config.has(*class);
                    let times = judged.report.faults.get(class).copied().unwrap_or(0);
                    let tally = self.faults.entry(class.name().to_owned()).or_default();
                    tally.drawn += u64::from(drawn);
                    tally.happened += u64::from(drawn && times > 0);
                    tally.times += times;
                }
                judged.complaints
            }
        };
        for complaint in &complaints {
            self.violations += 1;
            *self.violated.entry(complaint.name.clone()).or_default() += 1;
        }
        if !complaints.is_empty() {
            let replay = replay_command(config);
            self.failures.push(Failure { seed: config.seed, complaints, replay });
        }
    }

    fn merge(&mut self, other: Self) {
        self.handoffs_least = match (self.seeds, other.seeds) {
            (0, _) => other.handoffs_least,
            (_, 0) => self.handoffs_least,
            _ => self.handoffs_least.min(other.handoffs_least),
        };
        self.seeds += other.seeds;
        self.virtual_hours += other.virtual_hours;
        self.ticks += other.ticks;
        self.handoffs += other.handoffs;
        self.ticks_missed += other.ticks_missed;
        self.commands += other.commands;
        self.lives_lost += other.lives_lost;
        for (class, tally) in other.faults {
            let mine = self.faults.entry(class).or_default();
            mine.drawn += tally.drawn;
            mine.happened += tally.happened;
            mine.times += tally.times;
        }
        self.violations += other.violations;
        for (name, count) in other.violated {
            *self.violated.entry(name).or_default() += count;
        }
        self.failures.extend(other.failures);
    }
}

/// Runs seeds on so many threads. Which thread runs which seed changes nothing.
pub fn sweep(
    seeds: Range<u64>,
    threads: usize,
    config_of: impl Fn(u64) -> SimConfig + Sync,
) -> Sweep {
    let (next, sum) = (AtomicU64::new(seeds.start), Mutex::new(Sweep::default()));
    let work = || {
        let mut mine = Sweep::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            mine.add(&config_of(seed));
        }
        sum.lock().unwrap_or_else(PoisonError::into_inner).merge(mine);
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.failures.sort_by_key(|failure| failure.seed);
    sum.failing_seeds = sum.failures.iter().map(|failure| failure.seed).collect();
    // Making a run smaller takes many runs: for the first failure, which is looked at first.
    if let Some(failure) = sum.failures.first_mut() {
        failure.replay = replay_command(&smallest(&config_of(failure.seed)));
    }
    sum
}

/// The smallest known run that fails if this one does: without the classes of faults that it does
/// not take, and as short as it may be.
#[must_use]
pub fn smallest(config: &SimConfig) -> SimConfig {
    let fails = |config: &SimConfig| match try_run(config) {
        Ok(judged) => !judged.complaints.is_empty(),
        Err(_) => true,
    };
    let mut least = config.clone();
    for class in config.faults.classes() {
        let without = SimConfig { faults: least.faults.with(class, 0), ..least.clone() };
        if fails(&without) {
            least = without;
        }
    }
    for ticks in [200, 300, 400, 600, 800, 1_000] {
        let shorter = SimConfig { ticks, ..least.clone() };
        if ticks < least.ticks && fails(&shorter) {
            return shorter;
        }
    }
    least
}

/// The command that runs a seed again.
#[must_use]
pub fn replay_command(config: &SimConfig) -> String {
    let SimConfig { seed, faults, ticks, .. } = config;
    let drawn = SimConfig::of_seed(*seed);
    let faults = if *faults == drawn.faults { "all".to_owned() } else { faults.to_string() };
    let mut command = format!("march sim --seeds 1 --first {seed} --faults {faults}");
    if *ticks != drawn.ticks {
        command.push_str(&format!(" --ticks {ticks}"));
    }
    command
}

impl Faults {
    /// These classes and no others, at the rates of this draw where it has them.
    #[must_use]
    pub fn listed(self, classes: &[Class]) -> Self {
        let rate = |class: &Class| self.rate(*class).max(1);
        classes.iter().fold(Self::NONE, |faults, class| faults.with(*class, rate(class)))
    }
}
