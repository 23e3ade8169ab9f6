//! The link over random networks: cut, doubled, swapped, reset at any moment.
#![allow(clippy::unwrap_used)]

use super::tests::{Machine, Pair, number, small};
use super::*;
use crate::order::Seq;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Act {
    Send(usize),
    Transmit(usize, usize),
    Arrive(usize, usize),
    /// The frame at the head of the wire arrives, and arrives once more.
    Twice(usize),
    /// Two frames of one wire change places.
    Swap(usize),
    Pop(usize),
    Tick(usize),
    Cut,
    Connect,
    Reset(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let end = 0..2_usize;
    prop_oneof![
        6 => end.clone().prop_map(Act::Send),
        6 => (end.clone(), 1..6_usize).prop_map(|(e, n)| Act::Transmit(e, n)),
        6 => (end.clone(), 1..6_usize).prop_map(|(e, n)| Act::Arrive(e, n)),
        1 => end.clone().prop_map(Act::Twice),
        1 => end.clone().prop_map(Act::Swap),
        3 => end.clone().prop_map(Act::Pop),
        1 => end.clone().prop_map(Act::Tick),
        1 => Just(Act::Cut),
        3 => Just(Act::Connect),
        1 => end.prop_map(Act::Reset),
    ]
}

/// What one direction was given and what came out.
#[derive(Default)]
struct Ledger {
    sent: Vec<u32>,
    delivered: Vec<u32>,
    handed_back: Vec<u32>,
}

struct Run {
    pair: Pair,
    ledgers: [Ledger; 2],
    next: u32,
}

impl Run {
    fn new() -> Self {
        Self { pair: Pair::new(small()), ledgers: Default::default(), next: 0 }
    }

    fn reset(&mut self, end: usize, reason: ResetReason) {
        let abandoned = self.pair.ends[end].reset(reason);
        self.pair.cut();
        let back = abandoned.perhaps_received.into_iter().chain(abandoned.never_sent);
        let numbers = back.map(|(_, p)| u32::from_le_bytes(p.try_into().unwrap()));
        self.ledgers[end].handed_back.extend(numbers);
    }

    fn remedy(&mut self, result: Result<(), LinkFault>, allow_reset: bool) {
        if let Err(fault) = result {
            self.pair.cut();
            if fault.remedy() == Remedy::Reset {
                assert!(allow_reset, "{fault}");
                (0..2).for_each(|end| self.reset(end, ResetReason::Fault));
            }
        }
    }

    fn pop(&mut self, end: usize) {
        if let Some(Delivery::Frame { payload, .. }) = self.pair.ends[end].pop() {
            let number = u32::from_le_bytes(payload.try_into().unwrap());
            self.ledgers[1 - end].delivered.push(number);
        }
    }

    fn send(&mut self, end: usize, resets: bool) {
        let class =
            if self.next.is_multiple_of(3) && resets { Class::Ordered } else { Class::Coalescible };
        self.next += 1;
        match self.pair.ends[end].send(number(self.next), class) {
            Ok(_) => self.ledgers[end].sent.push(self.next),
            Err(SendError::Overflow { .. }) => self.reset(end, ResetReason::Overflow),
            Err(_) => {}
        }
    }

    fn act(&mut self, act: &Act, resets: bool) {
        let connected = self.pair.connections.iter().all(Option::is_some);
        match *act {
            Act::Send(end) => self.send(end, resets),
            Act::Transmit(end, n) => self.pair.transmit(end, n),
            Act::Arrive(end, n) if connected => {
                let result = self.pair.arrive(end, n);
                self.remedy(result, resets);
            }
            Act::Twice(end) if connected => {
                if let Some(frame) = self.pair.wires[end].front().cloned() {
                    self.pair.wires[end].push_front(frame);
                    let result = self.pair.arrive(end, 2);
                    self.remedy(result, resets);
                }
            }
            Act::Swap(end) if self.pair.wires[end].len() > 1 => self.pair.wires[end].swap(0, 1),
            Act::Pop(end) => self.pop(end),
            Act::Tick(end) => {
                let result = self.pair.ends[end].on_tick();
                self.remedy(result, resets);
            }
            Act::Cut => self.pair.cut(),
            Act::Connect => {
                let result = self.pair.connect();
                // Connections that a random network ends early may look fruitless.
                self.remedy(result, true);
            }
            Act::Reset(end) if resets => self.reset(end, ResetReason::Ordered),
            Act::Arrive(..) | Act::Twice(_) | Act::Swap(_) | Act::Reset(_) => {}
        }
        for end in &self.pair.ends {
            let limits = small();
            let (unacked, waiting) = (end.unacknowledged(), end.waiting());
            assert!(unacked.0 <= limits.hard_items && unacked.1 <= limits.hard_bytes);
            assert!(waiting.0 <= 2 * limits.hard_items && waiting.1 <= limits.hard_bytes);
        }
    }

    /// Heals the network and lets everything through.
    fn settle(&mut self) {
        for _ in 0..40 {
            let result = self.pair.connect();
            self.remedy(result, true);
            for end in [0, 1, 0, 1] {
                self.pair.transmit(end, usize::MAX);
                if self.pair.connections.iter().all(Option::is_some) {
                    let result = self.pair.arrive(end, usize::MAX);
                    self.remedy(result, true);
                }
                (0..64).for_each(|_| self.pop(1 - end));
            }
        }
    }
}

fn is_subsequence(part: &[u32], whole: &[u32]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|n| rest.any(|m| m == n))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Without a reset, whatever happens to the connections: exactly what was sent, in order.
    #[test]
    fn any_network_delivers_the_sent_sequence(acts in prop::collection::vec(act(), 0..300)) {
        let mut run = Run::new();
        run.pair.ends = [(); 2].map(|()| Machine::new(LinkLimits {
            fruitless_connections: u32::MAX, ..small()
        }));
        acts.iter().for_each(|act| run.act(act, false));
        run.settle();
        for (end, ledger) in run.ledgers.iter().enumerate() {
            prop_assert_eq!(&ledger.sent, &ledger.delivered);
            let (sender, receiver) = (run.pair.ends[end].stats(), run.pair.ends[1 - end].stats());
            let sent = ledger.sent.len() as u64;
            prop_assert_eq!(sender.accepted, sent);
            prop_assert_eq!(sender.transmitted, sent + sender.resent);
            prop_assert_eq!(sender.acknowledged, sent);
            prop_assert_eq!(receiver.delivered, sent);
            let kept = receiver.arrived - receiver.duplicates - receiver.refused_arrivals;
            prop_assert_eq!(kept, sent);
        }
    }

    /// With resets: in order, nothing twice, and nothing missing that was not handed back.
    #[test]
    fn with_resets_nothing_is_lost_silently(acts in prop::collection::vec(act(), 0..300)) {
        let mut run = Run::new();
        acts.iter().for_each(|act| run.act(act, true));
        run.settle();
        for ledger in &run.ledgers {
            prop_assert!(is_subsequence(&ledger.delivered, &ledger.sent));
            for number in &ledger.sent {
                prop_assert!(
                    ledger.delivered.contains(number) || ledger.handed_back.contains(number)
                );
            }
        }
    }

    /// Arbitrary words of a peer are faults at worst.
    #[test]
    fn arbitrary_words_of_a_peer_never_panic(
        words in prop::collection::vec((0..4_u8, 0..4_u32, 0..20_u64, 0..4_u32, 0..20_u64), 0..80)
    ) {
        let mut end = Machine::new(small());
        let mut connection = Connection(0);
        for (kind, generation, seq, other, acked) in words {
            let ack = Ack { generation: Generation(other), seq: Seq(acked) };
            let (generation, seq) = (Generation(generation), Seq(seq));
            match kind {
                0 => {
                    let receiving = Generation(other);
                    let peer = Resume { sending: generation, receiving, last_received: seq };
                    connection = end.on_connected(peer).unwrap_or(connection);
                }
                1 => drop(end.on_frame(connection, Frame { generation, seq, payload: vec![1] })),
                2 => drop(end.on_ack(connection, ack)),
                _ => {
                    drop(end.send(number(1), Class::Ordered));
                    end.poll_frame();
                    end.pop();
                }
            }
        }
    }
}
