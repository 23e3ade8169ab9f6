#![allow(clippy::unwrap_used)]

use super::*;
use marchland_common::order::{Node, NodeKind};
use marchland_common::time::PeerSample;
use std::sync::mpsc;

const STEP_NS: u64 = 1_000_000;

#[derive(Debug, PartialEq)]
enum Said {
    Tick(u64, Option<(u64, u64)>),
    Wake(u64, Moment),
    Stop(Option<(u64, u64)>),
}

struct Script {
    said: mpsc::Sender<Said>,
    each_tick: Box<dyn FnMut(Tick) + Send>,
    each_wake: Box<dyn FnMut() + Send>,
}

fn span(dropped: Option<Dropped>) -> Option<(u64, u64)> {
    dropped.map(|d| (d.from.0, d.to.0))
}

impl TickProcess for Script {
    fn tick(&mut self, now: &TickNow, _: &mut Spans) {
        let _ = self.said.send(Said::Tick(now.tick.0, span(now.dropped)));
        (self.each_tick)(now.tick);
    }

    fn wake(&mut self, tick: Tick, moment: Moment) {
        let _ = self.said.send(Said::Wake(tick.0, moment));
        (self.each_wake)();
    }

    fn decided(&mut self, _: ClusterDecision) {}

    fn stop(&mut self, dropped: Option<Dropped>) {
        let _ = self.said.send(Said::Stop(span(dropped)));
    }
}

struct Rig {
    running: TickLoop,
    said: mpsc::Receiver<Said>,
    observations: crossbeam_channel::Sender<Observation>,
    clock: SharedClock,
    counters: Counters,
}

fn start(
    listen_steps: u32,
    waker: &Waker,
    each_tick: impl FnMut(Tick) + Send + 'static,
    each_wake: impl FnMut() + Send + 'static,
) -> Rig {
    let origin = Origin { by_key_ns: monotonic_ns() as i64, listen_steps };
    let config = TickConfig { step_ns: STEP_NS, phase_ns: 0, origin };
    let (send, said) = mpsc::channel();
    let (observations, heard) = crossbeam_channel::unbounded();
    let (clock, counters) = (SharedClock::new(STEP_NS), Counters::default());
    let process =
        Script { said: send, each_tick: Box::new(each_tick), each_wake: Box::new(each_wake) };
    let running =
        TickLoop::start(config, clock.clone(), heard, waker.clone(), &counters, process).unwrap();
    Rig { running, said, observations, clock, counters }
}

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn every_number_is_run_once_or_dropped_once_whatever_a_tick_takes() {
    let slow = |tick: Tick| {
        if tick.0 % 16 == 3 {
            std::thread::sleep(Duration::from_millis(9));
        }
    };
    let rig = start(0, &Waker::new(), slow, || {});
    let mut all: Vec<Said> = rig.said.iter().take(200).collect();
    let summary = rig.running.stop(PATIENCE).unwrap();
    all.extend(rig.said.iter());
    let Said::Tick(mut next, None) = all[0] else { panic!("{:?}", all[0]) };
    let (mut run, mut dropped) = (0, 0);
    for said in all {
        let (gap, tick) = match said {
            Said::Tick(tick, gap) => (gap, Some(tick)),
            Said::Stop(gap) => (gap, None),
            Said::Wake(..) => panic!("nobody woke it"),
        };
        if let Some((from, to)) = gap {
            assert_eq!(from, next);
            assert!(to > from);
            dropped += to - from;
            next = to;
        }
        if let Some(tick) = tick {
            assert_eq!(tick, next);
            next += 1;
            run += 1;
        }
    }
    assert_eq!((summary.counters.run, summary.counters.dropped), (run, dropped));
    assert!(dropped > 0, "a stall of nine steps is over the cap of {CAP}");
    assert_eq!(rig.counters.snapshot()["ticks_dropped"], dropped);
    assert_eq!(summary.figures.tick_us().len(), run);
    assert!(rig.clock.tick().0 < next);
}

#[test]
fn a_tick_is_followed_by_at_most_three_release_moments_numbered_from_one() {
    let waker = Waker::new();
    let (from_tick, from_wake) = (waker.clone(), waker.clone());
    // Who wakes it again at once cannot keep it from its next tick.
    let rig = start(0, &waker, move |_| from_tick.wake(), move || from_wake.wake());
    let mut moments = Vec::new();
    let mut most = 0;
    let mut ticks = 0;
    for said in rig.said.iter() {
        match said {
            Said::Tick(..) => {
                moments.clear();
                ticks += 1;
            }
            Said::Wake(_, moment) => {
                moments.push(moment);
                let expected: Vec<Moment> =
                    (1..=moments.len() as u8).map(Moment::Release).collect();
                assert_eq!(moments, expected);
                most = most.max(moments.len());
            }
            Said::Stop(_) => break,
        }
        if ticks > 20 && most == 3 {
            break;
        }
    }
    assert_eq!(most, 3);
    assert!(rig.running.stop(PATIENCE).is_some());
}

/// Tells how long ago the tick before began; the first one takes long.
struct Slow(mpsc::Sender<u64>);

const LONG: Duration = Duration::from_millis(30);

impl TickProcess for Slow {
    fn tick(&mut self, now: &TickNow, _: &mut Spans) {
        if now.since_last_ns == 0 && self.0.send(0).is_ok() {
            std::thread::sleep(LONG);
        } else {
            let _ = self.0.send(now.since_last_ns);
        }
    }

    fn wake(&mut self, _: Tick, _: Moment) {}
    fn decided(&mut self, _: ClusterDecision) {}
    fn stop(&mut self, _: Option<Dropped>) {}
}

#[test]
fn a_tick_is_told_how_long_ago_the_one_before_began_and_those_caught_up_behind_it_are_not() {
    let origin = Origin { by_key_ns: monotonic_ns() as i64, listen_steps: 0 };
    let config = TickConfig { step_ns: STEP_NS, phase_ns: 0, origin };
    let (_, heard) = crossbeam_channel::unbounded();
    let (send, said) = mpsc::channel();
    let (clock, counters) = (SharedClock::new(STEP_NS), Counters::default());
    let running =
        TickLoop::start(config, clock, heard, Waker::new(), &counters, Slow(send)).unwrap();
    let first: Vec<u64> = (0..3).map(|_| said.recv_timeout(PATIENCE).unwrap()).collect();
    running.stop(PATIENCE).unwrap();
    assert_eq!((first[0], first[2]), (0, 0));
    assert!(u128::from(first[1]) >= LONG.as_nanos(), "{first:?}");
}

#[test]
fn a_joiner_counts_from_what_its_peers_say() {
    let rig = start(400, &Waker::new(), |_| {}, || {});
    let peer = Node::new(NodeKind::Cell, 2, 1);
    let sample = PeerSample { tick: Tick(7_000_000), phase_ns: 0, delay_ns: 0 };
    rig.observations.send(Observation { peer, sample, arrived_ns: monotonic_ns() }).unwrap();
    let Said::Tick(first, None) = rig.said.recv_timeout(PATIENCE).unwrap() else { panic!() };
    assert!(first > 7_000_000, "{first}");
    rig.running.stop(PATIENCE).unwrap();
}

#[test]
fn a_process_alone_counts_from_the_key_and_stops_while_it_listens() {
    let rig = start(1, &Waker::new(), |_| {}, || {});
    let Said::Tick(first, None) = rig.said.recv_timeout(PATIENCE).unwrap() else { panic!() };
    assert!(first < 1_000_000, "{first}");
    rig.running.stop(PATIENCE).unwrap();
    let listening = start(u32::MAX, &Waker::new(), |_| {}, || {});
    assert!(listening.running.stop(PATIENCE).is_some());
    assert_eq!(listening.said.iter().last(), Some(Said::Stop(None)));
}

#[test]
fn settings_out_of_their_limits_are_refused_before_a_thread_begins() {
    let origin = Origin { by_key_ns: 0, listen_steps: 0 };
    let config = TickConfig { step_ns: STEP_NS, phase_ns: STEP_NS, origin };
    let (_, heard) = crossbeam_channel::unbounded();
    let (said, _) = mpsc::channel();
    let process = Script { said, each_tick: Box::new(|_| {}), each_wake: Box::new(|| {}) };
    let refused = TickLoop::start(
        config,
        SharedClock::new(STEP_NS),
        heard,
        Waker::new(),
        &Counters::default(),
        process,
    );
    assert!(matches!(refused, Err(TickError::Config(ClockConfigError::Phase { .. }))));
}
