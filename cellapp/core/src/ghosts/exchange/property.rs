#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::{HEALTH, PLAIN, id};
use marchland_common::world::Pos;
use proptest::prelude::*;

const WOLVES: u64 = 4;

/// Something that happens to the cluster between two ticks.
#[derive(Clone, Debug)]
enum Op {
    Walk(u64, i32, i32),
    Hurt(u64, i64),
    HandOver(u64, usize),
    CallOff(u64, usize),
    Slow(u16, u16, u64),
    Think(u64, u64),
    Record(u64),
    Verdict(u64, usize, u64),
    Restart(usize),
    Swap(usize, usize),
    Destroy(u64),
    Pause(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let (wolf, at, number) = (1..=WOLVES, 0..PROCESSES, 1..=PROCESSES as u16);
    prop_oneof![
        12 => (wolf.clone(), -30_000..30_000_i32, -9_000..9_000_i32)
            .prop_map(|(n, x, y)| Op::Walk(n, x, y)),
        4 => (wolf.clone(), 0..99_i64).prop_map(|(n, health)| Op::Hurt(n, health)),
        8 => (wolf.clone(), at.clone()).prop_map(|(n, to)| Op::HandOver(n, to)),
        2 => (wolf.clone(), at.clone()).prop_map(|(n, to)| Op::CallOff(n, to)),
        4 => (number.clone(), number, 0..9_u64).prop_map(|(a, b, d)| Op::Slow(a, b, d)),
        2 => (0..6_u64, 0..6_u64).prop_map(|(grant, release)| Op::Think(grant, release)),
        2 => wolf.clone().prop_map(Op::Record),
        2 => (wolf.clone(), at.clone(), 0..20_u64).prop_map(|(n, to, f)| Op::Verdict(n, to, f)),
        1 => at.clone().prop_map(Op::Restart),
        1 => (at.clone(), at).prop_map(|(a, b)| Op::Swap(a, b)),
        1 => wolf.prop_map(Op::Destroy),
        2 => (1..20_u64).prop_map(Op::Pause),
    ]
}

impl Cluster {
    fn run(&mut self, op: &Op) {
        match *op {
            Op::Walk(n, dx, dy) => {
                if let Some(wolf) = self.wolf(id(n)) {
                    let Pos { x, y } = wolf.place.pos;
                    wolf.place.pos =
                        Pos::new((x + dx).clamp(0, 299_999), (y + dy).clamp(0, 99_999));
                }
            }
            Op::Hurt(n, health) => {
                if let Some(wolf) = self.wolf(id(n)) {
                    wolf.props[usize::from(HEALTH)] = Value::Int(health);
                    wolf.dirty |= 1 << HEALTH;
                }
            }
            Op::HandOver(n, to) => self.hand_over(n, to),
            Op::CallOff(n, to) => {
                self.base.aborts = true;
                self.hand_over(n, to);
            }
            Op::Slow(from, to, ticks) => drop(self.delay.insert((from, to), ticks)),
            Op::Think(grant, release) => {
                (self.base.grant_delay, self.base.release_delay) = (grant, release);
            }
            Op::Record(n) => {
                if let Some(wolf) = self.wolf(id(n)).cloned() {
                    self.base.record(id(n), &wolf);
                }
            }
            Op::Verdict(n, to, fence) => self.base.restore(id(n), to, fence, self.now),
            Op::Restart(at) => self.restart(at),
            Op::Swap(a, b) => {
                let mut owners: Vec<Node> = self
                    .map
                    .layout(PLAIN)
                    .unwrap()
                    .cells()
                    .iter()
                    .map(|cell| cell.owner.unwrap())
                    .collect();
                owners.swap(a, b);
                self.lay_out(&owners);
            }
            Op::Destroy(n) => {
                self.destroy(id(n));
            }
            Op::Pause(ticks) => self.ticks(ticks),
        }
        self.tick();
    }

    fn hand_over(&mut self, n: u64, to: usize) {
        let target = self.processes[to].node;
        if self.base.owner(id(n)) != Some(target)
            && let Some(wolf) = self.wolf(id(n))
        {
            wolf.leaving = Some(to);
        }
    }
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    for n in 1..=WOLVES {
        cluster.bear(n, Pos::metres(n as i32 * 60, 50));
    }
    cluster.ticks(3);
    cluster
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    /// Whatever walks, is handed over, restored, restarted or slow: no host ever shows a state that
    /// its owner did not flush, or an older one; and when it is quiet the ghosts are exactly those
    /// that the distance asks for, equal to their reals.
    #[test]
    fn ghosts_follow_their_reals_through_everything(
        ops in proptest::collection::vec(op(), 1..120),
    ) {
        let mut cluster = cluster();
        for (i, op) in ops.iter().enumerate() {
            cluster.run(op);
            if i % 16 == 0 {
                cluster.check_snapshots();
            }
        }
        cluster.ticks(440);
        cluster.check_quiet();
        prop_assert!(cluster.observer.applied > 0);
        for n in 1..=WOLVES {
            cluster.destroy(id(n));
        }
        cluster.ticks(40);
        cluster.check_empty();
    }
}

#[test]
fn ten_thousand_lives_that_cross_and_end_leave_nothing_behind() {
    let mut cluster = Cluster::new();
    for round in 0..100_u64 {
        let ids = round * 100 + 1..=round * 100 + 100;
        for n in ids.clone() {
            cluster.bear(n, Pos::metres(n as i32 % 90 + 5, 50));
        }
        cluster.ticks(2);
        for n in ids.clone() {
            let wolf = cluster.wolf(id(n)).unwrap();
            wolf.place.pos = Pos::metres(n as i32 % 90 + 105, 50);
            wolf.leaving = Some(1);
        }
        cluster.ticks(6);
        for n in ids {
            assert!(cluster.destroy(id(n)));
        }
        cluster.ticks(3);
    }
    cluster.ticks(20);
    cluster.check_empty();
    cluster.ticks(super::super::TOMB_TICKS + 1);
    assert!(cluster.processes.iter().all(|process| process.mirrors.tombs() == (0, 0)));
}
