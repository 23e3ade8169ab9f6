//! What ticks cost: histograms on the tick thread, and their figures where others may read them.

use super::time::monotonic_ns;
use crate::telemetry::{Counter, Counters, Histogram as Shown};
use hdrhistogram::Histogram;
use marchland_common::time::{Phase, TickReport};

/// Ticks between two publications of the figures.
const PUBLISH_EVERY: u64 = 64;
/// Longest time that is told apart, in microseconds.
const US_MAX: u64 = 60_000_000;
/// The same as metrics tell them apart.
const US_BOUNDS: &[u64] = &[
    50, 100, 200, 500, 1_000, 2_000, 3_500, 5_000, 7_500, 10_000, 15_000, 20_000, 25_000, 30_000,
    40_000, 50_000, 75_000, 100_000, 250_000, 1_000_000, 5_000_000,
];

/// One kind of duration.
#[derive(Clone, Debug)]
struct Series {
    histogram: Histogram<u64>,
    shown: Shown,
    p50: Counter,
    p99: Counter,
    max: Counter,
}

/// The metric that shows a series, with its labels.
type Family<'a> = (&'static str, &'a [(&'static str, &'static str)]);

impl Series {
    fn new(name: &str, family: Family, counters: &Counters) -> Self {
        let gauge = |what: &str| counters.counter(&format!("{name}_us_{what}"));
        let histogram =
            Histogram::new_with_bounds(1, US_MAX, 2).expect("constant bounds are in order");
        let (family, labels) = family;
        let shown = counters.histogram(family, labels, || Shown::new(US_BOUNDS, 1e-6));
        Self { histogram, shown, p50: gauge("p50"), p99: gauge("p99"), max: gauge("max") }
    }

    fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns / 1_000);
        self.shown.record(ns / 1_000);
        self.max.raise(ns / 1_000);
    }

    fn publish(&self) {
        self.p50.set(self.histogram.value_at_quantile(0.5));
        self.p99.set(self.histogram.value_at_quantile(0.99));
    }
}

/// The histograms of one tick thread since it began, in microseconds. Published as gauges
/// `tick_us_p50`, `tick_lag_us_max`, `phase_network_us_p99` and so on, and as metrics.
#[derive(Clone, Debug)]
pub struct Figures {
    tick: Series,
    lag: Series,
    wake: Series,
    phases: Vec<Series>,
    run: Counter,
    dropped: Counter,
    dropped_us: Counter,
    overruns: Counter,
    budget_ns: u64,
}

impl Figures {
    /// Histograms without a value. A tick over `budget_ns` counts as an overrun.
    #[must_use]
    pub fn new(budget_ns: u64, counters: &Counters) -> Self {
        let phase = |phase: Phase| {
            let labels = [("phase", phase.name())];
            let family = ("march_tick_duration_seconds", labels.as_slice());
            Series::new(&format!("phase_{phase}"), family, counters)
        };
        counters.counter("tick_step_us").set(budget_ns / 1_000);
        Self {
            tick: Series::new("tick", ("march_tick_seconds", &[]), counters),
            lag: Series::new("tick_lag", ("march_tick_lag_seconds", &[]), counters),
            wake: Series::new("wake", ("march_wake_seconds", &[]), counters),
            phases: Phase::ALL.into_iter().map(phase).collect(),
            run: counters.counter("ticks_run"),
            dropped: counters.counter("ticks_dropped"),
            dropped_us: counters.counter("clock_dropped_us"),
            overruns: counters.counter("tick_overruns"),
            budget_ns,
        }
    }

    pub(super) fn ran(&mut self, spans: &Spans, lag_ns: u64) {
        let tick_ns = spans.marked_ns.saturating_sub(spans.begun_ns);
        self.tick.record(tick_ns);
        self.lag.record(lag_ns);
        for (series, ns) in self.phases.iter_mut().zip(spans.phase_ns) {
            series.record(ns);
        }
        self.run.add(1);
        if tick_ns > self.budget_ns {
            self.overruns.add(1);
            let longest = spans.longest();
            crate::warn_rarely!(
                tick_us = tick_ns / 1_000,
                budget_us = self.budget_ns / 1_000,
                %longest,
                "a tick took longer than its budget"
            );
        }
        if self.run.get().is_multiple_of(PUBLISH_EVERY) {
            self.publish();
        }
    }

    pub(super) fn woke(&mut self, ns: u64) {
        self.wake.record(ns);
    }

    pub(super) fn dropped(&self, ticks: u64) {
        self.dropped.add(ticks);
        self.dropped_us.add(ticks.saturating_mul(self.budget_ns / 1_000));
    }

    pub(super) fn publish(&self) {
        let all = [&self.tick, &self.lag, &self.wake];
        all.into_iter().chain(&self.phases).for_each(Series::publish);
    }

    /// What whole ticks took.
    #[must_use]
    pub const fn tick_us(&self) -> &Histogram<u64> {
        &self.tick.histogram
    }

    /// How late ticks began.
    #[must_use]
    pub const fn lag_us(&self) -> &Histogram<u64> {
        &self.lag.histogram
    }
}

/// Measures the phases of one tick: the process says when each ends.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    begun_ns: u64,
    marked_ns: u64,
    phase_ns: [u64; 6],
}

impl Spans {
    pub(super) fn begin() -> Self {
        let now_ns = monotonic_ns();
        Self { begun_ns: now_ns, marked_ns: now_ns, phase_ns: [0; 6] }
    }

    /// What passed since the last mark belongs to this phase.
    pub fn mark(&mut self, phase: Phase) {
        let now_ns = monotonic_ns();
        self.phase_ns[phase as usize] += now_ns.saturating_sub(self.marked_ns);
        self.marked_ns = now_ns;
    }

    /// What passed since the last mark is divided as this report says; the rest is of no phase.
    pub fn take(&mut self, report: &TickReport) {
        for (sum, ns) in self.phase_ns.iter_mut().zip(report.phase_ns) {
            *sum += ns;
        }
        self.marked_ns = monotonic_ns();
    }

    pub(super) fn end(&mut self) {
        self.marked_ns = monotonic_ns();
    }

    fn longest(&self) -> Phase {
        let longest = Phase::ALL.into_iter().max_by_key(|phase| self.phase_ns[*phase as usize]);
        longest.unwrap_or(Phase::Network)
    }
}
