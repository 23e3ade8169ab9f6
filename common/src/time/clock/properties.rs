#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

/// Every denominator below 20 divides this.
const ALL_DENS: u128 = 232_792_560;

#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    Within(u64, u32),
    Jump(u64),
    Policy(OverloadPolicy, u32),
    Scale(u32, u32),
    Pause(bool),
}

fn policies() -> impl Strategy<Value = OverloadPolicy> {
    prop_oneof![
        (0u32..50).prop_map(|backlog_max_steps| OverloadPolicy::CatchUp { backlog_max_steps }),
        Just(OverloadPolicy::Drop),
        (100u32..=1_000)
            .prop_map(|stretch_max_percent| OverloadPolicy::SlowDown { stretch_max_percent }),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u64..400_000_000).prop_map(Op::Advance),
        1 => (0u64..400_000_000, 0u32..6).prop_map(|(by, afford)| Op::Within(by, afford)),
        1 => prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)].prop_map(Op::Jump),
        1 => (policies(), 1u32..20).prop_map(|(policy, cap)| Op::Policy(policy, cap)),
        1 => (1u32..200, 1u32..20).prop_map(|(num, den)| Op::Scale(num, den)),
        1 => any::<bool>().prop_map(Op::Pause),
    ]
}

/// What the clock is compared with: plain sums, and the numbers that must come next.
struct Model {
    now_ns: u64,
    aligned: bool,
    paused: bool,
    scale: (u32, u32),
    /// Scaled time times `ALL_DENS`.
    scaled_parts: u128,
    executed_ns: u128,
    next: u64,
}

impl Model {
    fn pass(&mut self, now_ns: u64) {
        let elapsed_ns = if self.aligned { now_ns.saturating_sub(self.now_ns) } else { 0 };
        (self.now_ns, self.aligned) = (now_ns, true);
        if !self.paused {
            let (num, den) = self.scale;
            self.scaled_parts +=
                u128::from(elapsed_ns) * u128::from(num) * (ALL_DENS / u128::from(den));
        }
    }

    fn take(&mut self, advance: &Advance, cap: u32) {
        assert_eq!(advance.ticks.from.0, self.next);
        assert!(advance.steps() <= u64::from(cap));
        self.next = advance.ticks.to.0;
        self.executed_ns += u128::from(advance.steps()) * u128::from(advance.step_ns);
        for decision in &advance.decisions {
            if let ClockDecision::Dropped(dropped) = decision {
                assert_eq!(dropped.from.0, self.next);
                let length = u128::from(advance.step_ns);
                assert_eq!(dropped.ns, u128::from(dropped.ticks().len()) * length);
                self.next = dropped.to.0;
            }
        }
    }
}

fn agree(clock: &WorldClock, model: &Model) {
    let account = clock.account();
    assert!(account.balances());
    assert_eq!(account.scaled_ns, model.scaled_parts / ALL_DENS);
    assert_eq!(account.executed_ns, model.executed_ns);
    assert_eq!(clock.next_tick().0, model.next);
    let (part, whole) = clock.alpha_ratio();
    assert!(part < whole && (0.0..1.0).contains(&clock.alpha()));
}

proptest! {
    #[test]
    fn every_nanosecond_is_accounted_for_and_every_number_is_run_or_dropped(
        start in any::<u64>(),
        step_ns in 100_000u64..200_000_000,
        ops in proptest::collection::vec(ops(), 1..120),
    ) {
        let policy = OverloadPolicy::Drop;
        let config = ClockConfig { step_ns, cap: 4, policy, version: 0 };
        let mut clock = WorldClock::new(config).unwrap();
        let mut model = Model {
            now_ns: start,
            aligned: false,
            paused: false,
            scale: (1, 1),
            scaled_parts: 0,
            executed_ns: 0,
            next: 0,
        };
        for op in ops {
            let cap = clock.config().cap;
            match op {
                Op::Advance(by) => {
                    model.pass(model.now_ns.saturating_add(by));
                    model.take(&clock.advance(model.now_ns), cap);
                }
                Op::Within(by, afford) => {
                    model.pass(model.now_ns.saturating_add(by));
                    model.take(&clock.advance_within(model.now_ns, afford), cap.min(afford));
                }
                Op::Jump(to) => {
                    model.pass(to);
                    model.take(&clock.advance(to), cap);
                }
                Op::Policy(policy, cap) => drop(clock.set_policy(policy, cap).unwrap()),
                Op::Scale(num, den) => {
                    model.scale = (num, den);
                    clock.set_scale(Scale::new(num, den).unwrap());
                }
                Op::Pause(paused) => {
                    model.paused = paused;
                    clock.set_paused(paused);
                }
            }
            agree(&clock, &model);
            let bytes = postcard::to_stdvec(&clock).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<WorldClock>(&bytes).unwrap(), &clock);
        }
    }

    #[test]
    fn the_backlog_never_exceeds_what_its_policy_declares(
        policy in policies(),
        cap in 1u32..20,
        frames in proptest::collection::vec(0u64..3_000_000_000, 1..80),
    ) {
        let step_ns = 20_000_000;
        let mut clock = WorldClock::new(ClockConfig { step_ns, cap, policy, version: 0 }).unwrap();
        let mut now_ns = 0;
        clock.advance(now_ns);
        for frame_ns in frames {
            now_ns += frame_ns;
            let advance = clock.advance(now_ns);
            let waiting_max = match policy {
                OverloadPolicy::CatchUp { backlog_max_steps } => u128::from(backlog_max_steps),
                _ => 0,
            };
            let bound = (waiting_max + 1) * u128::from(advance.step_ns);
            prop_assert!(clock.account().backlog_ns < bound);
            prop_assert!((step_ns..=clock.config().step_ns_max()).contains(&advance.step_ns));
        }
    }
}
