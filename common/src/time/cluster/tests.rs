#![allow(clippy::unwrap_used)]
use super::*;
use crate::order::NodeKind;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const STEP: u64 = 50 * MS;

fn config() -> ClusterConfig {
    ClusterConfig { origin_ns: 0, step_ns: STEP, phase_ns: 0, cap: 4, version: 3 }
}

fn clock(config: ClusterConfig) -> ClusterClock {
    ClusterClock::new(config).unwrap()
}

fn range(from: u64, to: u64) -> TickRange {
    TickRange { from: Tick(from), to: Tick(to) }
}

fn peer(number: u16) -> Node {
    Node::new(NodeKind::Cell, number, 1)
}

#[test]
fn the_first_call_only_aligns_to_the_next_tick_to_start() {
    for (now_ns, first) in [(0, 0), (1, 1), (STEP - 1, 1), (STEP, 1), (STEP + 1, 2)] {
        let mut clock = clock(config());
        let due = clock.due(now_ns);
        assert!(due.run.is_empty() && due.dropped.is_none());
        assert_eq!(clock.next_tick(), Some(Tick(first)), "at {now_ns}");
        assert_eq!(due.next_deadline_ns, first * STEP);
    }
}

#[test]
fn a_process_that_starts_late_joins_at_the_clusters_tick() {
    let mut clock = clock(ClusterConfig { origin_ns: -(1_000 * STEP as i64), ..config() });
    clock.due(10 * MS);
    assert_eq!(clock.next_tick(), Some(Tick(1_001)));
    assert_eq!(clock.due(STEP).run, range(1_001, 1_002));
}

#[test]
fn ticks_before_the_origin_wait_for_tick_zero() {
    let mut clock = clock(ClusterConfig { origin_ns: SECOND as i64, ..config() });
    assert_eq!(clock.due(0).next_deadline_ns, SECOND);
    assert!(clock.due(SECOND - 1).run.is_empty());
    assert_eq!(clock.due(SECOND).run, range(0, 1));
}

#[test]
fn a_base_runs_the_same_numbers_half_a_step_later() {
    let mut cell = clock(config());
    let mut base = clock(ClusterConfig { phase_ns: STEP / 2, ..config() });
    cell.due(0);
    base.due(0);
    assert_eq!((cell.due(0).run, base.due(0).run), (range(0, 1), range(0, 0)));
    assert_eq!(base.due(STEP / 2).run, range(0, 1));
    assert_eq!(base.phase_ns(Tick(0), STEP / 2), STEP as i64 / 2);
}

#[test]
fn ten_minutes_of_late_wake_ups_do_not_drift() {
    let mut clock = clock(config());
    let mut due = clock.due(0);
    let (mut ticks, mut wake) = (0, 0u64);
    while due.next_deadline_ns < 600 * SECOND {
        // Up to 12.8 ms late, never the same.
        let now_ns = due.next_deadline_ns + (wake * 7_919 % 128) * MS / 10;
        due = clock.due(now_ns);
        ticks += due.run.len();
        wake += 1;
        assert!(due.dropped.is_none());
    }
    assert_eq!(ticks, 600 * SECOND / STEP);
}

#[test]
fn after_a_stall_the_cap_runs_and_the_rest_is_one_record() {
    let mut clock = clock(config());
    clock.due(0);
    assert_eq!(clock.due(0).run, range(0, 1));
    let due = clock.due(10 * STEP);
    assert_eq!(due.run, range(1, 5));
    let expected = Dropped {
        from: Tick(5),
        to: Tick(11),
        ns: u128::from(6 * STEP),
        policy: OverloadPolicy::Drop,
        version: 3,
    };
    assert_eq!(due.dropped, Some(expected));
    assert_eq!(due.next_deadline_ns, 11 * STEP, "the next is the next to fall due");
    assert_eq!(clock.due(11 * STEP).run, range(11, 12));
}

#[test]
fn a_stall_within_the_cap_drops_nothing() {
    let mut clock = clock(config());
    clock.due(0);
    let due = clock.due(3 * STEP + 1);
    assert_eq!((due.run, due.dropped), (range(0, 4), None));
}

#[test]
fn lag_is_measured_from_the_deadline_and_not_from_the_wake_up() {
    let mut clock = clock(config());
    clock.due(0);
    assert_eq!(clock.due(MS).lag_ns, MS);
    assert_eq!(clock.due(STEP + 2 * SECOND).lag_ns, 2 * SECOND);
    assert_eq!(clock.due(STEP + 2 * SECOND).lag_ns, 0, "nothing ran");
    assert_eq!(clock.counters().lag_ns_max, 2 * SECOND);
}

#[test]
fn a_local_clock_that_goes_back_neither_repeats_nor_stops_ticks() {
    let mut clock = clock(config());
    clock.due(10 * SECOND);
    let due = clock.due(10 * SECOND);
    assert_eq!(due.run, range(200, 201));
    let due = clock.due(5 * SECOND);
    assert!(due.run.is_empty());
    assert_eq!(due.decisions, [ClusterDecision::Backwards { by_ns: 5 * SECOND }]);
    assert_eq!(clock.counters().backwards, 1);
    assert_eq!(due.next_deadline_ns, 5 * SECOND + STEP);
    assert_eq!(clock.due(5 * SECOND + STEP).run, range(201, 202));
}

#[test]
fn time_that_the_local_clock_slept_through_can_be_added() {
    let mut clock = clock(config());
    clock.due(0);
    clock.due(0);
    assert_eq!(clock.skip_ahead(SECOND), ClusterDecision::SkippedAhead { by_ns: SECOND });
    let due = clock.due(MS);
    assert_eq!((due.run, due.dropped.unwrap().to), (range(1, 5), Tick(21)));
}

#[test]
fn a_process_slews_by_at_most_half_a_percent() {
    let mut clock = clock(config());
    clock.due(0);
    // The peer is 20 ms ahead.
    let ahead = PeerSample { tick: Tick(0), phase_ns: 20 * MS as i64, delay_ns: 0 };
    clock.observe_peer(peer(1), ahead, 0);
    assert_eq!(clock.skew_ns(), Some(20 * MS as i64));
    let due = clock.due(SECOND);
    assert_eq!(clock.skew_ns(), Some(15 * MS as i64), "5 ms in a second");
    assert_eq!(due.decisions, [ClusterDecision::SkewHigh { skew_ns: 15 * MS as i64 }]);
    assert_eq!(clock.phase_ns(Tick(20), SECOND), 5 * MS as i64);
}

#[test]
fn slewing_stops_at_the_peers_and_the_warning_ends() {
    let mut clock = clock(config());
    clock.due(0);
    let mut decisions = Vec::new();
    for tick in 0..200 {
        let sample = PeerSample { tick: Tick(tick), phase_ns: -8_000_000, delay_ns: 0 };
        clock.observe_peer(peer(1), sample, tick * STEP);
        decisions.extend(clock.due(tick * STEP).decisions);
    }
    assert_eq!(clock.skew_ns().unwrap().unsigned_abs().max(SLEW_DEAD_BAND_NS), SLEW_DEAD_BAND_NS);
    let [ClusterDecision::SkewHigh { .. }, ClusterDecision::SkewRecovered { .. }] = decisions[..]
    else {
        panic!("{decisions:?}");
    };
}

#[test]
fn one_wrong_peer_among_three_moves_nobody() {
    let mut clock = clock(config());
    clock.due(0);
    let wild = PeerSample { tick: Tick(u64::MAX), phase_ns: i64::MAX, delay_ns: u64::MAX };
    let right = PeerSample { tick: Tick(0), phase_ns: 0, delay_ns: 0 };
    clock.observe_peer(peer(1), wild, 0);
    clock.observe_peer(peer(2), right, 0);
    clock.observe_peer(peer(3), right, 0);
    clock.due(SECOND);
    assert_eq!(clock.skew_ns(), Some(0));
}

#[test]
fn a_peer_that_fell_silent_or_is_gone_no_longer_counts() {
    let mut clock = clock(config());
    clock.due(0);
    let sample = PeerSample { tick: Tick(1), phase_ns: 0, delay_ns: 0 };
    clock.observe_peer(peer(1), sample, 0);
    clock.due(PEER_FRESH_NS + 1);
    assert_eq!(clock.skew_ns(), None);
    clock.observe_peer(peer(2), sample, PEER_FRESH_NS);
    clock.forget_peer(peer(2));
    assert_eq!(clock.skew_ns(), None);
}

const PEER_FRESH_NS: u64 = super::super::peers::PEER_FRESH_STEPS * STEP;

#[test]
fn the_table_of_peers_is_bounded_and_says_so() {
    let mut clock = clock(config());
    let sample = PeerSample { tick: Tick(0), phase_ns: 0, delay_ns: 0 };
    let most = super::super::peers::PEERS_MAX as u16;
    (1..=most + 3).for_each(|number| clock.observe_peer(peer(number), sample, 0));
    clock.observe_peer(peer(1), sample, 0);
    assert_eq!(clock.counters().peers_refused, 3);
}

#[test]
fn a_configuration_out_of_its_limits_is_refused() {
    let phase = ClusterConfig { phase_ns: STEP, ..config() };
    let refused = ClockConfigError::Phase { phase_ns: STEP, step_ns: STEP };
    assert_eq!(ClusterClock::new(phase), Err(refused));
    let cap = ClusterConfig { cap: 0, ..config() };
    assert_eq!(ClusterClock::new(cap), Err(ClockConfigError::Cap { cap: 0 }));
}
