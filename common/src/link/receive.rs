//! The receiving half: puts frames into their order, once each, and tells the peer its credit.

use super::fault::LinkFault;
use super::stats::LinkStats;
use super::types::{Ack, Generation, LinkLimits, Payload};
use crate::order::Seq;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It, and perhaps held ones after it, can be taken now.
    Ready,
    /// It waits behind a hole.
    Held,
    /// It was received before.
    Duplicate,
    /// Its generation was given up by its sender.
    OldGeneration,
    /// It came over a connection that is no longer the current one; it will be sent again.
    OldConnection,
}

/// What the consumer takes, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery<P> {
    /// The next frame of the stream.
    Frame {
        /// Its generation.
        generation: Generation,
        /// Its position.
        seq: Seq,
        /// Its content.
        payload: P,
    },
    /// The peer gave its stream up and begins again: some frames after the last delivered one
    /// may be missing, so state has to be asked for anew.
    PeerReset {
        /// The generation that begins.
        generation: Generation,
        /// The newest sequence received of the generation that ended.
        received: Seq,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReceiveHalf<P> {
    pub(super) generation: Generation,
    /// Newest received without a hole before it.
    pub(super) last: Seq,
    ready: VecDeque<Delivery<P>>,
    ready_bytes: usize,
    held: BTreeMap<Seq, P>,
    held_bytes: usize,
    gap_ticks: u32,
    /// Newest of this generation that the consumer took.
    taken: Seq,
    /// Newest that the peer was told on this connection.
    told: Seq,
}

impl<P: Payload> ReceiveHalf<P> {
    pub(super) fn new() -> Self {
        Self {
            generation: Generation(0),
            last: Seq(0),
            ready: VecDeque::new(),
            ready_bytes: 0,
            held: BTreeMap::new(),
            held_bytes: 0,
            gap_ticks: 0,
            taken: Seq(0),
            told: Seq(0),
        }
    }

    /// Frames and bytes that the consumer has not taken, those behind a hole included.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.ready.len() + self.held.len(), self.ready_bytes + self.held_bytes)
    }

    pub(super) fn on_frame(
        &mut self,
        generation: Generation,
        seq: Seq,
        payload: P,
        limits: &LinkLimits,
        stats: &mut LinkStats,
    ) -> Result<Arrival, LinkFault> {
        if generation < self.generation {
            stats.old_generation += 1;
            return Ok(Arrival::OldGeneration);
        }
        if generation > self.generation {
            return Err(LinkFault::UnknownGeneration { got: generation, known: self.generation });
        }
        if seq <= self.last || self.held.contains_key(&seq) {
            stats.duplicates += 1;
            return Ok(Arrival::Duplicate);
        }
        self.check_room(seq, payload.cost(), limits)?;
        if seq > self.last.next() {
            stats.held += 1;
            self.held_bytes += payload.cost();
            self.held.insert(seq, payload);
            return Ok(Arrival::Held);
        }
        self.make_ready(seq, payload);
        self.release_held();
        Ok(Arrival::Ready)
    }

    fn check_room(&self, seq: Seq, cost: usize, limits: &LinkLimits) -> Result<(), LinkFault> {
        if cost > limits.frame_bytes {
            let limit = limits.frame_bytes;
            return Err(LinkFault::FrameTooLarge { seq, bytes: cost, limit });
        }
        let expected = self.last.next();
        if seq > expected && self.held.len() >= limits.held_items {
            return Err(LinkFault::GapTooWide { expected, got: seq, held: self.held.len() });
        }
        let (items, bytes) = self.waiting();
        if items >= limits.hard_items || bytes + cost > limits.hard_bytes {
            return Err(LinkFault::InboxFull { items, bytes });
        }
        Ok(())
    }

    fn make_ready(&mut self, seq: Seq, payload: P) {
        self.last = seq;
        self.ready_bytes += payload.cost();
        let generation = self.generation;
        self.ready.push_back(Delivery::Frame { generation, seq, payload });
    }

    fn release_held(&mut self) {
        while let Some(payload) = self.held.remove(&self.last.next()) {
            self.held_bytes -= payload.cost();
            self.make_ready(self.last.next(), payload);
        }
        self.gap_ticks = 0;
    }

    pub(super) fn pop(&mut self, stats: &mut LinkStats) -> Option<Delivery<P>> {
        let delivery = self.ready.pop_front()?;
        if let Delivery::Frame { generation, seq, payload } = &delivery {
            self.ready_bytes -= payload.cost();
            stats.delivered += 1;
            if *generation == self.generation {
                self.taken = *seq;
            }
        }
        Some(delivery)
    }

    /// The credit as of now, if it is news; counts as told.
    pub(super) fn untold_ack(&mut self) -> Option<Ack> {
        let news = self.taken > self.told;
        self.told = self.taken;
        news.then_some(Ack { generation: self.generation, seq: self.taken })
    }

    pub(super) fn on_tick(&mut self, limits: &LinkLimits) -> Result<(), LinkFault> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.gap_ticks += 1;
        if self.gap_ticks < limits.held_ticks {
            return Ok(());
        }
        let (expected, ticks) = (self.last.next(), std::mem::take(&mut self.gap_ticks));
        Err(LinkFault::GapTooOld { expected, ticks })
    }

    pub(super) fn check_generation(&self, sending: Generation) -> Result<(), LinkFault> {
        if sending < self.generation {
            return Err(LinkFault::OldGeneration { got: sending, seen: self.generation });
        }
        Ok(())
    }

    /// A connection begins: what the peer was told on the last one may be lost.
    pub(super) fn on_connected(&mut self, sending: Generation, stats: &mut LinkStats) {
        self.told = Seq(0);
        self.gap_ticks = 0;
        if sending == self.generation {
            return;
        }
        stats.peer_resets += 1;
        stats.discarded_by_peer_reset += self.held.len() as u64;
        self.held.clear();
        self.held_bytes = 0;
        let received = self.last;
        self.generation = sending;
        self.last = Seq(0);
        self.taken = Seq(0);
        // One marker is enough for resets in a row, however many: the inbox stays bounded.
        if let Some(Delivery::PeerReset { generation, .. }) = self.ready.back_mut() {
            *generation = sending;
        } else {
            self.ready.push_back(Delivery::PeerReset { generation: sending, received });
        }
    }
}
