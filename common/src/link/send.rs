//! The sending half: numbers payloads, keeps them until the peer's consumer has them.

use super::fault::LinkFault;
use super::stats::LinkStats;
use super::types::{Class, Generation, LinkLimits, Payload};
use crate::order::Seq;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Why a payload was not accepted. The payload comes back, so that nothing is lost by a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError<P> {
    /// At the soft limit: merge this with what you send later.
    #[error(
        "{items} frames and {bytes} bytes are not acknowledged yet: merge this with later content"
    )]
    Full {
        /// The refused payload.
        payload: P,
        /// Frames not acknowledged.
        items: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// Larger than one frame may be: split it. It would end each connection that carries it.
    #[error("{bytes} bytes do not fit into a frame of {limit}: split the content")]
    TooLarge {
        /// The refused payload.
        payload: P,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// At the hard limit: the stream is now broken off. Call `reset`, then send state anew.
    #[error("the peer took nothing for too long: disconnect it, reset the stream, send state anew")]
    Overflow {
        /// The refused payload.
        payload: P,
    },
    /// Broken off earlier, and `reset` was not called yet.
    #[error("the stream is broken off ({reason}) and waits for its reset")]
    Broken {
        /// The refused payload.
        payload: P,
        /// Why it was broken off.
        reason: ResetReason,
    },
}

/// Why a stream was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ResetReason {
    /// The hard limit was met.
    #[error("hard limit of unacknowledged frames")]
    Overflow,
    /// A fault whose remedy is a reset.
    #[error("fault of the link")]
    Fault,
    /// The caller's own decision.
    #[error("ordered by the caller")]
    Ordered,
    /// A newer life of the peer was seen, or this one was declared dead.
    #[error("that life of the peer is over")]
    PeerGone,
}

/// What a stream gives back when it is given up, in order.
#[must_use = "these frames will not arrive by themselves"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned<P> {
    /// Why.
    pub reason: ResetReason,
    /// The generation that ended.
    pub generation: Generation,
    /// Were handed to a connection: the peer may or may not have them.
    pub perhaps_received: Vec<(Seq, P)>,
    /// Never left this process.
    pub never_sent: Vec<(Seq, P)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SendHalf<P> {
    pub(super) generation: Generation,
    pub(super) broken: Option<ResetReason>,
    queue: VecDeque<P>,
    bytes: usize,
    /// Everything up to here is freed; the front of `queue` is the next.
    acked: Seq,
    /// Newest handed to the current connection.
    cursor: Seq,
    /// Newest handed to any connection.
    high: Seq,
    /// Where the newest connection began.
    resumed_at: Seq,
    fruitless: u32,
}

impl<P: Payload> SendHalf<P> {
    pub(super) fn new(generation: Generation) -> Self {
        Self {
            generation,
            broken: None,
            queue: VecDeque::new(),
            bytes: 0,
            acked: Seq(0),
            cursor: Seq(0),
            high: Seq(0),
            resumed_at: Seq(0),
            fruitless: 0,
        }
    }

    pub(super) fn unacked(&self) -> (usize, usize) {
        (self.queue.len(), self.bytes)
    }

    pub(super) fn unsent(&self) -> usize {
        usize::try_from(self.newest().0.saturating_sub(self.cursor.0)).unwrap_or(usize::MAX)
    }

    pub(super) fn newest(&self) -> Seq {
        Seq(self.acked.0 + self.queue.len() as u64)
    }

    pub(super) fn push(
        &mut self,
        payload: P,
        class: Class,
        limits: &LinkLimits,
        stats: &mut LinkStats,
    ) -> Result<Seq, SendError<P>> {
        if let Some(reason) = self.broken {
            stats.refused_broken += 1;
            return Err(SendError::Broken { payload, reason });
        }
        let cost = payload.cost();
        if cost > limits.frame_bytes {
            stats.refused_too_large += 1;
            let limit = limits.frame_bytes;
            return Err(SendError::TooLarge { payload, bytes: cost, limit });
        }
        let (items, bytes) = self.unacked();
        let over = |max_items, max_bytes| items >= max_items || bytes + cost > max_bytes;
        let at_hard = over(limits.hard_items, limits.hard_bytes);
        match class {
            Class::Coalescible if at_hard || over(limits.soft_items, limits.soft_bytes) => {
                stats.refused_full += 1;
                return Err(SendError::Full { payload, items, bytes });
            }
            Class::Ordered if at_hard => {
                self.broken = Some(ResetReason::Overflow);
                stats.refused_broken += 1;
                return Err(SendError::Overflow { payload });
            }
            Class::Coalescible | Class::Ordered => {}
        }
        self.queue.push_back(payload);
        self.bytes += cost;
        stats.accepted += 1;
        Ok(self.newest())
    }

    /// The next frame for the current connection.
    pub(super) fn next(&mut self, stats: &mut LinkStats) -> Option<(Seq, P)> {
        if self.broken.is_some() || self.cursor >= self.newest() {
            return None;
        }
        let seq = self.cursor.next();
        let payload = self.queue.get((seq.0 - self.acked.0 - 1) as usize)?.clone();
        self.cursor = seq;
        stats.transmitted += 1;
        if seq <= self.high {
            stats.resent += 1;
        }
        self.high = self.high.max(seq);
        Some((seq, payload))
    }

    pub(super) fn on_ack(&mut self, seq: Seq, stats: &mut LinkStats) -> Result<(), LinkFault> {
        // Not `high`: a peer that takes what it said it does not hold contradicts itself.
        if seq > self.cursor {
            return Err(LinkFault::ClaimBeyondSent { claimed: seq, sent: self.cursor });
        }
        while self.acked < seq {
            if let Some(payload) = self.queue.pop_front() {
                self.bytes -= payload.cost();
            }
            self.acked = self.acked.next();
            stats.acknowledged += 1;
        }
        Ok(())
    }

    /// Checks where the peer wants to continue, and counts connections that brought nothing.
    pub(super) fn check_resume(
        &self,
        last: Seq,
        limits: &LinkLimits,
    ) -> Result<SendResume, LinkFault> {
        if let Some(reason) = self.broken {
            return Err(LinkFault::Broken(reason));
        }
        if last > self.high {
            return Err(LinkFault::ClaimBeyondSent { claimed: last, sent: self.high });
        }
        if last < self.acked {
            return Err(LinkFault::PeerForgot { claimed: last, acknowledged: self.acked });
        }
        let tried = self.cursor > self.resumed_at;
        let fruitless = match (tried, last > self.resumed_at) {
            (_, true) => 0,
            (true, false) => self.fruitless + 1,
            (false, false) => self.fruitless,
        };
        if fruitless >= limits.fruitless_connections {
            return Err(LinkFault::NoProgress { seq: last.next(), tries: fruitless });
        }
        Ok(SendResume { last, fruitless })
    }

    pub(super) fn resume(&mut self, at: SendResume) {
        self.cursor = at.last;
        self.resumed_at = at.last;
        self.fruitless = at.fruitless;
    }

    /// Ends this generation and hands back what is not acknowledged.
    pub(super) fn reset(&mut self, reason: ResetReason) -> Abandoned<P> {
        let (generation, high, first) = (self.generation, self.high, self.acked.0 + 1);
        let queue = std::mem::take(&mut self.queue);
        let numbered = queue.into_iter().zip(first..).map(|(p, seq)| (Seq(seq), p));
        let (perhaps_received, never_sent) = numbered.partition(|(seq, _)| *seq <= high);
        *self = Self::new(Generation(generation.0 + 1));
        Abandoned { reason, generation, perhaps_received, never_sent }
    }
}

/// A checked point to continue from.
#[derive(Clone, Copy)]
pub(super) struct SendResume {
    last: Seq,
    fruitless: u32,
}

impl<P> Abandoned<P> {
    /// How many frames were handed back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.perhaps_received.len() + self.never_sent.len()
    }

    /// Whether nothing was on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
