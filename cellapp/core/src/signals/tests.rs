#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::{cell, epoch, id};
use marchland_common::order::SIGNAL_HELD_TICKS;
use proptest::prelude::*;

const HERE: Whereabouts = Whereabouts::Here;

/// One process's signals, and what came of them.
#[derive(Default)]
struct Post {
    signals: Signals,
    out: SignalOut,
    now: u64,
}

impl Post {
    fn send(&mut self, (source, e): (u64, u64), to: u64, at: Whereabouts, text: u64) -> Route {
        let payload = Bytes::from(text.to_string());
        let (from, to) = ((id(source), epoch(e)), (id(to), at));
        self.signals.send(from, to, payload, Tick(self.now), &mut self.out)
    }

    fn mail(&mut self) -> Vec<(Node, Signal)> {
        std::mem::take(&mut self.out.mail)
    }

    fn receive(&mut self, signal: &Signal, at: Whereabouts) {
        self.signals.receive(signal.clone(), at, Tick(self.now), &mut self.out);
    }

    fn tick(&mut self) {
        self.now += 1;
        self.signals.tick(Tick(self.now), &mut self.out);
    }

    /// What the behaviours heard, in order.
    fn heard(&mut self) -> Vec<u64> {
        let ready = self.out.ready.drain(..);
        ready.map(|s| std::str::from_utf8(&s.payload).unwrap().parse().unwrap()).collect()
    }

    fn refused(&mut self) -> Vec<Refused> {
        self.out.refusals.drain(..).map(|refusal| refusal.reason).collect()
    }
}

/// Signals 1..=count from entity 1 to entity 2, which is real on another process.
fn sent(count: u64) -> Vec<Signal> {
    let mut post = Post::default();
    for text in 1..=count {
        let route = post.send((1, 1), 2, Whereabouts::There(cell(2)), text);
        assert_eq!(route, Route::To(cell(2)));
    }
    post.mail().into_iter().map(|(_, signal)| signal).collect()
}

#[test]
fn a_signal_within_the_process_comes_with_the_next_tick_by_the_same_door() {
    let mut post = Post::default();
    assert_eq!(post.send((1, 1), 2, HERE, 7), Route::Own);
    assert_eq!(post.send((1, 1), 2, HERE, 8), Route::Own);
    assert_eq!(post.heard(), []);
    post.tick();
    post.signals.receive_own(|_| HERE, Tick(post.now), &mut post.out);
    assert_eq!(post.heard(), [7, 8]);
    post.signals.receive_own(|_| HERE, Tick(post.now), &mut post.out);
    assert_eq!(post.heard(), []);
}

#[test]
fn an_own_signal_whose_receiver_left_meanwhile_follows_it() {
    let mut post = Post::default();
    post.send((1, 1), 2, HERE, 7);
    let at = |_| Whereabouts::Leaving(cell(3));
    post.signals.receive_own(at, Tick(1), &mut post.out);
    let mail = post.mail();
    assert_eq!((mail[0].0, mail[0].1.hops), (cell(3), 1));
}

#[test]
fn signals_on_different_paths_come_out_in_the_order_they_were_sent() {
    let signals = sent(4);
    let mut post = Post::default();
    for n in [1, 3, 0, 2] {
        post.receive(&signals[n], HERE);
    }
    assert_eq!(post.heard(), [1, 2, 3, 4]);
    post.receive(&signals[2], HERE);
    assert_eq!((post.heard(), post.refused()), (vec![], vec![Refused::SignalDuplicate]));
}

#[test]
fn a_gap_is_held_for_a_while_then_given_up_and_told() {
    let signals = sent(3);
    let mut post = Post::default();
    post.receive(&signals[0], HERE);
    post.receive(&signals[2], HERE);
    assert_eq!((post.heard(), post.signals.held()), (vec![1], 1));
    (1..SIGNAL_HELD_TICKS).for_each(|_| post.tick());
    assert_eq!(post.heard(), []);
    post.tick();
    assert_eq!((post.heard(), post.signals.held()), (vec![3], 0));
    assert!(post.signals.holding.is_empty(), "nobody is looked through for nothing");
    let (to, source, epoch) = (id(2), id(1), epoch(1));
    assert_eq!(post.out.events, [Event::SignalSkipped { to, source, epoch, first: 2, last: 2 }]);
    post.receive(&signals[1], HERE);
    assert_eq!((post.heard(), post.refused()), (vec![], vec![Refused::SignalLost]));
}

#[test]
fn a_signal_is_forwarded_at_most_four_times() {
    let mut signal = sent(1).remove(0);
    let mut post = Post::default();
    for hop in 1..=4 {
        post.receive(&signal, Whereabouts::There(cell(hop)));
        let mail = post.mail();
        assert_eq!(mail[0].0, cell(hop));
        signal = mail[0].1.clone();
    }
    post.receive(&signal, Whereabouts::Leaving(cell(1)));
    assert_eq!((post.mail(), post.refused()), (vec![], vec![Refused::SignalHops]));
    post.receive(&signal, HERE);
    assert_eq!(post.heard(), [1], "it may still be heard");
}

#[test]
fn a_receiver_that_nobody_knows_loses_the_signal_and_costs_no_number() {
    let mut post = Post::default();
    assert_eq!(post.send((1, 1), 2, Whereabouts::Unknown, 1), Route::Dropped);
    post.send((1, 1), 2, Whereabouts::There(cell(2)), 2);
    let signal = post.mail().remove(0).1;
    assert_eq!(signal.n, 1);
    post.receive(&signal, Whereabouts::Unknown);
    assert_eq!(post.refused(), [Refused::SignalLost, Refused::SignalLost]);
}

#[test]
fn a_new_epoch_of_the_sender_counts_anew_and_ends_the_one_before() {
    let mut sender = Post::default();
    sender.send((1, 1), 2, Whereabouts::There(cell(2)), 1);
    sender.send((1, 1), 2, Whereabouts::There(cell(2)), 2);
    sender.send((1, 2), 2, Whereabouts::There(cell(2)), 3);
    let signals: Vec<Signal> = sender.mail().into_iter().map(|(_, signal)| signal).collect();
    assert_eq!(signals[2].n, 1);
    let mut post = Post::default();
    for n in [0, 2, 1] {
        post.receive(&signals[n], HERE);
    }
    assert_eq!((post.heard(), post.refused()), (vec![1, 3], vec![Refused::StaleEpoch]));
}

#[test]
fn what_a_receiver_heard_travels_with_it() {
    let signals = sent(5);
    let mut old = Post::default();
    old.receive(&signals[0], HERE);
    old.receive(&signals[2], HERE);
    assert_eq!(old.heard(), [1]);
    let window = old.signals.window(id(2));
    old.receive(&signals[3], Whereabouts::Leaving(cell(3)));
    old.signals.end(id(2));
    assert_eq!(old.signals.remembered(), (0, 0));
    let mut new = Post::default();
    new.signals.adopt(id(2), window);
    assert_eq!(new.signals.held(), 1);
    for n in [4, 0, 1] {
        new.receive(&signals[n], HERE);
    }
    new.receive(&old.mail()[0].1, HERE);
    assert_eq!((new.heard(), new.refused()), (vec![2, 3, 4, 5], vec![Refused::SignalDuplicate]));
    assert_eq!(new.signals.held(), 0);
}

#[test]
fn a_sender_with_more_receivers_than_it_counts_for_is_heard_by_all_without_delay() {
    let mut sender = Post::default();
    let mut receivers = Post::default();
    let mut numbers: BTreeMap<EntityId, u64> = BTreeMap::new();
    for round in 0..5 {
        for to in 2..=RECEIVERS_MAX as u64 * 2 {
            sender.now += 1;
            sender.send((1, 1), to, Whereabouts::There(cell(2)), round * 1_000 + to);
            let signal = sender.mail().remove(0).1;
            let before = numbers.insert(signal.to, number(&signal));
            assert!(before.is_none_or(|before| before < number(&signal)), "numbers grow");
            receivers.receive(&signal, HERE);
            assert_eq!(receivers.heard(), [round * 1_000 + to]);
        }
    }
    assert_eq!((receivers.refused(), sender.refused()), (vec![], vec![]));
}

#[test]
fn after_a_long_pause_both_ends_have_forgotten_and_go_on_at_once() {
    for pause in [SILENCE_TICKS - 1, SILENCE_TICKS, FORGET_TICKS - 1, FORGET_TICKS * 3] {
        let mut sender = Post::default();
        let mut receiver = Post::default();
        for text in 1..=20 {
            sender.send((1, 1), 2, Whereabouts::There(cell(2)), text);
            receiver.receive(&sender.mail().remove(0).1, HERE);
            assert_eq!(receiver.heard(), [text], "after a pause of {pause}");
            for _ in 0..if text == 10 { pause } else { 1 } {
                sender.tick();
                receiver.tick();
            }
        }
        assert_eq!(receiver.out.events, [], "nothing was given up");
    }
}

#[test]
fn silence_leaves_nothing_behind_but_the_run_of_a_sender() {
    let mut post = Post::default();
    for n in 1..200 {
        post.send((n, 1), n + 1, HERE, n);
    }
    post.signals.receive_own(|_| HERE, Tick(1), &mut post.out);
    assert_eq!(post.signals.remembered(), (199, 199));
    (0..FORGET_TICKS + 100).for_each(|_| post.tick());
    assert_eq!(post.signals.remembered(), (199, 0));
    (1..200).for_each(|n| post.signals.end(id(n)));
    post.signals.swept = Default::default();
    assert_eq!(post.signals, Signals::default());
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let good = sent(1).remove(0);
    let mut post = Post::default();
    let bad = [
        Signal { n: u64::MAX, ..good.clone() },
        Signal { n: 1 << NUMBER_BITS, ..good.clone() },
        Signal { run: u32::MAX, ..good.clone() },
        Signal { epoch: Epoch(u64::MAX), ..good.clone() },
    ];
    for signal in &bad {
        post.receive(signal, HERE);
        assert_eq!(post.refused(), [Refused::Malformed], "{signal:?}");
    }
    post.receive(&Signal { n: 0, ..good }, HERE);
    assert_eq!((post.refused().len(), post.heard()), (1, vec![]));
}

#[test]
fn the_queue_of_own_signals_is_bounded() {
    let mut post = Post::default();
    for n in 0..=OWN_MAX as u64 {
        post.send((1, 1), 2, HERE, n);
    }
    assert_eq!(post.refused(), [Refused::QueueFull]);
    post.signals.receive_own(|_| HERE, Tick(1), &mut post.out);
    assert_eq!(post.heard().len(), OWN_MAX);
}

proptest! {
    /// However signals overtake each other, are doubled or lost: what comes out is in order and
    /// each at most once, and everything else is accounted for. A copy goes on alike.
    #[test]
    fn every_signal_is_heard_in_order_or_accounted_for(
        order in proptest::collection::vec((0..60_usize, any::<bool>()), 1..120),
    ) {
        let signals = sent(60);
        let mut post = Post::default();
        let mut heard = Vec::new();
        for (n, passes) in order {
            post.receive(&signals[n], HERE);
            if passes {
                post.tick();
            }
            heard.extend(post.heard());
            let bytes = postcard::to_stdvec(&post.signals).unwrap();
            let copy: Signals = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&copy, &post.signals);
        }
        (0..10).for_each(|_| post.tick());
        heard.extend(post.heard());
        prop_assert!(heard.windows(2).all(|two| two[0] < two[1]), "{:?}", heard);
        prop_assert_eq!(post.signals.held(), 0);
        let skipped: u64 = post.out.events.iter().map(|event| match event {
            Event::SignalSkipped { first, last, .. } => last - first + 1,
            _ => 0,
        }).sum();
        let newest = heard.last().copied().unwrap_or(0);
        prop_assert_eq!(heard.len() as u64 + skipped, newest, "heard or given up, each once");
    }
}
