#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn limits(held_max: u16, held_ticks_max: u64, when_full: WhenFull) -> ReorderLimits {
    ReorderLimits { held_max, held_ticks_max, when_full }
}

fn window(when_full: WhenFull) -> ReorderWindow<u64> {
    ReorderWindow::new(1, limits(4, 8, when_full))
}

fn accept(window: &mut ReorderWindow<u64>, seq: u64, now: u64) -> (Verdict, Vec<u64>) {
    let accepted = window.accept(seq, seq, Tick(now));
    assert_eq!(accepted.skipped, None);
    (accepted.verdict, accepted.ready)
}

#[test]
fn items_come_out_in_order_whatever_order_they_came_in() {
    let mut window = window(WhenFull::Refuse);
    assert_eq!(accept(&mut window, 3, 0), (Verdict::Held, vec![]));
    assert_eq!(accept(&mut window, 2, 0), (Verdict::Held, vec![]));
    assert_eq!(accept(&mut window, 1, 0), (Verdict::InOrder, vec![1, 2, 3]));
    assert_eq!(accept(&mut window, 4, 0), (Verdict::InOrder, vec![4]));
    assert_eq!((window.next_seq(), window.held()), (5, 0));
}

#[test]
fn what_is_held_or_came_out_is_a_duplicate() {
    let mut window = window(WhenFull::Refuse);
    accept(&mut window, 1, 0);
    accept(&mut window, 3, 0);
    assert_eq!(accept(&mut window, 1, 0), (Verdict::Duplicate, vec![]));
    assert_eq!(accept(&mut window, 3, 0), (Verdict::Duplicate, vec![]));
    assert_eq!(accept(&mut window, 0, 0), (Verdict::TooOld, vec![]), "before the stream");
}

#[test]
fn a_full_window_that_refuses_keeps_what_it_holds() {
    let mut window = window(WhenFull::Refuse);
    (2..=5).for_each(|seq| drop(accept(&mut window, seq, 0)));
    assert_eq!(accept(&mut window, 6, 0), (Verdict::Overflow, vec![]));
    assert!(window.is_overdue(Tick(8)) && !window.is_overdue(Tick(7)));
    let mut ready = Vec::new();
    assert_eq!((window.expire(Tick(99), &mut ready), ready), (vec![], vec![]), "it never skips");
    assert_eq!(accept(&mut window, 1, 0), (Verdict::InOrder, vec![1, 2, 3, 4, 5]));
    assert_eq!(accept(&mut window, 6, 0), (Verdict::InOrder, vec![6]), "sent again");
}

#[test]
fn a_full_window_that_skips_gives_up_the_first_gap_and_counts_it() {
    let mut window = window(WhenFull::Skip);
    for seq in [4, 5, 9, 10] {
        accept(&mut window, seq, 0);
    }
    let accepted = window.accept(11, 11, Tick(0));
    let skip = Skip { from: 1, to: 4, reason: SkipReason::Items };
    assert_eq!((accepted.verdict, accepted.skipped), (Verdict::Held, Some(skip)));
    assert_eq!((skip.count(), accepted.ready), (3, vec![4, 5]));
    assert_eq!(accept(&mut window, 2, 0), (Verdict::TooOld, vec![]));
    assert_eq!(accept(&mut window, 4, 0), (Verdict::Duplicate, vec![]));
}

#[test]
fn an_old_gap_is_given_up_after_the_declared_ticks_and_not_before() {
    let mut window = window(WhenFull::Skip);
    accept(&mut window, 2, 10);
    accept(&mut window, 4, 13);
    let mut ready = Vec::new();
    assert_eq!(window.expire(Tick(17), &mut ready), []);
    let age = |from, to| Skip { from, to, reason: SkipReason::Age };
    assert_eq!(window.expire(Tick(18), &mut ready), [age(1, 2)]);
    assert_eq!(ready, [2], "what came later waits on");
    assert_eq!(window.expire(Tick(21), &mut ready), [age(3, 4)]);
    assert_eq!((ready, window.held()), (vec![2, 4], 0));
}

#[test]
fn ending_a_stream_lets_out_what_is_held_and_counts_every_gap() {
    let mut window = window(WhenFull::Skip);
    for seq in [2, 3, 6] {
        accept(&mut window, seq, 0);
    }
    let mut ready = Vec::new();
    let counts: Vec<u64> = window.drain(&mut ready).iter().map(Skip::count).collect();
    assert_eq!((counts, ready, window.next_seq()), (vec![1, 2], vec![2, 3, 6], 7));
}

#[test]
fn the_last_number_there_is_is_refused_and_breaks_nothing() {
    let mut window = window(WhenFull::Skip);
    assert_eq!(accept(&mut window, u64::MAX, 0), (Verdict::Overflow, vec![]));
    assert_eq!(accept(&mut window, u64::MAX - 1, 0), (Verdict::Held, vec![]));
    let mut ready = Vec::new();
    assert_eq!(window.expire(Tick(8), &mut ready)[0].count(), u64::MAX - 2);
    assert_eq!(accept(&mut window, u64::MAX, 9), (Verdict::Overflow, vec![]));
    assert_eq!(accept(&mut window, 5, 9), (Verdict::TooOld, vec![]));
}

#[test]
fn what_was_skipped_long_ago_is_too_old_and_the_memory_of_it_is_bounded() {
    let mut window = window(WhenFull::Skip);
    let mut ready = Vec::new();
    for seq in (2..=200).step_by(2) {
        accept(&mut window, seq, seq);
        window.expire(Tick(seq + 8), &mut ready);
    }
    assert_eq!(window.skips.len(), SKIPS_REMEMBERED);
    assert_eq!(accept(&mut window, 199, 0), (Verdict::TooOld, vec![]));
    assert_eq!(accept(&mut window, 198, 0), (Verdict::Duplicate, vec![]));
    assert_eq!(accept(&mut window, 4, 0), (Verdict::TooOld, vec![]), "no longer known");
}

#[test]
fn a_window_that_breaks_the_rules_does_not_decode() {
    let mut good = window(WhenFull::Skip);
    accept(&mut good, 5, 0);
    let mut below = good.clone();
    below.next = 5;
    let mut over = good.clone();
    over.limits.held_max = 0;
    for (window, sound) in [(good, true), (below, false), (over, false)] {
        let bytes = postcard::to_stdvec(&window).unwrap();
        let read = postcard::from_bytes::<ReorderWindow<u64>>(&bytes);
        assert_eq!(read.ok(), sound.then_some(window));
    }
}

proptest! {
    #[test]
    fn a_stream_disordered_within_the_bound_loses_nothing(
        moves in proptest::collection::vec(0usize..8, 200),
    ) {
        // Each number may be overtaken by at most eight others.
        let mut order: Vec<u64> = (1..=200).collect();
        for (at, by) in moves.iter().enumerate().step_by(9) {
            let end = (at + by).min(order.len() - 1);
            order[at..=end].rotate_left(1);
        }
        let mut window = ReorderWindow::new(1, limits(16, 8, WhenFull::Refuse));
        let mut out = Vec::new();
        for seq in order {
            let accepted = window.accept(seq, seq, Tick(0));
            prop_assert!(accepted.verdict != Verdict::Overflow);
            out.extend(accepted.ready);
        }
        prop_assert_eq!(out, (1..=200).collect::<Vec<u64>>());
    }

    #[test]
    fn whatever_arrives_each_number_comes_out_once_or_is_counted_once(
        arrivals in proptest::collection::vec((1u64..120, 0u64..3), 1..400),
    ) {
        let mut window = ReorderWindow::new(1, limits(6, 8, WhenFull::Skip));
        let (mut next, mut now) = (1, 0);
        for (seq, pass) in arrivals {
            now += pass;
            let mut ready = Vec::new();
            let mut skips = window.expire(Tick(now), &mut ready);
            let accepted = window.accept(seq, seq, Tick(now));
            ready.extend(accepted.ready);
            skips.extend(accepted.skipped);
            prop_assert!(window.held() <= 6);
            let mut out = ready.into_iter().peekable();
            let mut gaps = skips.into_iter().peekable();
            loop {
                if out.next_if_eq(&next).is_some() {
                    next += 1;
                } else if let Some(gap) = gaps.next_if(|gap| gap.from == next) {
                    next = gap.to;
                } else {
                    break;
                }
            }
            prop_assert_eq!((out.next(), gaps.next()), (None, None));
            prop_assert_eq!(window.next_seq(), next);
        }
    }
}
