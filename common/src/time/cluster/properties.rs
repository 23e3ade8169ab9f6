#![allow(clippy::unwrap_used)]
use super::*;
use crate::order::NodeKind;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const STEP: u64 = 50 * MS;

#[derive(Clone, Debug)]
enum Op {
    Pass(u64),
    Jump(u64),
    Peer(u16, u64, i64),
    Sleep(u64),
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0u64..120 * MS).prop_map(Op::Pass),
        1 => (0u64..5_000 * MS).prop_map(Op::Pass),
        1 => prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)].prop_map(Op::Jump),
        2 => (1u16..6, any::<u64>(), any::<i64>()).prop_map(|(p, t, ns)| Op::Peer(p, t, ns)),
        4 => (1u16..6, 0u64..100, -50_000_000i64..50_000_000)
            .prop_map(|(p, t, ns)| Op::Peer(p, t, ns)),
        1 => (0u64..3_000 * MS).prop_map(Op::Sleep),
    ]
}

proptest! {
    #[test]
    fn every_number_is_run_once_or_dropped_once_in_rising_order(
        origin_ns in any::<i64>(),
        phase_ns in 0u64..STEP,
        cap in 1u32..8,
        start_ns in any::<u64>(),
        ops in proptest::collection::vec(ops(), 1..150),
    ) {
        let config = ClusterConfig { origin_ns, step_ns: STEP, phase_ns, cap, version: 1 };
        let mut clock = ClusterClock::new(config).unwrap();
        let mut now_ns = start_ns;
        clock.due(now_ns);
        let mut next = clock.next_tick().unwrap();
        let mut cluster_ns = clock.cluster_ns(now_ns);
        for op in ops {
            match op {
                Op::Pass(by) => now_ns = now_ns.saturating_add(by),
                Op::Jump(to) => now_ns = to,
                Op::Peer(number, tick, phase_ns) => {
                    let sample = PeerSample { tick: Tick(tick), phase_ns, delay_ns: 0 };
                    clock.observe_peer(Node::new(NodeKind::Cell, number, 1), sample, now_ns);
                }
                Op::Sleep(by) => drop(clock.skip_ahead(by)),
            }
            let due = clock.due(now_ns);
            prop_assert_eq!(due.run.from, next);
            prop_assert!(due.run.len() <= u64::from(cap));
            next = due.run.to;
            if let Some(dropped) = due.dropped {
                prop_assert_eq!(dropped.from, next);
                prop_assert!(dropped.from < dropped.to);
                next = dropped.to;
            }
            prop_assert_eq!(clock.next_tick(), Some(next));
            // Caught up: what is next has not started yet, and time did not go back.
            let after_ns = clock.cluster_ns(now_ns);
            prop_assert!(clock.start(next) > after_ns);
            prop_assert!(after_ns >= cluster_ns);
            cluster_ns = after_ns;
        }
    }

    #[test]
    fn clocks_that_differ_and_drift_come_together_and_stay(
        offsets_ms in proptest::collection::vec(-15i64..15, 2..6),
        drift_ppm in proptest::collection::vec(-200i64..200, 6),
        seed in any::<u64>(),
    ) {
        let mut cluster = Cluster::new(&offsets_ms, drift_ppm, seed);
        (0..600).for_each(|round| cluster.exchange(round));
        let spread = cluster.spread_ns();
        prop_assert!(spread < 3 * i128::from(MS), "{spread} ns apart");
        // They agree with each other without running away from the time that really passed.
        let mean_ns = offsets_ms.iter().sum::<i64>() * MS as i64 / offsets_ms.len() as i64;
        let away = cluster.time_ns(0) - i128::from(cluster.true_ns) + i128::from(mean_ns);
        prop_assert!(away.unsigned_abs() < u128::from(30 * MS), "{away} ns away");
    }
}

/// Some clocks that tell each other the time once a step over links whose delay nobody knows.
struct Cluster {
    clocks: Vec<ClusterClock>,
    drift_ppm: Vec<i64>,
    random: u64,
    true_ns: u64,
}

impl Cluster {
    fn new(offsets_ms: &[i64], drift_ppm: Vec<i64>, seed: u64) -> Self {
        let config = |ms: &i64| {
            let origin_ns = ms * MS as i64;
            ClusterConfig { origin_ns, step_ns: STEP, phase_ns: 0, cap: 4, version: 0 }
        };
        let clocks = offsets_ms.iter().map(|ms| ClusterClock::new(config(ms)).unwrap()).collect();
        Self { clocks, drift_ppm, random: seed | 1, true_ns: 0 }
    }

    fn local_ns(&self, which: usize, true_ns: u64) -> u64 {
        let drift = true_ns as i64 / 1_000_000 * self.drift_ppm[which];
        (true_ns as i64 + drift) as u64
    }

    fn time_ns(&self, which: usize) -> i128 {
        self.clocks[which].cluster_ns(self.local_ns(which, self.true_ns))
    }

    fn spread_ns(&self) -> i128 {
        let times = (0..self.clocks.len()).map(|which| self.time_ns(which));
        times.clone().max().unwrap() - times.min().unwrap()
    }

    /// 0.1 ms, and up to 2 ms of luck.
    fn delay_ns(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        MS / 10 + self.random % (2 * MS)
    }

    fn exchange(&mut self, round: u64) {
        self.true_ns = 1_000 * MS + round * STEP;
        for from in 0..self.clocks.len() {
            let sent_ns = self.local_ns(from, self.true_ns);
            self.clocks[from].due(sent_ns);
            let phase_ns = self.clocks[from].phase_ns(Tick(round), sent_ns);
            let sample = PeerSample { tick: Tick(round), phase_ns, delay_ns: 0 };
            for to in (0..self.clocks.len()).filter(|to| *to != from) {
                let delay_ns = self.delay_ns();
                let arrived_ns = self.local_ns(to, self.true_ns + delay_ns);
                let node = Node::new(NodeKind::Cell, from as u16 + 1, 1);
                self.clocks[to].observe_peer(node, sample, arrived_ns);
            }
        }
    }
}
