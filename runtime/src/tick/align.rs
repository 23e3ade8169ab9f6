//! Where cluster time begins for a process that starts, and time that its clock did not count.
//!
//! Calendar time is used once and only by those who have nobody to ask: the manager wrote into the
//! store at which calendar millisecond tick 0 began. A process that hears peers takes the time
//! from them, and from then on they slew towards each other; nobody looks at the calendar again.

use crate::link::Observation;
use marchland_common::order::Node;
use std::collections::BTreeMap;

/// How a process finds the beginning of tick 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// By the key in the store, on this machine's monotonic clock; see [`origin_of_calendar`].
    pub by_key_ns: i64,
    /// For how many steps to listen for peers before the key is believed; 0 believes it at once.
    pub listen_steps: u32,
}

/// The monotonic nanosecond at which tick 0 began or begins, from its calendar millisecond and one
/// reading of both clocks.
#[must_use]
pub const fn origin_of_calendar(origin_ms: u64, calendar_ms: u64, monotonic_ns: u64) -> i64 {
    let since_ns = (calendar_ms as i128 - origin_ms as i128) * 1_000_000;
    let origin_ns = monotonic_ns as i128 - since_ns;
    // A key that is centuries off ends at the limits; the clock then drops what it cannot run.
    if origin_ns > i64::MAX as i128 {
        i64::MAX
    } else if origin_ns < i64::MIN as i128 {
        i64::MIN
    } else {
        origin_ns as i64
    }
}

/// What peers say about the beginning of tick 0, while a process listens before it starts.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// Of each peer the earliest origin that it implied: a message that was long under way makes
    /// its peer look late, never early.
    origins: BTreeMap<Node, i128>,
}

impl Listener {
    pub(super) fn hear(&mut self, said: Observation, step_ns: u64) {
        let cluster_ns = i128::from(said.sample.tick.0) * i128::from(step_ns)
            + i128::from(said.sample.phase_ns)
            + i128::from(said.sample.delay_ns);
        let origin_ns = i128::from(said.arrived_ns) - cluster_ns;
        let earliest = self.origins.entry(said.peer).or_insert(origin_ns);
        *earliest = origin_ns.min(*earliest);
    }

    /// The median of the peers; none if nobody spoke.
    pub(super) fn origin_ns(&self) -> Option<i64> {
        let mut all: Vec<i128> = self.origins.values().copied().collect();
        all.sort_unstable();
        let middle = *all.get(all.len().checked_sub(1)? / 2)?;
        i64::try_from(middle).ok()
    }
}

/// Notices that the machine slept: the monotonic clock stood still meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct SuspendWatch {
    slept_ns: Option<u64>,
}

/// Differences between two readings that are no sleep.
const NOISE_NS: u64 = 1_000_000;

impl SuspendWatch {
    /// Takes both clocks' readings; says how long the machine slept since the last time.
    pub fn check(&mut self, monotonic_ns: u64, boottime_ns: u64) -> Option<u64> {
        let slept_ns = boottime_ns.saturating_sub(monotonic_ns);
        let before_ns = self.slept_ns.unwrap_or(slept_ns);
        let news_ns = slept_ns.saturating_sub(before_ns);
        if self.slept_ns.is_none() || news_ns > NOISE_NS {
            self.slept_ns = Some(slept_ns);
        }
        (news_ns > NOISE_NS).then_some(news_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::{NodeKind, Tick};
    use marchland_common::time::PeerSample;

    const STEP: u64 = 50_000_000;

    fn said(peer: u16, tick: u64, phase_ns: i64, arrived_ns: u64) -> Observation {
        let peer = Node::new(NodeKind::Cell, peer, 1);
        let sample = PeerSample { tick: Tick(tick), phase_ns, delay_ns: 0 };
        Observation { peer, sample, arrived_ns }
    }

    #[test]
    fn the_key_and_one_reading_of_both_clocks_give_the_origin() {
        assert_eq!(origin_of_calendar(1_000, 3_500, 9_000_000_000), 6_500_000_000);
        // The machine started after the cluster.
        assert_eq!(origin_of_calendar(1_000, 11_000, 4_000_000_000), -6_000_000_000);
        // Tick 0 is still to come.
        assert_eq!(origin_of_calendar(2_000, 1_000, 5), 1_000_000_005);
        assert_eq!(origin_of_calendar(0, u64::MAX, 0), i64::MIN);
        assert_eq!(origin_of_calendar(u64::MAX, 0, 0), i64::MAX);
    }

    #[test]
    fn a_joiner_takes_the_median_of_its_peers_and_of_each_its_quickest_word() {
        let mut listener = Listener::default();
        assert_eq!(listener.origin_ns(), None);
        let at = |tick: u64| 700 + tick * STEP;
        listener.hear(said(1, 4, 0, at(4) + 900), STEP);
        listener.hear(said(1, 5, 10, at(5) + 10), STEP);
        listener.hear(said(2, 5, 0, at(5) + 40), STEP);
        // One that is hours away moves nobody.
        listener.hear(said(3, 90_000, 0, at(5)), STEP);
        assert_eq!(listener.origin_ns(), Some(700));
    }

    #[test]
    fn only_time_that_the_monotonic_clock_did_not_count_is_sleep() {
        let mut watch = SuspendWatch::default();
        assert_eq!(watch.check(1_000, 90_000_000_000), None, "before this process");
        assert_eq!(watch.check(5_000_000_000, 95_000_000_000), None);
        assert_eq!(watch.check(6_000_000_000, 127_000_000_000), Some(31_000_001_000));
        assert_eq!(watch.check(7_000_000_000, 128_000_000_000), None, "told once");
    }
}
