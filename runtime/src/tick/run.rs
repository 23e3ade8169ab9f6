//! The loop of the tick thread.

use super::align::{Listener, Origin, SuspendWatch, origin_of_calendar};
use super::figures::{Figures, Spans};
use super::time::{SharedClock, boottime_ns, calendar_ms, monotonic_ns};
use super::waker::{Waker, Woken};
use crate::coord::ClockValue;
use crate::link::Observation;
use crate::telemetry::{Counters, log_tick};
use crossbeam_channel::Receiver;
use marchland_common::msg::Moment;
use marchland_common::order::Tick;
use marchland_common::time::{
    ClockConfigError, ClusterClock, ClusterConfig, ClusterCounters, ClusterDecision, Dropped,
};
use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most ticks that are caught up at once; more are dropped.
const CAP: u32 = 4;
/// Version of the policy on late ticks, written into every record of dropped ones.
const POLICY_VERSION: u32 = 1;

/// How a process ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickConfig {
    /// The length of a tick in nanoseconds, the same in the whole cluster.
    pub step_ns: u64,
    /// How long after the cluster's beat this process starts its ticks: half a step for bases.
    pub phase_ns: u64,
    /// Where cluster time begins.
    pub origin: Origin,
}

/// What the thread owns and calls. Nothing here may wait for a disk, a socket or the store.
pub trait TickProcess: Send + 'static {
    /// Runs one tick. `spans` takes the time of its phases.
    fn tick(&mut self, now: &TickNow, spans: &mut Spans);

    /// Takes in what it was woken for, between two ticks: a Release moment of the tick that ran
    /// last. At most [`Moment::RELEASES_MAX`] of them follow a tick.
    fn wake(&mut self, tick: Tick, moment: Moment);

    /// The clock decided something that belongs in the journal.
    fn decided(&mut self, decision: ClusterDecision);

    /// No tick runs after this. Numbers that were dropped after the last tick come along.
    fn stop(&mut self, dropped: Option<Dropped>);
}

/// The tick that is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickNow {
    /// Its number.
    pub tick: Tick,
    /// The numbers before it that were left out.
    pub dropped: Option<Dropped>,
    /// How late the first tick of this call to the clock began, in nanoseconds.
    pub lag_ns: u64,
    /// How long ago the tick before began, in nanoseconds, by a clock that also counts while the
    /// machine sleeps. 0 for the first tick, and for those that are caught up behind another.
    pub since_last_ns: u64,
}

/// What a tick thread did.
#[derive(Clone, Debug)]
pub struct TickSummary {
    /// Exact counts of the clock.
    pub counters: ClusterCounters,
    /// What it cost.
    pub figures: Figures,
}

/// Why there is no tick thread.
#[derive(Debug, thiserror::Error)]
pub enum TickError {
    /// The settings are out of their limits.
    #[error(transparent)]
    Config(#[from] ClockConfigError),
    /// No thread.
    #[error("cannot start the tick thread: {0}")]
    Thread(#[source] io::Error),
}

/// A running tick thread. Dropping it stops the thread and does not wait for it.
#[derive(Debug)]
pub struct TickLoop {
    waker: Waker,
    thread: Option<JoinHandle<TickSummary>>,
}

impl TickLoop {
    /// Starts the thread. `clock` is kept up to date by it, `observations` is what peers say about
    /// theirs, `waker` wakes it.
    ///
    /// # Errors
    /// The settings are out of their limits, or there is no thread to be had.
    pub fn start(
        config: TickConfig,
        clock: SharedClock,
        observations: Receiver<Observation>,
        waker: Waker,
        counters: &Counters,
        process: impl TickProcess,
    ) -> Result<Self, TickError> {
        config.cluster(config.origin.by_key_ns).check()?;
        let runner = Runner {
            config,
            shared: clock,
            observations,
            waker: waker.clone(),
            figures: Figures::new(config.step_ns, counters),
            suspend: SuspendWatch::default(),
            looked_ns: None,
            since_last_ns: 0,
            moments: 0,
            ran: None,
            dropped: None,
            process,
        };
        let thread = std::thread::Builder::new()
            .name("tick".to_owned())
            .spawn(move || runner.run())
            .map_err(TickError::Thread)?;
        Ok(Self { waker, thread: Some(thread) })
    }

    /// Whether the thread ended, by an order or by a panic.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops after the tick that runs now; waits at most `limit`. None when that was not enough,
    /// or the thread panicked.
    pub fn stop(mut self, limit: Duration) -> Option<TickSummary> {
        self.waker.stop();
        let deadline = Instant::now() + limit;
        while !self.is_finished() {
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.thread.take()?.join().ok()
    }
}

impl Drop for TickLoop {
    fn drop(&mut self) {
        self.waker.stop();
    }
}

impl TickConfig {
    /// The settings by the cluster's clock key, for a process whose ticks begin `phase` after the
    /// cluster's. Reads the calendar once.
    #[must_use]
    pub fn of_key(key: &ClockValue, phase: Duration) -> Self {
        let by_key_ns = origin_of_calendar(key.origin_wall_ms, calendar_ms(), monotonic_ns());
        Self {
            step_ns: key.step_us.saturating_mul(1_000),
            phase_ns: u64::try_from(phase.as_nanos()).unwrap_or(u64::MAX),
            origin: Origin { by_key_ns, listen_steps: 4 },
        }
    }

    const fn cluster(&self, origin_ns: i64) -> ClusterConfig {
        ClusterConfig {
            origin_ns,
            step_ns: self.step_ns,
            phase_ns: self.phase_ns,
            cap: CAP,
            version: POLICY_VERSION,
        }
    }
}

struct Runner<P> {
    config: TickConfig,
    shared: SharedClock,
    observations: Receiver<Observation>,
    waker: Waker,
    figures: Figures,
    suspend: SuspendWatch,
    /// When it was last looked what is due, by the clock that counts sleep.
    looked_ns: Option<u64>,
    /// The time since the tick before that the next one is to be told.
    since_last_ns: u64,
    /// Release moments since the tick that ran last.
    moments: u8,
    ran: Option<Tick>,
    /// Numbers that were dropped and not told yet.
    dropped: Option<Dropped>,
    process: P,
}

impl<P: TickProcess> Runner<P> {
    fn run(mut self) -> TickSummary {
        self.waker.adopt();
        // Without it every sleep ends up to 50 us late; where it is refused, it does.
        let _ = nix::sys::prctl::set_timerslack(1);
        let origin_ns = self.listen().unwrap_or(self.config.origin.by_key_ns);
        let mut clock = ClusterClock::new(self.config.cluster(origin_ns))
            .expect("the settings were checked before the thread began");
        while !self.waker.is_stopping() {
            let deadline_ns = self.run_due(&mut clock);
            self.idle(deadline_ns);
        }
        self.figures.publish();
        self.process.stop(self.dropped.take());
        TickSummary { counters: *clock.counters(), figures: self.figures }
    }

    /// Hears what peers say before the first tick.
    fn listen(&self) -> Option<i64> {
        let limit_ns = self.config.step_ns * u64::from(self.config.origin.listen_steps);
        let end_ns = monotonic_ns().saturating_add(limit_ns);
        let mut listener = Listener::default();
        while !self.waker.is_stopping() && monotonic_ns() < end_ns {
            self.waker.wait(monotonic_ns() + self.config.step_ns / 2, false, monotonic_ns);
            for said in self.observations.try_iter() {
                listener.hear(said, self.config.step_ns);
            }
        }
        listener.origin_ns()
    }

    /// Runs what is due; says when the next tick is.
    fn run_due(&mut self, clock: &mut ClusterClock) -> u64 {
        let (now_ns, awake_or_not_ns) = (monotonic_ns(), boottime_ns());
        let looked_ns = self.looked_ns.replace(awake_or_not_ns).unwrap_or(awake_or_not_ns);
        self.since_last_ns += awake_or_not_ns.saturating_sub(looked_ns);
        if let Some(slept_ns) = self.suspend.check(now_ns, awake_or_not_ns) {
            let decision = clock.skip_ahead(slept_ns);
            self.decide(decision);
        }
        for said in self.observations.try_iter().take(self.observations.len()) {
            clock.observe_peer(said.peer, said.sample, said.arrived_ns);
        }
        let due = clock.due(now_ns);
        self.shared.set_origin(clock.origin_ns());
        for decision in due.decisions {
            self.decide(decision);
        }
        for tick in due.run.iter() {
            self.run_tick(tick, due.lag_ns);
        }
        if let Some(dropped) = due.dropped {
            self.figures.dropped(dropped.ticks().len());
            crate::warn_rarely!(%dropped, "ticks were dropped");
            // Ticks ran before these, and took what was dropped before them.
            self.dropped = Some(dropped);
        }
        due.next_deadline_ns
    }

    fn run_tick(&mut self, tick: Tick, lag_ns: u64) {
        self.shared.set_tick(tick);
        log_tick(tick);
        let since_last_ns = std::mem::take(&mut self.since_last_ns);
        let since_last_ns = if self.ran.is_some() { since_last_ns } else { 0 };
        let now = TickNow { tick, dropped: self.dropped.take(), lag_ns, since_last_ns };
        let mut spans = Spans::begin();
        self.process.tick(&now, &mut spans);
        spans.end();
        self.figures.ran(&spans, lag_ns);
        self.moments = 0;
        self.ran = Some(tick);
    }

    /// Waits for the deadline; takes in what others wake it for.
    fn idle(&mut self, deadline_ns: u64) {
        loop {
            let tick = self.ran.filter(|_| self.moments < Moment::RELEASES_MAX);
            let woken = self.waker.wait(deadline_ns, tick.is_some(), monotonic_ns);
            let (Woken::Pending, Some(tick)) = (woken, tick) else { return };
            self.moments += 1;
            let begun_ns = monotonic_ns();
            self.process.wake(tick, Moment::Release(self.moments));
            self.figures.woke(monotonic_ns().saturating_sub(begun_ns));
        }
    }

    fn decide(&mut self, decision: ClusterDecision) {
        crate::warn_rarely!(%decision, "the clock");
        self.process.decided(decision);
    }
}

#[cfg(test)]
mod tests;
