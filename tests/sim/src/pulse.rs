//! The clock of a process: its own rate, its skew, what keeps its thread busy, and when it stands
//! still.

use crate::config::{STEP_US, SimConfig};
use crate::faults::Class;
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_common::rng::Rng;
use marchland_common::time::{ClusterClock, ClusterConfig, Dropped, Due, PeerSample};

/// How far a clock may be off at most, in parts of a million: two are one percent apart at most.
const RATE_PPM: i64 = 5_000;
const MILLION: i128 = 1_000_000;

pub(crate) struct Pulse {
    clock: ClusterClock,
    skew_us: u64,
    rate_ppm: i64,
    /// Until when the ticks that ran so far keep the thread busy.
    pub(crate) busy_until: u64,
    /// Until when the process stands still.
    pub(crate) stands_until: u64,
    pub(crate) dropped: Option<Dropped>,
}

impl Pulse {
    pub(crate) fn new(config: &SimConfig, node: Node, rng: &mut Rng) -> Self {
        let phase_us = if node.name.kind == NodeKind::Base { STEP_US / 2 } else { 0 };
        let cluster = ClusterConfig {
            origin_ns: 0,
            step_ns: STEP_US * 1_000,
            phase_ns: phase_us * 1_000,
            cap: 4,
            version: 1,
        };
        let clock = match ClusterClock::new(cluster) {
            Ok(clock) => clock,
            Err(bad) => unreachable!("the simulator's own settings: {bad}"),
        };
        let skew_us = rng.below(if config.calm { 1_000 } else { 6_000 });
        let rate_ppm = rng.between(-RATE_PPM, RATE_PPM);
        let rate_ppm = if config.has(Class::Clocks) { rate_ppm } else { 0 };
        Self { clock, skew_us, rate_ppm, busy_until: 0, stands_until: 0, dropped: None }
    }

    /// The local clock in nanoseconds.
    fn local_ns(&self, now: u64) -> u64 {
        let elapsed = i128::from(now.saturating_sub(self.skew_us)) * 1_000;
        (elapsed * (MILLION + i128::from(self.rate_ppm)) / MILLION) as u64
    }

    /// When the local clock shows a time, in microseconds.
    fn when(&self, local_ns: u64) -> u64 {
        let elapsed = i128::from(local_ns) * MILLION / (MILLION + i128::from(self.rate_ppm));
        (elapsed as u64).div_ceil(1_000) + self.skew_us
    }

    /// Until when nothing runs here, if it is later than now.
    pub(crate) fn is_held(&self, now: u64) -> bool {
        now < self.busy_until.max(self.stands_until)
    }

    pub(crate) const fn stands(&self, now: u64) -> bool {
        now < self.stands_until
    }

    /// What is due, and when to look again.
    pub(crate) fn due(&mut self, now: u64) -> (Due, u64) {
        let due = self.clock.due(self.local_ns(now));
        let next = self.when(due.next_deadline_ns).max(now + 1);
        (due, next)
    }

    /// How far into a tick it is, for what is sent.
    pub(crate) fn phase_us(&self, tick: Tick, now: u64) -> i32 {
        let phase = self.clock.phase_ns(tick, self.local_ns(now)) / 1_000;
        i32::try_from(phase).unwrap_or(i32::MAX)
    }

    /// Takes in where a peer was when it sent something.
    pub(crate) fn observe(&mut self, now: u64, peer: Node, tick: Tick, phase_us: i32) {
        let phase_ns = i64::from(phase_us) * 1_000;
        let sample = PeerSample { tick, phase_ns, delay_ns: 0 };
        self.clock.observe_peer(peer, sample, self.local_ns(now));
    }
}
