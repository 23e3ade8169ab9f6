//! Puts items that carry a contiguous sequence back into order, within bounds.
//!
//! Invariants: items come out in strictly increasing order and each at most once; what is held is
//! bounded in number and, if [`ReorderWindow::expire`] is called each tick, in age; a number that
//! never comes out was counted, in a [`Skip`], as a refusal or as a repetition.
//!
//! A gap cannot be waited for without end. The declared choice at a bound is [`WhenFull`]: a stream
//! that can be resent refuses and lets its owner reconnect; one that cannot skips the gap.

#[cfg(test)]
mod tests;

use super::{Tick, checked_serde};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most skipped ranges that are remembered, to tell a late item from a repeated one.
const SKIPS_REMEMBERED: usize = 16;

/// What happens when a window is at its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenFull {
    /// The item is refused; the owner of the stream reconnects and has it sent again.
    Refuse,
    /// The gap is given up: what is held comes out, and what was not there is counted.
    Skip,
}

/// The bounds of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReorderLimits {
    /// Most items held behind a gap.
    pub held_max: u16,
    /// Longest wait for a gap to close, in ticks.
    pub held_ticks_max: u64,
    /// What happens at either.
    pub when_full: WhenFull,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It was next, and is the first of the ready items.
    InOrder,
    /// It came early and waits for what is before it; or it did, and its own arrival made the
    /// window give up the gap.
    Held,
    /// It came out before, or is held already.
    Duplicate,
    /// Its place was skipped, or lies so far back that it is no longer known.
    TooOld,
    /// The window is full and refuses; or the number is the largest there is, after which no other
    /// could follow.
    Overflow,
}

/// Why a gap was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkipReason {
    /// Too many items waited behind it.
    Items,
    /// Something waited behind it for too long.
    Age,
    /// The stream ended.
    End,
}

/// Numbers that will never come out: `from` up to, not including, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The first number skipped.
    pub from: u64,
    /// The number after the last one skipped.
    pub to: u64,
    /// Why.
    pub reason: SkipReason,
}

impl Skip {
    /// How many numbers were skipped.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// What accepting an item led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted<T> {
    /// What became of the item.
    pub verdict: Verdict,
    /// The items that are now in order, oldest first.
    pub ready: Vec<T>,
    /// A gap that was given up in front of the ready items.
    pub skipped: Option<Skip>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held<T> {
    seq: u64,
    since: Tick,
    item: T,
}

/// A bounded window over a contiguous sequence. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct ReorderWindow<T> {
    limits: ReorderLimits,
    next: u64,
    /// Sorted by number, all above `next`.
    held: VecDeque<Held<T>>,
    /// Ranges below `next` that were skipped, oldest first.
    skips: VecDeque<(u64, u64)>,
    /// Below this nothing is known any more.
    known_from: u64,
}

checked_serde!(ReorderWindow<T>);

impl<T> ReorderWindow<T> {
    /// A window that waits for the number `first`.
    #[must_use]
    pub fn new(first: u64, limits: ReorderLimits) -> Self {
        Self {
            limits,
            next: first,
            held: VecDeque::new(),
            skips: VecDeque::new(),
            known_from: first,
        }
    }

    /// Takes an item that arrived at `now`.
    pub fn accept(&mut self, seq: u64, item: T, now: Tick) -> Accepted<T> {
        if seq < self.next {
            return Accepted { verdict: self.judge_old(seq), ready: Vec::new(), skipped: None };
        }
        if seq == u64::MAX {
            return Accepted::refused();
        }
        if seq == self.next {
            self.next += 1;
            let mut ready = vec![item];
            self.release(&mut ready);
            return Accepted { verdict: Verdict::InOrder, ready, skipped: None };
        }
        let at = self.held.partition_point(|held| held.seq < seq);
        if self.held.get(at).is_some_and(|held| held.seq == seq) {
            return Accepted { verdict: Verdict::Duplicate, ready: Vec::new(), skipped: None };
        }
        let full = self.held.len() >= usize::from(self.limits.held_max);
        if full && self.limits.when_full == WhenFull::Refuse {
            return Accepted::refused();
        }
        self.held.insert(at, Held { seq, since: now, item });
        let mut ready = Vec::new();
        let skipped = if full { self.give_up(SkipReason::Items, &mut ready) } else { None };
        Accepted { verdict: Verdict::Held, ready, skipped }
    }

    /// Gives up, under [`WhenFull::Skip`], each gap behind which something has waited too long.
    /// Appends what comes out to `ready` and returns what was skipped.
    pub fn expire(&mut self, now: Tick, ready: &mut Vec<T>) -> Vec<Skip> {
        let mut skips = Vec::new();
        while self.limits.when_full == WhenFull::Skip && self.is_overdue(now) {
            skips.extend(self.give_up(SkipReason::Age, ready));
        }
        skips
    }

    /// True when something has waited too long: under [`WhenFull::Refuse`] the time to reconnect.
    #[must_use]
    pub fn is_overdue(&self, now: Tick) -> bool {
        let waited = |held: &Held<T>| now.0.saturating_sub(held.since.0);
        self.held.iter().any(|held| waited(held) >= self.limits.held_ticks_max)
    }

    /// Gives up all gaps at once, because nothing more will come. Appends what comes out to `ready`
    /// and returns what was skipped.
    pub fn drain(&mut self, ready: &mut Vec<T>) -> Vec<Skip> {
        std::iter::from_fn(|| self.give_up(SkipReason::End, ready)).collect()
    }

    /// The next number in order.
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.next
    }

    /// The bounds.
    #[must_use]
    pub const fn limits(&self) -> &ReorderLimits {
        &self.limits
    }

    /// How many items are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn judge_old(&self, seq: u64) -> Verdict {
        let skipped = self.skips.iter().any(|(from, to)| (*from..*to).contains(&seq));
        if skipped || seq < self.known_from { Verdict::TooOld } else { Verdict::Duplicate }
    }

    fn release(&mut self, ready: &mut Vec<T>) {
        while self.held.front().is_some_and(|held| held.seq == self.next) {
            ready.extend(self.held.pop_front().map(|held| held.item));
            self.next += 1;
        }
    }

    fn give_up(&mut self, reason: SkipReason, ready: &mut Vec<T>) -> Option<Skip> {
        let to = self.held.front()?.seq;
        let skip = Skip { from: self.next, to, reason };
        if self.skips.len() >= SKIPS_REMEMBERED {
            self.known_from = self.skips.pop_front().map_or(self.known_from, |(_, to)| to);
        }
        self.skips.push_back((skip.from, skip.to));
        self.next = to;
        self.release(ready);
        Some(skip)
    }

    fn validate(&self) -> Result<(), &'static str> {
        let numbers = || self.held.iter().map(|held| held.seq);
        let rising = numbers().zip(numbers().skip(1)).all(|(one, two)| one < two);
        let inside = numbers().all(|seq| seq > self.next && seq < u64::MAX);
        // A window may hold one more than its bound only inside a call.
        let bounded = self.held.len() <= usize::from(self.limits.held_max)
            && self.skips.len() <= SKIPS_REMEMBERED;
        if rising && inside && bounded { Ok(()) } else { Err("a broken reorder window") }
    }
}

impl<T> Accepted<T> {
    fn refused() -> Self {
        Self { verdict: Verdict::Overflow, ready: Vec::new(), skipped: None }
    }
}
