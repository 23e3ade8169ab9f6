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
        delay_us in proptest::collection::vec(50u64..900, 36),
    ) {
        let count = offsets_ms.len();
        let mut clocks: Vec<ClusterClock> = offsets_ms
            .iter()
            .map(|ms| ClusterConfig {
                origin_ns: ms * MS as i64,
                step_ns: STEP,
                phase_ns: 0,
                cap: 4,
                version: 0,
            })
            .map(|config| ClusterClock::new(config).unwrap())
            .collect();
        let local = |which: usize, true_ns: u64| {
            let drift = true_ns as i64 / 1_000_000 * drift_ppm[which];
            (true_ns as i64 + drift) as u64
        };
        let spread = |clocks: &[ClusterClock], true_ns: u64| {
            let times = (0..count).map(|i| clocks[i].cluster_ns(local(i, true_ns)));
            times.clone().max().unwrap() - times.min().unwrap()
        };
        let begin_ns = 1_000 * MS;
        for round in 0..400 {
            let true_ns = begin_ns + round * STEP;
            for from in 0..count {
                let sent_ns = local(from, true_ns);
                clocks[from].due(sent_ns);
                let tick = Tick(round);
                let phase_ns = clocks[from].phase_ns(tick, sent_ns);
                for to in (0..count).filter(|to| *to != from) {
                    // The link knows the delay to within a fifth.
                    let delay_ns = delay_us[from * 6 + to] * 1_000;
                    let sample = PeerSample { tick, phase_ns, delay_ns: delay_ns * 4 / 5 };
                    let node = Node::new(NodeKind::Cell, from as u16 + 1, 1);
                    clocks[to].observe_peer(node, sample, local(to, true_ns + delay_ns));
                }
            }
        }
        let end_ns = begin_ns + 400 * STEP;
        prop_assert!(spread(&clocks, end_ns) < 3 * i128::from(MS), "{}", spread(&clocks, end_ns));
        // They agree with each other without running away from the time that really passed.
        let mean: i64 = offsets_ms.iter().sum::<i64>() * MS as i64 / count as i64;
        let away = clocks[0].cluster_ns(local(0, end_ns)) - i128::from(end_ns) + i128::from(mean);
        prop_assert!(away.unsigned_abs() < u128::from(30 * MS), "{}", away);
    }
}
