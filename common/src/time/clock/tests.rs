#![allow(clippy::unwrap_used)]
use super::*;
use crate::time::FakeTime;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// A sixtieth of a second, rounded as a frame's increment is.
const SIXTIETH: u64 = 16_666_667;
const PATIENT: OverloadPolicy = OverloadPolicy::CatchUp { backlog_max_steps: 1_000_000 };

fn clock(step_ns: u64, cap: u32, policy: OverloadPolicy) -> WorldClock {
    WorldClock::new(ClockConfig { step_ns, cap, policy, version: 1 }).unwrap()
}

/// A clock that is aligned at 0.
fn aligned(step_ns: u64, cap: u32, policy: OverloadPolicy) -> WorldClock {
    let mut clock = clock(step_ns, cap, policy);
    assert_eq!(clock.advance(0).steps(), 0);
    clock
}

fn dropped(advance: &Advance) -> Vec<Dropped> {
    let only = |decision: &ClockDecision| match decision {
        ClockDecision::Dropped(dropped) => Some(*dropped),
        _ => None,
    };
    advance.decisions.iter().filter_map(only).collect()
}

/// Frames that are as long as the steps they ran cost, and never shorter than a step.
fn run_loaded(clock: &mut WorldClock, frames: u64, work_ns: u64) -> u64 {
    let step_ns = clock.config().step_ns;
    let (mut now_ns, mut frame_ns, mut steps) = (0, step_ns, 0);
    for _ in 0..frames {
        now_ns += frame_ns;
        let run = clock.advance(now_ns).steps();
        steps += run;
        frame_ns = (run * work_ns).max(step_ns);
        assert!(clock.account().balances());
    }
    steps
}

#[test]
fn uneven_frames_run_a_step_only_when_a_whole_one_has_passed() {
    let mut clock = aligned(50 * MS, 8, OverloadPolicy::Drop);
    let mut now_ns = 0;
    let mut seen = Vec::new();
    for frame_ms in [45, 10, 60, 50] {
        now_ns += frame_ms * MS;
        let steps = clock.advance(now_ns).steps();
        let ms = |ns: u128| ns as u64 / MS;
        seen.push((steps, ms(clock.logic_ns()), ms(clock.account().backlog_ns)));
    }
    assert_eq!(seen, [(0, 0, 45), (1, 50, 5), (1, 100, 15), (1, 150, 15)]);
}

#[test]
fn the_first_frame_only_aligns_whatever_the_clock_shows() {
    for start_ns in [0, 7, u64::MAX] {
        let mut clock = clock(MS, 8, OverloadPolicy::Drop);
        let advance = clock.advance(start_ns);
        assert!(advance.ticks.is_empty() && advance.decisions.is_empty());
        assert_eq!(*clock.account(), Account::default());
    }
}

#[test]
fn catching_up_with_a_step_slower_than_its_period_snowballs() {
    let mut clock = aligned(20 * MS, 1_000, PATIENT);
    let steps = run_loaded(&mut clock, 100, 25 * MS);
    assert!(steps > 100, "{steps}");
    let early = clock.account().backlog_ns;
    let mut longer = aligned(20 * MS, 1_000, PATIENT);
    run_loaded(&mut longer, 120, 25 * MS);
    assert!(longer.account().backlog_ns > early && early > 0);
}

#[test]
fn dropping_breaks_the_spiral_and_counts_exactly_what_it_threw_away() {
    let mut clock = aligned(20 * MS, 1, OverloadPolicy::Drop);
    assert_eq!(run_loaded(&mut clock, 100, 25 * MS), 100);
    let wall_ns = u128::from(20 * MS + 99 * 25 * MS);
    assert_eq!(clock.account().executed_ns, u128::from(2_000 * MS));
    assert_eq!(clock.account().dropped_ns, u128::from(480 * MS));
    assert_eq!(clock.account().dropped_steps, 24);
    assert_eq!(clock.account().backlog_ns, wall_ns - u128::from(2_480 * MS));
}

#[test]
fn slowing_down_breaks_the_spiral_without_losing_time() {
    let mut clock = aligned(20 * MS, 8, OverloadPolicy::SlowDown { stretch_max_percent: 400 });
    assert_eq!(run_loaded(&mut clock, 100, 25 * MS), 100);
    assert_eq!(clock.account().dropped_ns, 0);
    assert_eq!(clock.logic_ns(), u128::from(20 * MS + 99 * 25 * MS));
}

#[test]
fn a_scale_of_a_sixteenth_makes_1600_seconds_exactly_100() {
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::Drop);
    clock.set_scale(Scale::new(1, 16).unwrap());
    let mut now_ns = 0;
    while now_ns < 1_600 * SECOND {
        now_ns = (now_ns + 33_333_331).min(1_600 * SECOND);
        clock.advance(now_ns);
    }
    assert_eq!(clock.logic_ns(), u128::from(100 * SECOND));
    assert_eq!(clock.account().backlog_ns, 0);
    assert_eq!(clock.account().steps, 2_000);
}

#[test]
fn three_million_frames_do_not_drift_by_a_nanosecond() {
    const FRAMES: u64 = 3_600_000;
    const FRAME_NS: u64 = 16_666_700;
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::Drop);
    (1..=FRAMES).for_each(|frame| {
        clock.advance(frame * FRAME_NS);
    });
    let total_ns = FRAMES * FRAME_NS;
    assert_eq!(clock.account().steps, total_ns / (50 * MS));
    assert_eq!(clock.account().backlog_ns, u128::from(total_ns % (50 * MS)));
    assert_eq!(clock.account().dropped_ns, 0);
}

#[test]
fn sixty_frames_of_a_sixtieth_run_59_steps() {
    let time = FakeTime::new(123);
    let mut clock = clock(SIXTIETH, 5, OverloadPolicy::Drop);
    let mut steps = 0;
    for _ in 0..60 {
        time.advance(SIXTIETH);
        steps += clock.advance_from(&time).steps();
    }
    assert_eq!(steps, 59);
}

#[test]
fn a_stall_of_five_seconds_runs_no_more_than_the_cap_and_counts_the_rest() {
    let time = FakeTime::default();
    let mut clock = clock(SIXTIETH, 5, OverloadPolicy::Drop);
    clock.advance_from(&time);
    time.advance(5 * SECOND);
    let advance = clock.advance_from(&time);
    assert_eq!(advance.steps(), 5);
    let whole = 5 * SECOND / SIXTIETH;
    let expected = Dropped {
        from: Tick(5),
        to: Tick(whole),
        ns: u128::from((whole - 5) * SIXTIETH),
        policy: OverloadPolicy::Drop,
        version: 1,
    };
    assert_eq!(dropped(&advance), [expected]);
    assert_eq!(clock.account().dropped_steps, whole - 5);
    time.advance(SIXTIETH);
    assert_eq!(clock.advance_from(&time).ticks.from, Tick(whole), "numbers go on after the gap");
}

#[test]
fn thirty_seconds_of_suspend_become_one_capped_frame() {
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::Drop);
    assert_eq!(clock.advance(30 * SECOND).steps(), 4);
    let account = clock.account();
    assert_eq!(account.dropped_ns, u128::from(30 * SECOND) - account.executed_ns);
}

#[test]
fn the_frame_rate_does_not_decide_how_much_logic_runs() {
    let logic_at = |frame_ns: u64, policy| {
        let mut clock = aligned(20 * MS, 8, policy);
        let mut now_ns = 0;
        while now_ns < 10 * SECOND {
            now_ns = (now_ns + frame_ns).min(10 * SECOND);
            clock.advance(now_ns);
        }
        clock.logic_ns()
    };
    for policy in [OverloadPolicy::Drop, PATIENT] {
        for hz in [20, 50, 333] {
            assert_eq!(logic_at(SECOND / hz, policy), u128::from(10 * SECOND), "{hz} Hz");
        }
    }
}

#[test]
fn a_cap_that_is_too_low_for_the_frame_rate_shows_as_dropped_time() {
    let mut clock = aligned(MS, 8, OverloadPolicy::Drop);
    for frame in 1..=50 {
        let advance = clock.advance(frame * 20 * MS);
        assert_eq!((advance.steps(), dropped(&advance)[0].ticks().len()), (8, 12));
    }
    assert_eq!((clock.account().steps, clock.account().dropped_steps), (400, 600));
}

#[test]
fn a_clock_that_goes_back_is_no_time_and_is_counted() {
    let time = FakeTime::new(10 * SECOND);
    let mut clock = clock(50 * MS, 4, OverloadPolicy::Drop);
    clock.advance_from(&time);
    time.advance(70 * MS);
    clock.advance_from(&time);
    let before = *clock.account();
    time.rewind(5 * SECOND);
    let advance = clock.advance_from(&time);
    assert_eq!(advance.steps(), 0);
    let by_ns = 5 * SECOND;
    assert_eq!(advance.decisions, [ClockDecision::Backwards { tick: Tick(1), by_ns }]);
    assert_eq!(*clock.account(), Account { backwards: 1, ..before });
    time.advance(30 * MS);
    assert_eq!(clock.advance_from(&time).steps(), 1, "it goes on from the new reading");
}

#[test]
fn after_a_pause_of_ten_ticks_four_run_and_six_fall_under_the_policy() {
    let mut drop = aligned(50 * MS, 4, OverloadPolicy::Drop);
    let advance = drop.advance(500 * MS);
    assert_eq!((advance.steps(), dropped(&advance)[0].ticks().len()), (4, 6));

    let mut patient = aligned(50 * MS, 4, PATIENT);
    assert_eq!(patient.advance(500 * MS).steps(), 4);
    assert_eq!(patient.account().backlog_ns, u128::from(300 * MS));
}

#[test]
fn a_cheap_tick_catches_up_and_a_dear_one_never_does() {
    let backlog_after = |work_ms: u64| {
        let mut clock = aligned(50 * MS, 4, PATIENT);
        let mut now_ns = 500 * MS;
        for _ in 0..200 {
            let steps = clock.advance(now_ns).steps();
            now_ns += (steps * work_ms * MS).max(50 * MS);
        }
        clock.account().backlog_ns
    };
    assert!(backlog_after(20) < u128::from(50 * MS));
    assert!(backlog_after(60) > u128::from(500 * MS));
}

#[test]
fn catch_up_drops_only_what_exceeds_its_declared_backlog() {
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::CatchUp { backlog_max_steps: 10 });
    let advance = clock.advance(20 * 50 * MS + 7);
    assert_eq!((advance.steps(), dropped(&advance)[0].ticks().len()), (4, 6));
    assert_eq!(clock.account().backlog_ns, u128::from(10 * 50 * MS + 7));
    let (mut steps, mut now_ns) = (0, 20 * 50 * MS + 7);
    for _ in 0..3 {
        now_ns += MS;
        steps += clock.advance(now_ns).steps();
    }
    assert_eq!(steps, 10, "what waited runs");
}

#[test]
fn an_overload_is_told_once_when_it_begins_and_once_when_it_has_ended() {
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::Drop);
    let mut told = Vec::new();
    let mut now_ns = 0;
    for frame in 0..100 {
        now_ns += if frame < 40 { 260 * MS } else { 50 * MS };
        told.extend(clock.advance(now_ns).decisions);
    }
    told.retain(|decision| !matches!(decision, ClockDecision::Dropped(_)));
    let [began, ClockDecision::OverloadEnded { since, tick }] = told[..] else {
        panic!("{told:?}");
    };
    assert!(since < tick && !clock.is_overloaded());
    let text = began.to_string();
    assert!(text.contains("policy drop") && text.contains("cap = 4"), "{text}");
}

#[test]
fn a_world_that_is_late_every_few_frames_is_one_overload_and_not_many() {
    let mut clock = aligned(20 * MS, 1, OverloadPolicy::Drop);
    let began = |decision: &ClockDecision| matches!(decision, ClockDecision::OverloadBegan { .. });
    let told: Vec<_> =
        (1..=100).flat_map(|frame| clock.advance(frame * 25 * MS).decisions).collect();
    assert_eq!(told.iter().filter(|decision| began(decision)).count(), 1);
    assert!(clock.is_overloaded() && clock.account().dropped_steps > 20);
}

#[test]
fn the_step_stretches_with_the_frames_and_returns_with_them() {
    let policy = OverloadPolicy::SlowDown { stretch_max_percent: 300 };
    let mut clock = aligned(20 * MS, 8, policy);
    let mut now_ns = 0;
    let mut lengths = Vec::new();
    for frame_ms in [20, 35, 35, 90, 20, 20, 20] {
        now_ns += frame_ms * MS;
        let advance = clock.advance(now_ns);
        assert!(advance.steps() <= 1, "nothing is made up for");
        lengths.push(advance.step_ns / MS);
    }
    // Of 90 ms a step of 60 covers what it may; the rest is covered by the next frame's.
    assert_eq!(lengths, [20, 35, 35, 60, 50, 20, 20]);
    assert_eq!(clock.logic_ns(), u128::from(240 * MS));
    assert_eq!(clock.account().dropped_ns, 0);
}

#[test]
fn a_changed_step_length_never_rewrites_the_past() {
    let policy = OverloadPolicy::SlowDown { stretch_max_percent: 400 };
    let mut clock = aligned(20 * MS, 1, policy);
    let (mut now_ns, mut sum_ns) = (0, 0u128);
    for frame_ms in [20, 200, 70, 20, 20, 500, 1, 20, 20] {
        now_ns += frame_ms * MS;
        let advance = clock.advance(now_ns);
        sum_ns += u128::from(advance.steps()) * u128::from(advance.step_ns);
        assert_eq!(clock.logic_ns(), sum_ns);
    }
    assert!(clock.account().dropped_ns > 0, "500 ms exceed what a stretched step covers");
}

#[test]
fn while_paused_no_time_passes_and_the_backlog_waits() {
    let mut clock = aligned(50 * MS, 4, PATIENT);
    clock.advance(320 * MS);
    assert_eq!(clock.set_paused(true), Some(ClockDecision::Paused { tick: Tick(4) }));
    assert_eq!(clock.set_paused(true), None);
    let before = *clock.account();
    assert_eq!(clock.advance(10 * SECOND).steps(), 0);
    let paused_ns = u128::from(10 * SECOND - 320 * MS);
    assert_eq!(*clock.account(), Account { paused_ns, ..before });
    assert_eq!(clock.set_paused(false), Some(ClockDecision::Resumed { tick: Tick(4) }));
    assert_eq!(clock.advance(10 * SECOND + 30 * MS).steps(), 3);
}

#[test]
fn a_changed_policy_has_a_higher_version_and_a_bad_one_changes_nothing() {
    let mut clock = aligned(50 * MS, 4, PATIENT);
    let before = clock.clone();
    let mad = OverloadPolicy::SlowDown { stretch_max_percent: 99 };
    assert_eq!(clock.set_policy(mad, 4), Err(ClockConfigError::Stretch { percent: 99 }));
    assert_eq!(clock.set_policy(PATIENT, 0), Err(ClockConfigError::Cap { cap: 0 }));
    assert_eq!(clock, before);
    clock.set_policy(OverloadPolicy::Drop, 2).unwrap();
    let advance = clock.advance(SECOND);
    assert_eq!((advance.steps(), dropped(&advance)[0].version), (2, 2));
}

#[test]
fn a_caller_that_affords_less_than_the_cap_leaves_the_rest_to_the_policy() {
    let mut clock = aligned(50 * MS, 4, PATIENT);
    assert_eq!(clock.advance_within(200 * MS, 1).steps(), 1);
    assert_eq!(clock.advance_within(200 * MS, 0).steps(), 0);
    assert_eq!(clock.advance_within(200 * MS, 9).steps(), 3);
}

#[test]
fn alpha_is_below_one_even_a_nanosecond_before_the_step() {
    let mut clock = aligned(50 * MS, 4, OverloadPolicy::Drop);
    assert!(clock.alpha() == 0.0);
    clock.advance(25 * MS);
    assert!(clock.alpha() == 0.5);
    clock.advance(50 * MS - 1);
    assert_eq!(clock.alpha_ratio(), (50 * MS - 1, 50 * MS));
    assert!(clock.alpha() < 1.0, "{}", clock.alpha());
}

#[test]
fn a_clock_out_of_its_limits_is_refused_when_made_and_when_decoded() {
    let step = ClockConfig { step_ns: 0, cap: 1, policy: OverloadPolicy::Drop, version: 0 };
    assert_eq!(WorldClock::new(step), Err(ClockConfigError::Step { step_ns: 0 }));

    let mut broken = aligned(50 * MS, 4, OverloadPolicy::Drop);
    broken.advance(SECOND);
    let bytes = postcard::to_stdvec(&broken).unwrap();
    assert_eq!(postcard::from_bytes::<WorldClock>(&bytes).unwrap(), broken);
    broken.step_ns = 0;
    let bytes = postcard::to_stdvec(&broken).unwrap();
    assert!(postcard::from_bytes::<WorldClock>(&bytes).is_err());
    broken.step_ns = broken.config.step_ns;
    broken.account.dropped_ns += 1;
    let bytes = postcard::to_stdvec(&broken).unwrap();
    assert!(postcard::from_bytes::<WorldClock>(&bytes).is_err());
}
