//! The cluster clock: which tick numbers a process runs, and when.
//!
//! A tick's number is the same in every process. `cluster time = local - origin + adjustment`;
//! tick `t` starts at `t * step + phase`, where bases have half a step of phase so that a cell's
//! tick reaches them in the middle of theirs.
//!
//! Invariants: from the first number on, every number is run once or is in exactly one
//! [`Dropped`] record, in strictly increasing order; cluster time never goes back, whatever the
//! local clock and the peers say; it runs at most [`SLEW_PERMILLE`] faster or slower than the local
//! clock.
//!
//! After a stall at most `cap` late numbers run and all others that are due are dropped, the
//! present one included, so that one call never orders more than `cap` ticks; the next number is
//! the next to fall due, and the process is on the cluster's beat again.
//!
//! What this does not do: it does not step towards peers. A process whose clock stood still while
//! the machine slept must say so ([`ClusterClock::skip_ahead`]).

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::decision::{Dropped, TickRange};
use super::peers::{PeerSample, Peers, SKEW_WARNING_NS, SLEW_DEAD_BAND_NS, SLEW_PERMILLE};
use super::policy::{CAP_MAX, ClockConfigError, OverloadPolicy, STEP_NS_MAX, STEP_NS_MIN};
use crate::order::{Node, Tick};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a process maps its monotonic clock to the cluster's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterConfig {
    /// The local nanosecond at which tick 0 started, as estimated at start; negative when that was
    /// before the local clock's zero.
    pub origin_ns: i64,
    /// Length of a tick: [`STEP_NS_MIN`] to [`STEP_NS_MAX`].
    pub step_ns: u64,
    /// How long after the cluster's beat this process starts its ticks; below a step.
    pub phase_ns: u64,
    /// Most ticks that one call orders: 1 to [`CAP_MAX`].
    pub cap: u32,
    /// Version of this policy, written into every record of dropped ticks.
    pub version: u32,
}

impl ClusterConfig {
    /// Checks the limits.
    ///
    /// # Errors
    /// The first field that is out of its range, with the value found.
    pub fn check(&self) -> Result<(), ClockConfigError> {
        let &Self { step_ns, phase_ns, cap, .. } = self;
        if !(STEP_NS_MIN..=STEP_NS_MAX).contains(&step_ns) {
            return Err(ClockConfigError::Step { step_ns });
        }
        if phase_ns >= step_ns {
            return Err(ClockConfigError::Phase { phase_ns, step_ns });
        }
        if !(1..=CAP_MAX).contains(&cap) {
            return Err(ClockConfigError::Cap { cap });
        }
        Ok(())
    }
}

/// What is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The ticks to run now, in order. May be empty.
    pub run: TickRange,
    /// The ticks that will never be run here; they come after `run`.
    pub dropped: Option<Dropped>,
    /// The local nanosecond at which the next tick falls due.
    pub next_deadline_ns: u64,
    /// How late the first tick in `run` starts, measured from its own deadline.
    pub lag_ns: u64,
    /// What else was decided; to be journalled.
    pub decisions: Vec<ClusterDecision>,
}

/// A decision of a [`ClusterClock`] that belongs in the journal, beside dropped ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterDecision {
    /// The local clock went back; cluster time stood still and goes on from where it was.
    Backwards {
        /// How far it went back.
        by_ns: u64,
    },
    /// The peers' median is further away than [`SKEW_WARNING_NS`]. Positive: they are ahead.
    SkewHigh {
        /// The skew.
        skew_ns: i64,
    },
    /// The skew is below half of the warning level again.
    SkewRecovered {
        /// The skew.
        skew_ns: i64,
    },
    /// Cluster time was moved ahead by order.
    SkippedAhead {
        /// How far.
        by_ns: u64,
    },
}

impl fmt::Display for ClusterDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backwards { by_ns } => {
                write!(f, "the monotonic clock went back {by_ns} ns: ignored")
            }
            Self::SkewHigh { skew_ns } => write!(
                f,
                "cluster time differs from the median of the peers by {skew_ns} ns; over \
                 {SKEW_WARNING_NS} ns, handoffs may miss a tick"
            ),
            Self::SkewRecovered { skew_ns } => {
                write!(f, "cluster time is within {skew_ns} ns of the median of the peers again")
            }
            Self::SkippedAhead { by_ns } => write!(f, "cluster time moved ahead by {by_ns} ns"),
        }
    }
}

/// Counts since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterCounters {
    /// Ticks ordered.
    pub run: u64,
    /// Ticks dropped.
    pub dropped: u64,
    /// How often the local clock went back.
    pub backwards: u64,
    /// Words of peers refused because the table was full.
    pub peers_refused: u64,
    /// Largest lag of a tick that was run, in nanoseconds.
    pub lag_ns_max: u64,
}

/// Maps the local monotonic clock to cluster ticks. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterClock {
    config: ClusterConfig,
    adjust_ns: i128,
    last_ns: Option<u64>,
    next: Option<Tick>,
    peers: Peers,
    skew_high: bool,
    counters: ClusterCounters,
}

impl ClusterClock {
    /// A clock that has not been asked yet.
    ///
    /// # Errors
    /// When the configuration is out of its limits.
    pub fn new(config: ClusterConfig) -> Result<Self, ClockConfigError> {
        config.check()?;
        Ok(Self {
            config,
            adjust_ns: 0,
            last_ns: None,
            next: None,
            peers: Peers::default(),
            skew_high: false,
            counters: ClusterCounters::default(),
        })
    }

    /// Which ticks are due at `now_ns`. The first call orders none and fixes the first number: the
    /// first tick that has not started before `now_ns`.
    pub fn due(&mut self, now_ns: u64) -> Due {
        let mut decisions = Vec::new();
        self.absorb(now_ns, &mut decisions);
        let cluster_ns = self.cluster_ns(now_ns);
        let current = self.newest_started(cluster_ns);
        let Some(next) = self.next else {
            let first = self.newest_started(cluster_ns - 1).map_or(Tick(0), Tick::next);
            self.next = Some(first);
            return self.answer(TickRange { from: first, to: first }, None, 0, decisions);
        };
        let end = current.map_or(next, |tick| tick.next().max(next));
        let due = TickRange { from: next, to: end };
        let cut = Tick(next.0 + due.len().min(u64::from(self.config.cap)));
        let run = TickRange { from: next, to: cut };
        let dropped = (cut < end).then(|| self.drop_ticks(TickRange { from: cut, to: end }));
        let lag_ns = match run.is_empty() {
            true => 0,
            false => u64::try_from(cluster_ns - self.start(next)).unwrap_or(u64::MAX),
        };
        self.next = Some(end);
        self.counters.run += run.len();
        self.counters.lag_ns_max = self.counters.lag_ns_max.max(lag_ns);
        self.answer(run, dropped, lag_ns, decisions)
    }

    /// Takes in what a peer said in a message that arrived at `local_now_ns`. The moment of arrival
    /// counts, not the tick in which the message is read.
    pub fn observe_peer(&mut self, peer: Node, sample: PeerSample, local_now_ns: u64) {
        if !self.peers.hear(peer, sample, local_now_ns, &self.config) {
            self.counters.peers_refused += 1;
        }
    }

    /// Stops listening to a peer that is gone.
    pub fn forget_peer(&mut self, peer: Node) {
        self.peers.forget(peer);
    }

    /// Moves cluster time ahead, for time that the local clock did not count (a machine asleep).
    /// The ticks passed over fall due at the next call.
    pub fn skip_ahead(&mut self, by_ns: u64) -> ClusterDecision {
        self.adjust_ns += i128::from(by_ns);
        ClusterDecision::SkippedAhead { by_ns }
    }

    /// How far the peers' median is ahead of this process, in nanoseconds; negative when behind.
    /// None while no peer was heard of late.
    #[must_use]
    pub fn skew_ns(&self) -> Option<i64> {
        let skew = self.peers.median_ns()? - self.adjust_ns;
        Some(skew.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// How far the cluster's time is into `tick` at `now_ns`: what a message carries beside the
    /// tick it is stamped with. Without the phase of this process; negative before the tick, over
    /// a step when the tick runs late.
    #[must_use]
    pub fn phase_ns(&self, tick: Tick, now_ns: u64) -> i64 {
        let into = self.cluster_ns(now_ns) - i128::from(tick.0) * i128::from(self.config.step_ns);
        into.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The local nanosecond at which `tick` falls due here; 0 when that was before the local
    /// clock's zero.
    #[must_use]
    pub fn deadline_ns(&self, tick: Tick) -> u64 {
        let local = self.start(tick) + i128::from(self.config.origin_ns) - self.adjust_ns;
        local.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// The next number to be run or dropped; None before the first call.
    #[must_use]
    pub const fn next_tick(&self) -> Option<Tick> {
        self.next
    }

    /// The local nanosecond of tick 0, as believed now: what a new leader hands on.
    #[must_use]
    pub const fn origin_ns(&self) -> i128 {
        self.config.origin_ns as i128 - self.adjust_ns
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// Counts since the clock was made.
    #[must_use]
    pub const fn counters(&self) -> &ClusterCounters {
        &self.counters
    }

    fn cluster_ns(&self, now_ns: u64) -> i128 {
        i128::from(now_ns) - self.origin_ns()
    }

    fn start(&self, tick: Tick) -> i128 {
        i128::from(tick.0) * i128::from(self.config.step_ns) + i128::from(self.config.phase_ns)
    }

    /// Stays one below the largest number, so that there is always a next.
    fn newest_started(&self, cluster_ns: i128) -> Option<Tick> {
        let since_zero = u128::try_from(cluster_ns - self.start(Tick(0))).ok()?;
        let tick = since_zero / u128::from(self.config.step_ns);
        Some(Tick(u64::try_from(tick).unwrap_or(u64::MAX).min(u64::MAX - 1)))
    }

    fn drop_ticks(&mut self, ticks: TickRange) -> Dropped {
        self.counters.dropped += ticks.len();
        Dropped {
            from: ticks.from,
            to: ticks.to,
            ns: u128::from(ticks.len()) * u128::from(self.config.step_ns),
            policy: OverloadPolicy::Drop,
            version: self.config.version,
        }
    }

    fn answer(
        &self,
        run: TickRange,
        dropped: Option<Dropped>,
        lag_ns: u64,
        decisions: Vec<ClusterDecision>,
    ) -> Due {
        let next_deadline_ns = self.next.map_or(0, |tick| self.deadline_ns(tick));
        Due { run, dropped, next_deadline_ns, lag_ns, decisions }
    }

    fn absorb(&mut self, now_ns: u64, decisions: &mut Vec<ClusterDecision>) {
        let last_ns = self.last_ns.replace(now_ns).unwrap_or(now_ns);
        if let Some(by_ns) = last_ns.checked_sub(now_ns).filter(|by| *by > 0) {
            self.counters.backwards += 1;
            self.adjust_ns += i128::from(by_ns);
            self.peers.rebase(by_ns);
            decisions.push(ClusterDecision::Backwards { by_ns });
        }
        self.peers.expire(now_ns, self.config.step_ns);
        self.slew(now_ns.saturating_sub(last_ns));
        self.watch_skew(decisions);
    }

    fn slew(&mut self, elapsed_ns: u64) {
        let Some(target_ns) = self.peers.median_ns() else { return };
        let off_ns = target_ns - self.adjust_ns;
        if off_ns.unsigned_abs() > u128::from(SLEW_DEAD_BAND_NS) {
            let most = i128::from(elapsed_ns) * i128::from(SLEW_PERMILLE) / 1_000;
            self.adjust_ns += off_ns.clamp(-most, most);
        }
    }

    fn watch_skew(&mut self, decisions: &mut Vec<ClusterDecision>) {
        let Some(skew_ns) = self.skew_ns() else { return };
        let size = skew_ns.unsigned_abs();
        if !self.skew_high && size > SKEW_WARNING_NS {
            self.skew_high = true;
            decisions.push(ClusterDecision::SkewHigh { skew_ns });
        } else if self.skew_high && size < SKEW_WARNING_NS / 2 {
            self.skew_high = false;
            decisions.push(ClusterDecision::SkewRecovered { skew_ns });
        }
    }
}
