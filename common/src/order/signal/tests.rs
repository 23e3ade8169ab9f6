#![allow(clippy::unwrap_used)]
use super::*;
use crate::order::{SkipReason, SlotId};

fn wolf(n: u64) -> EntityId {
    EntityId::new(SlotId(0), n)
}

fn epoch(n: u64) -> Epoch {
    Epoch::of_grant(n)
}

fn take(window: &mut SignalWindow<u64>, epoch_n: u64, n: u64, now: u64) -> SignalAccepted<u64> {
    window.accept(wolf(1), epoch(epoch_n), n, epoch_n * 1_000 + n, Tick(now))
}

#[test]
fn signals_that_took_different_paths_come_out_in_the_order_they_were_made() {
    let mut window = SignalWindow::default();
    let mut out = Vec::new();
    for n in [2, 1, 3, 3, 1] {
        out.extend(take(&mut window, 1, n, 0).ready);
    }
    assert_eq!(out, [1_001, 1_002, 1_003]);
    assert_eq!((window.counters().delivered, window.counters().duplicate), (3, 2));
}

#[test]
fn a_gap_is_held_eight_ticks_then_skipped_and_counted() {
    let mut window = SignalWindow::default();
    take(&mut window, 1, 4, 100);
    let mut ready = Vec::new();
    assert_eq!(window.expire(Tick(107), &mut ready), []);
    let skip = Skip { from: 1, to: 4, reason: SkipReason::Age };
    let expected = SourceSkip { source: wolf(1), epoch: epoch(1), skip };
    assert_eq!(window.expire(Tick(108), &mut ready), [expected]);
    assert_eq!((ready, window.counters().skipped), (vec![1_004], 3));
    let late = take(&mut window, 1, 2, 108);
    assert_eq!(late.verdict, SignalVerdict::Window(Verdict::TooOld));
    assert_eq!((window.counters().too_old, window.counters().delivered), (1, 1));
}

#[test]
fn a_gap_is_held_for_sixty_four_signals_then_skipped() {
    let mut window = SignalWindow::default();
    for n in 2..66 {
        assert_eq!(take(&mut window, 1, n, 0).ready, []);
    }
    assert_eq!(window.held(), usize::from(SIGNAL_HELD_MAX));
    let accepted = take(&mut window, 1, 66, 0);
    assert_eq!(accepted.ready.len(), 65);
    assert_eq!(accepted.skipped[0].skip.count(), 1);
    assert_eq!(window.held(), 0);
}

#[test]
fn a_higher_epoch_restarts_the_numbers_and_a_lower_one_is_stale() {
    let mut window = SignalWindow::default();
    take(&mut window, 1, 1, 0);
    take(&mut window, 1, 3, 0);
    let accepted = take(&mut window, 2, 1, 0);
    assert_eq!(accepted.ready, [1_003, 2_001], "what the old owner said comes first");
    assert_eq!(accepted.skipped[0].epoch, epoch(1));
    assert_eq!(take(&mut window, 1, 2, 0).verdict, SignalVerdict::StaleEpoch);
    let counters = window.counters();
    assert_eq!((counters.delivered, counters.skipped, counters.stale_epoch), (3, 1, 1));
}

#[test]
fn sources_do_not_wait_for_each_other() {
    let mut window = SignalWindow::default();
    assert_eq!(window.accept(wolf(1), epoch(1), 2, 12, Tick(0)).ready, []);
    assert_eq!(window.accept(wolf(2), epoch(1), 1, 21, Tick(0)).ready, [21]);
    assert_eq!(window.accept(wolf(1), epoch(1), 1, 11, Tick(0)).ready, [11, 12]);
}

#[test]
fn the_table_of_sources_is_bounded_and_forgets_the_one_silent_longest() {
    let mut window = SignalWindow::default();
    for n in 1..=SIGNAL_SOURCES_MAX as u64 {
        window.accept(wolf(n), epoch(1), 1, 0, Tick(1_000 - n));
    }
    window.accept(wolf(1_000), epoch(1), 1, 0, Tick(1_000));
    assert_eq!(window.sources(), SIGNAL_SOURCES_MAX);
    assert_eq!(window.counters().sources_forgotten, 1);
    let known = window.accept(wolf(1), epoch(1), 1, 0, Tick(1_000));
    assert_eq!(known.verdict, SignalVerdict::Window(Verdict::Duplicate));
    assert_eq!(window.forget_silent(Tick(1_400), 401), SIGNAL_SOURCES_MAX - 2);
}

#[test]
fn when_every_source_waits_for_something_a_new_one_is_refused_and_counted() {
    let mut window = SignalWindow::default();
    for n in 1..=SIGNAL_SOURCES_MAX as u64 {
        window.accept(wolf(n), epoch(1), 2, 0, Tick(0));
    }
    let refused = window.accept(wolf(1_000), epoch(1), 1, 0, Tick(0));
    assert_eq!((refused.verdict, window.counters().full), (SignalVerdict::Full, 1));
    assert_eq!(window.forget_silent(Tick(9_999), 1), 0, "what waits is not forgotten");
}

#[test]
fn the_window_travels_with_what_it_holds() {
    let mut window = SignalWindow::default();
    take(&mut window, 1, 2, 0);
    let bytes = postcard::to_stdvec(&window).unwrap();
    let mut there: SignalWindow<u64> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(there, window);
    assert_eq!(take(&mut there, 1, 1, 3).ready, [1_001, 1_002]);
}
