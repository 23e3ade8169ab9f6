//! The link as two machines see it, over connections that break at any moment.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::order::Seq;
use std::collections::VecDeque;

pub(super) type Machine = LinkMachine<Vec<u8>>;

pub(super) fn number(n: u32) -> Vec<u8> {
    n.to_le_bytes().to_vec()
}

fn send_each(end: &mut Machine, numbers: std::ops::Range<u32>, class: Class) {
    for n in numbers {
        end.send(number(n), class).unwrap();
    }
}

pub(super) fn small() -> LinkLimits {
    LinkLimits {
        soft_items: 8,
        soft_bytes: 64,
        hard_items: 12,
        hard_bytes: 96,
        frame_bytes: 16,
        held_items: 4,
        held_ticks: 3,
        fruitless_connections: 5,
    }
}

/// Two ends and what is on the wire between them, in both directions.
pub(super) struct Pair {
    pub(super) ends: [Machine; 2],
    pub(super) connections: [Option<Connection>; 2],
    pub(super) wires: [VecDeque<Frame<Vec<u8>>>; 2],
    acks: [VecDeque<Ack>; 2],
}

impl Pair {
    pub(super) fn new(limits: LinkLimits) -> Self {
        Self {
            ends: [Machine::new(limits), Machine::new(limits)],
            connections: [None, None],
            wires: Default::default(),
            acks: Default::default(),
        }
    }

    /// End 0 dials end 1: hello, welcome.
    pub(super) fn connect(&mut self) -> Result<(), LinkFault> {
        self.cut();
        let hello = self.ends[0].resume();
        self.connections[1] = Some(self.ends[1].on_connected(hello)?);
        let welcome = self.ends[1].resume();
        self.connections[0] = Some(self.ends[0].on_connected(welcome)?);
        Ok(())
    }

    pub(super) fn cut(&mut self) {
        for end in 0..2 {
            if let Some(connection) = self.connections[end].take() {
                self.ends[end].on_disconnected(connection);
            }
            self.wires[end].clear();
            self.acks[end].clear();
        }
    }

    /// Moves up to `frames` from one end onto the wire.
    pub(super) fn transmit(&mut self, from: usize, frames: usize) {
        for _ in 0..frames {
            let Some(frame) = self.ends[from].poll_frame() else { break };
            self.wires[from].push_back(frame);
        }
        self.acks[from].extend(self.ends[from].ack_to_send());
    }

    /// Takes up to `frames` off the wire at the other end.
    pub(super) fn arrive(&mut self, from: usize, frames: usize) -> Result<(), LinkFault> {
        let to = 1 - from;
        for _ in 0..frames {
            let Some(frame) = self.wires[from].pop_front() else { break };
            self.ends[to].on_frame(self.connections[to].unwrap(), frame)?;
        }
        while let Some(ack) = self.acks[from].pop_front() {
            self.ends[to].on_ack(self.connections[to].unwrap(), ack)?;
        }
        Ok(())
    }

    fn run(&mut self, from: usize) {
        self.transmit(from, usize::MAX);
        self.arrive(from, usize::MAX).unwrap();
    }

    fn pop_all(&mut self, end: usize) -> Vec<Vec<u8>> {
        let deliveries = std::iter::from_fn(|| self.ends[end].pop());
        deliveries
            .map(|delivery| match delivery {
                Delivery::Frame { payload, .. } => payload,
                Delivery::PeerReset { .. } => panic!("no reset was ordered"),
            })
            .collect()
    }
}

#[test]
fn a_hundred_sends_before_the_connection_exists_arrive_in_order() {
    let mut pair = Pair::new(LinkLimits::ORDERED);
    for n in 0..100 {
        assert_eq!(pair.ends[0].send(number(n), Class::Ordered).unwrap(), Seq(u64::from(n) + 1));
        assert_eq!(pair.ends[0].poll_frame(), None, "nothing leaves without a connection");
    }
    pair.connect().unwrap();
    pair.run(0);
    assert_eq!(pair.pop_all(1), (0..100).map(number).collect::<Vec<_>>());
    pair.run(1);
    assert_eq!(pair.ends[0].unacknowledged(), (0, 0));
    let stats = *pair.ends[0].stats();
    assert_eq!((stats.accepted, stats.transmitted, stats.acknowledged), (100, 100, 100));
    assert_eq!((stats.resent, stats.reconnects), (0, 0));
}

#[test]
fn a_broken_connection_resends_exactly_what_was_not_received() {
    let mut pair = Pair::new(LinkLimits::ORDERED);
    send_each(&mut pair.ends[0], 0..10, Class::Ordered);
    pair.connect().unwrap();
    pair.transmit(0, 7);
    pair.arrive(0, 4).unwrap();
    pair.connect().unwrap();
    pair.run(0);
    assert_eq!(pair.pop_all(1), (0..10).map(number).collect::<Vec<_>>());
    let (sender, receiver) = (pair.ends[0].stats(), pair.ends[1].stats());
    assert_eq!((sender.transmitted, sender.resent, sender.reconnects), (13, 3, 1));
    assert_eq!((receiver.arrived, receiver.duplicates, receiver.delivered), (10, 0, 10));
}

#[test]
fn credit_is_given_when_the_consumer_takes_and_survives_a_reconnect_without_a_resend() {
    let mut pair = Pair::new(LinkLimits::ORDERED);
    pair.ends[0].send(number(1), Class::Ordered).unwrap();
    pair.connect().unwrap();
    pair.run(0);
    pair.run(1);
    assert_eq!(pair.ends[0].unacknowledged().0, 1, "received, but not taken");
    pair.connect().unwrap();
    pair.run(0);
    assert_eq!(pair.ends[0].stats().resent, 0);
    assert_eq!(pair.pop_all(1), vec![number(1)]);
    pair.transmit(1, 0);
    pair.connect().unwrap();
    pair.run(1);
    assert_eq!(pair.ends[0].unacknowledged().0, 0, "the lost credit is told again");
}

#[test]
fn at_the_soft_limit_state_is_refused_and_order_is_kept_until_the_hard_limit_breaks_it_off() {
    let mut pair = Pair::new(small());
    send_each(&mut pair.ends[0], 0..8, Class::Coalescible);
    let full = pair.ends[0].send(number(99), Class::Coalescible).unwrap_err();
    assert_eq!(full, SendError::Full { payload: number(99), items: 8, bytes: 32 });
    send_each(&mut pair.ends[0], 8..12, Class::Ordered);
    let over = pair.ends[0].send(number(12), Class::Ordered).unwrap_err();
    assert_eq!(over, SendError::Overflow { payload: number(12) });
    assert!(matches!(
        pair.ends[0].send(number(13), Class::Ordered),
        Err(SendError::Broken { reason: ResetReason::Overflow, .. })
    ));
    assert_eq!(pair.connect(), Err(LinkFault::Broken(ResetReason::Overflow)));
    let abandoned = pair.ends[0].reset(ResetReason::Overflow);
    let back: Vec<_> = abandoned.never_sent.into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(back, (0..12).map(number).collect::<Vec<_>>(), "nothing is lost silently");
    let stats = pair.ends[0].stats();
    assert_eq!((stats.refused_full, stats.refused_broken, stats.abandoned), (1, 2, 12));
}

#[test]
fn bytes_count_as_items_do() {
    let mut end = Machine::new(small());
    for _ in 0..4 {
        end.send(vec![0; 16], Class::Coalescible).unwrap();
    }
    assert!(matches!(end.send(vec![0], Class::Coalescible), Err(SendError::Full { .. })));
    end.send(vec![0; 16], Class::Ordered).unwrap();
    end.send(vec![0; 16], Class::Ordered).unwrap();
    assert_eq!(end.unacknowledged(), (6, 96));
    assert!(matches!(end.send(vec![0], Class::Ordered), Err(SendError::Overflow { .. })));
}

#[test]
fn the_peer_sees_a_reset_in_its_place_in_the_order() {
    let mut pair = Pair::new(small());
    send_each(&mut pair.ends[0], 0..3, Class::Ordered);
    pair.connect().unwrap();
    pair.transmit(0, 2);
    pair.arrive(0, 1).unwrap();
    let abandoned = pair.ends[0].reset(ResetReason::Ordered);
    assert_eq!((abandoned.perhaps_received.len(), abandoned.never_sent.len()), (2, 1));
    assert_eq!(pair.ends[0].connection(), None, "the caller must reconnect");
    pair.ends[0].send(number(7), Class::Ordered).unwrap();
    pair.connect().unwrap();
    pair.run(0);
    let seen: Vec<_> = std::iter::from_fn(|| pair.ends[1].pop()).collect();
    let (old, new) = (Generation(0), Generation(1));
    let expected = vec![
        Delivery::Frame { generation: old, seq: Seq(1), payload: number(0) },
        Delivery::PeerReset { generation: new, received: Seq(1) },
        Delivery::Frame { generation: new, seq: Seq(1), payload: number(7) },
    ];
    assert_eq!(seen, expected);
    pair.run(1);
    assert_eq!(pair.ends[0].unacknowledged().0, 0, "old credit does not count for the new stream");
}

#[test]
fn credit_for_an_earlier_generation_frees_nothing_of_this_one() {
    let mut pair = Pair::new(small());
    send_each(&mut pair.ends[0], 0..2, Class::Ordered);
    let _ = pair.ends[0].reset(ResetReason::Ordered);
    send_each(&mut pair.ends[0], 0..2, Class::Ordered);
    pair.connect().unwrap();
    pair.transmit(0, 2);
    let old = Ack { generation: Generation(0), seq: Seq(2) };
    pair.ends[0].on_ack(pair.connections[0].unwrap(), old).unwrap();
    assert_eq!(pair.ends[0].unacknowledged().0, 2);
}

#[test]
fn a_hole_is_held_within_bounds_and_closed_by_what_was_missing() {
    let mut pair = Pair::new(small());
    send_each(&mut pair.ends[0], 0..7, Class::Ordered);
    pair.connect().unwrap();
    pair.transmit(0, 7);
    let mut frames: Vec<_> = pair.wires[0].drain(..).collect();
    let last = frames.pop().unwrap();
    let first = frames.remove(0);
    let connection = pair.connections[1].unwrap();
    for frame in frames.drain(..4) {
        assert_eq!(pair.ends[1].on_frame(connection, frame), Ok(Arrival::Held));
    }
    let wide = LinkFault::GapTooWide { expected: Seq(1), got: Seq(7), held: 4 };
    assert_eq!(wide.remedy(), Remedy::Reconnect);
    assert_eq!(pair.ends[1].on_frame(connection, last.clone()), Err(wide));
    assert_eq!(pair.ends[1].on_frame(connection, first), Ok(Arrival::Ready));
    assert_eq!(pair.ends[1].last_received(), Seq(5));
    assert_eq!(pair.ends[1].on_frame(connection, last), Ok(Arrival::Held));
    assert_eq!(pair.ends[1].stats().held, 5);
    assert_eq!(pair.ends[1].stats().refused_arrivals, 1);
}

#[test]
fn a_hole_that_stays_open_asks_for_a_reconnect() {
    let mut pair = Pair::new(small());
    send_each(&mut pair.ends[0], 0..2, Class::Ordered);
    pair.connect().unwrap();
    pair.transmit(0, 2);
    pair.wires[0].pop_front();
    pair.arrive(0, 1).unwrap();
    assert_eq!(pair.ends[1].on_tick(), Ok(()));
    assert_eq!(pair.ends[1].on_tick(), Ok(()));
    let old = LinkFault::GapTooOld { expected: Seq(1), ticks: 3 };
    assert_eq!(pair.ends[1].on_tick(), Err(old));
    pair.connect().unwrap();
    pair.run(0);
    assert_eq!(pair.pop_all(1), vec![number(0), number(1)]);
    assert_eq!(pair.ends[1].stats().duplicates, 1, "the held one came twice");
}

#[test]
fn an_oversized_payload_is_refused_at_its_source_and_the_link_stays_up() {
    let mut pair = Pair::new(small());
    pair.connect().unwrap();
    let refused = pair.ends[0].send(vec![0; 17], Class::Ordered).unwrap_err();
    assert_eq!(refused, SendError::TooLarge { payload: vec![0; 17], bytes: 17, limit: 16 });
    pair.ends[0].send(number(1), Class::Ordered).unwrap();
    pair.run(0);
    assert_eq!(pair.pop_all(1), vec![number(1)]);
}

#[test]
fn a_frame_that_ends_every_connection_does_not_do_so_for_ever() {
    let mut pair = Pair::new(small());
    pair.ends[1] = Machine::new(LinkLimits { frame_bytes: 2, ..small() });
    pair.ends[0].send(number(1), Class::Ordered).unwrap();
    let mut tries = 0;
    let fault = loop {
        if let Err(fault) = pair.connect() {
            break fault;
        }
        tries += 1;
        pair.transmit(0, 1);
        let too_large = LinkFault::FrameTooLarge { seq: Seq(1), bytes: 4, limit: 2 };
        assert_eq!(pair.arrive(0, 1), Err(too_large));
    };
    assert_eq!((tries, &fault), (5, &LinkFault::NoProgress { seq: Seq(1), tries: 5 }));
    assert_eq!(fault.remedy(), Remedy::Reset);
    assert_eq!(pair.ends[0].reset(ResetReason::Fault).len(), 1);
    pair.ends[0].send(vec![9], Class::Ordered).unwrap();
    pair.connect().unwrap();
    pair.run(0);
    let seen: Vec<_> = std::iter::from_fn(|| pair.ends[1].pop()).collect();
    assert_eq!(seen.len(), 2, "the reset and what came after it");
}

#[test]
fn a_peer_that_contradicts_itself_is_a_fault_and_never_a_panic() {
    let mut end = Machine::new(small());
    send_each(&mut end, 0..3, Class::Ordered);
    let claims = |last| Resume { last_received: Seq(last), ..Resume::default() };
    let beyond = LinkFault::ClaimBeyondSent { claimed: Seq(1), sent: Seq(0) };
    assert_eq!(end.on_connected(claims(1)), Err(beyond));
    let connection = end.on_connected(claims(0)).unwrap();
    for _ in 0..3 {
        end.poll_frame().unwrap();
    }
    end.on_ack(connection, Ack { generation: Generation(0), seq: Seq(2) }).unwrap();
    let forgot = LinkFault::PeerForgot { claimed: Seq(1), acknowledged: Seq(2) };
    assert_eq!(end.on_connected(claims(1)), Err(forgot));
    let again = end.on_connected(claims(2)).unwrap();
    let ahead = Ack { generation: Generation(0), seq: Seq(3) };
    let beyond = LinkFault::ClaimBeyondSent { claimed: Seq(3), sent: Seq(2) };
    assert_eq!(end.on_ack(again, ahead), Err(beyond), "it said that it lacks 3");
    let future = Ack { generation: Generation(4), seq: Seq(0) };
    assert!(matches!(end.on_ack(again, future), Err(LinkFault::UnknownGeneration { .. })));
    assert_eq!(end.on_ack(connection, ahead), Ok(()), "a late word of the old connection");
    assert_eq!(end.stats().old_connection, 1);
}

#[test]
fn a_peer_that_sends_beyond_its_credit_is_stopped() {
    let mut pair = Pair::new(small());
    pair.connect().unwrap();
    let connection = pair.connections[1].unwrap();
    let frame =
        |n: u32| Frame { generation: Generation(0), seq: Seq(u64::from(n)), payload: number(n) };
    for n in 1..=12 {
        assert_eq!(pair.ends[1].on_frame(connection, frame(n)), Ok(Arrival::Ready));
    }
    let full = LinkFault::InboxFull { items: 12, bytes: 48 };
    assert_eq!(pair.ends[1].on_frame(connection, frame(13)), Err(full));
    assert_eq!(pair.ends[1].waiting(), (12, 48));
}

#[test]
fn the_end_of_an_old_connection_does_not_end_the_new_one() {
    let mut pair = Pair::new(small());
    pair.connect().unwrap();
    let old = pair.connections[1].unwrap();
    let hello = pair.ends[0].resume();
    let new = pair.ends[1].on_connected(hello).unwrap();
    pair.ends[1].on_disconnected(old);
    assert_eq!(pair.ends[1].connection(), Some(new));
    assert_eq!(pair.ends[1].stats().old_connection, 1);
}

#[test]
fn endless_resets_of_a_peer_do_not_fill_the_inbox() {
    let mut end = Machine::new(small());
    for generation in 1..1000 {
        end.on_connected(Resume { sending: Generation(generation), ..Resume::default() }).unwrap();
    }
    assert_eq!(end.waiting().0, 1);
    assert_eq!(end.stats().peer_resets, 999);
    let late = end.on_connected(Resume { sending: Generation(5), ..Resume::default() });
    assert!(matches!(late, Err(LinkFault::OldGeneration { .. })));
}
