#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

const STEP: u64 = 50_000;

fn at(us: u64) -> EntityTime {
    EntityTime(us)
}

fn every(after_us: u64, period_us: u64, late: LatePolicy) -> TimerSpec {
    TimerSpec::Every { after_us, period_us, late }
}

/// (timer, occurrence) of what is due.
fn names(batch: &TimerBatch) -> Vec<(u32, u64)> {
    batch.fires.iter().map(|fire| (fire.id, fire.k)).collect()
}

fn travelled(timers: &Timers) -> Timers {
    postcard::from_bytes(&postcard::to_stdvec(timers).unwrap()).unwrap()
}

#[test]
fn a_timer_fires_once_when_the_entity_changes_hands_before_at_or_after_its_moment() {
    let due_step = 10;
    for handoff_step in [due_step - 1, due_step, due_step + 1] {
        let mut timers = Timers::default();
        timers.set(1, at(0), TimerSpec::Once { after_us: due_step * STEP }).unwrap();
        let mut fired = Vec::new();
        for step in 1..=20 {
            if step == handoff_step {
                timers = travelled(&timers);
            }
            for fire in timers.due(at(step * STEP)).fires {
                fired.push((step, fire.id, fire.k));
            }
        }
        assert_eq!(fired, [(due_step, 1, 0)], "handed off at step {handoff_step}");
    }
}

#[test]
fn what_is_exactly_due_or_just_passed_fires_at_take_over_and_not_a_period_later() {
    for late_us in [0, 1, STEP] {
        let mut timers = Timers::default();
        timers.set(7, at(0), every(STEP, 10 * STEP, LatePolicy::Drop)).unwrap();
        let mut timers = travelled(&timers);
        assert_eq!(names(&timers.due(at(STEP + late_us))), [(7, 0)]);
        assert_eq!(timers.next_deadline(), Some(at(11 * STEP)), "the period does not slip");
    }
}

#[test]
fn nothing_fires_a_microsecond_early() {
    let mut timers = Timers::default();
    timers.set(1, at(500), TimerSpec::Once { after_us: 100 }).unwrap();
    assert_eq!(timers.due(at(599)), TimerBatch::default());
    assert_eq!(names(&timers.due(at(600))), [(1, 0)]);
}

#[test]
fn timers_fire_by_moment_and_then_by_number() {
    let mut timers = Timers::default();
    for (id, after_us) in [(9, 10), (2, 20), (1, 20), (4, 5)] {
        timers.set(id, at(0), TimerSpec::Once { after_us }).unwrap();
    }
    let ids: Vec<u32> = timers.due(at(20)).fires.iter().map(|fire| fire.id).collect();
    assert_eq!(ids, [4, 9, 1, 2]);
}

#[test]
fn a_late_timer_catches_up_coalesces_or_drops_as_declared_and_says_so() {
    let cases = [
        (LatePolicy::CatchUp, vec![(0, 1), (1, 1), (2, 1), (3, 1)]),
        (LatePolicy::Coalesce, vec![(3, 4)]),
        (LatePolicy::Drop, vec![(3, 1)]),
    ];
    for (policy, expected) in cases {
        let mut timers = Timers::default();
        timers.set(1, at(0), every(100, 100, policy)).unwrap();
        let batch = timers.due(at(450));
        let fires: Vec<_> = batch.fires.iter().map(|fire| (fire.k, fire.count)).collect();
        assert_eq!(fires, expected, "{policy:?}");
        let decision = TimerDecision { id: 1, policy, from_k: 0, to_k: 4, at: at(450) };
        assert_eq!(batch.decisions, [decision]);
        assert_eq!(names(&timers.due(at(500))), [(1, 4)], "{policy:?}");
    }
}

#[test]
fn a_period_shorter_than_a_step_never_starves() {
    for policy in [LatePolicy::CatchUp, LatePolicy::Coalesce, LatePolicy::Drop] {
        let mut timers = Timers::default();
        timers.set(1, at(0), every(10, 10, policy)).unwrap();
        for step in 1..=5 {
            assert!(!timers.due(at(step * 35)).fires.is_empty(), "{policy:?}");
        }
    }
}

#[test]
fn a_full_batch_leaves_the_rest_due_and_loses_nothing() {
    let mut timers = Timers::default();
    timers.set(1, at(0), every(1, 1, LatePolicy::CatchUp)).unwrap();
    let (mut seen, mut rounds) = (Vec::new(), 0);
    loop {
        let batch = timers.due(at(1_000));
        assert!(batch.fires.len() <= TIMER_FIRES_MAX);
        seen.extend(batch.fires.iter().map(|fire| fire.k));
        rounds += 1;
        if !batch.more {
            break;
        }
    }
    assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
    assert_eq!(rounds, 4);
}

#[test]
fn a_timer_set_anew_never_repeats_the_name_of_an_occurrence() {
    let mut timers = Timers::default();
    let spec = every(10, 10, LatePolicy::CatchUp);
    timers.set(1, at(0), spec).unwrap();
    let mut seen = names(&timers.due(at(30)));
    timers.set(1, at(30), spec).unwrap();
    assert_eq!(timers.rows().len(), 1);
    seen.extend(names(&timers.due(at(50))));
    assert!(timers.cancel(1));
    assert!(!timers.cancel(1));
    let mut timers = travelled(&timers);
    timers.set(1, at(50), TimerSpec::Once { after_us: 0 }).unwrap();
    seen.extend(names(&timers.due(at(50))));
    assert_eq!(seen.len(), 6);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn a_full_table_and_a_period_of_zero_are_refused_and_change_nothing() {
    let mut timers = Timers::default();
    for id in 0..TIMERS_MAX as u32 {
        timers.set(id, at(0), TimerSpec::Once { after_us: 9 }).unwrap();
    }
    let before = timers.clone();
    let once = TimerSpec::Once { after_us: 1 };
    assert_eq!(timers.set(1_000, at(0), once), Err(TimerError::Full));
    let zero = every(1, 0, LatePolicy::Drop);
    assert_eq!(timers.set(0, at(0), zero), Err(TimerError::ZeroPeriod));
    assert_eq!(timers, before);
    assert_eq!(timers.set(0, at(0), once), Ok(()), "a running timer may be set anew");
}

#[test]
fn a_timer_at_the_end_of_entity_time_ends() {
    let mut timers = Timers::default();
    timers.set(1, at(0), every(u64::MAX - 5, 10, LatePolicy::CatchUp)).unwrap();
    assert_eq!(names(&timers.due(at(u64::MAX))), [(1, 0)]);
    assert!(timers.rows().is_empty());
}

#[test]
fn a_table_that_breaks_the_rules_does_not_decode() {
    let row = |id, due: u64| Timer { id, due: at(due), k: 0, period: None };
    let zero = Timer { period: Some((0, LatePolicy::Drop)), ..row(1, 1) };
    let many = (0..=TIMERS_MAX as u32).map(|id| row(id, 1)).collect();
    for rows in [vec![row(1, 2), row(2, 1)], vec![row(1, 1), row(1, 2)], vec![zero], many] {
        let bytes = postcard::to_stdvec(&Timers { rows, next_k: 0 }).unwrap();
        assert!(postcard::from_bytes::<Timers>(&bytes).is_err());
    }
}

fn policies() -> impl Strategy<Value = LatePolicy> {
    prop_oneof![Just(LatePolicy::CatchUp), Just(LatePolicy::Coalesce), Just(LatePolicy::Drop)]
}

proptest! {
    #[test]
    fn each_occurrence_happens_or_is_decided_about_once_and_never_early(
        specs in proptest::collection::vec((0u64..300, 20u64..200, policies()), 1..8),
        steps in proptest::collection::vec(0u64..400, 1..60),
    ) {
        let mut timers = Timers::default();
        for (id, (after_us, period_us, late)) in specs.iter().enumerate() {
            timers.set(id as u32, at(0), every(*after_us, *period_us, *late)).unwrap();
        }
        let mut next_k = vec![0u64; specs.len()];
        let mut now = at(0);
        for step in steps {
            now = now.after_us(step);
            timers = travelled(&timers);
            let batch = timers.due(now);
            let order: Vec<_> = batch.fires.iter().map(|fire| (fire.due, fire.id)).collect();
            prop_assert!(!batch.more);
            prop_assert!(order.is_sorted());
            for fire in &batch.fires {
                let (after_us, period_us, late) = specs[fire.id as usize];
                prop_assert_eq!(fire.due, at(after_us + fire.k * period_us));
                prop_assert!(fire.due <= now);
                let known = &mut next_k[fire.id as usize];
                if fire.k > *known {
                    let told = batch.decisions.iter().find(|told| told.id == fire.id).unwrap();
                    prop_assert_eq!((told.from_k, told.to_k), (*known, fire.k + 1));
                    prop_assert!(late != LatePolicy::CatchUp);
                }
                prop_assert_eq!(fire.count, match late {
                    LatePolicy::Coalesce => fire.k + 1 - *known,
                    _ => 1,
                });
                prop_assert!(fire.k >= *known);
                *known = fire.k + 1;
            }
            prop_assert!(timers.next_deadline().is_some_and(|due| due > now));
        }
    }
}
