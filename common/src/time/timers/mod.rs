//! The timers of one entity: a table that travels with it and is due in entity time.
//!
//! Invariants: an occurrence (timer, k) fires once, or a [`TimerDecision`] says that a newer one
//! stands for it or that it was dropped; nothing fires early; what is due exactly now fires now,
//! also when the table has just arrived in another process; occurrence `k` of a periodic timer is
//! due at `first + k * period`, whatever was late before it.
//!
//! A timer that finds more than one of its occurrences due was late by a period or more. Its
//! declared [`LatePolicy`] says what happens, and what happened is returned as a value.

#[cfg(test)]
mod tests;

use super::entity::EntityTime;
use crate::order::checked_serde;
use serde::{Deserialize, Serialize};

/// Most timers of one entity. At some 20 bytes each they stay a small part of its state.
pub const TIMERS_MAX: usize = 64;
/// Most fires that one [`Timers::due`] returns; the rest stays due.
pub const TIMER_FIRES_MAX: usize = 256;

/// A timer of one entity; never reused in the entity's life.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TimerId(pub u32);

/// What a periodic timer does when several of its occurrences are due at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatePolicy {
    /// Each fires, in order.
    CatchUp,
    /// The newest fires and stands for all: its handler is told how many.
    Coalesce,
    /// The newest fires for itself alone; the others never happen. (Dropping the newest too would
    /// starve a timer whose period is shorter than a step.)
    Drop,
}

/// A running timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Which timer.
    pub id: TimerId,
    /// When its next occurrence is due.
    pub due: EntityTime,
    /// The number of that occurrence, from 0.
    pub k: u64,
    /// What the behaviour that set it wants to be told; free for its use.
    pub tag: u64,
    /// Microseconds between occurrences and what lateness does; None fires once.
    pub period: Option<(u64, LatePolicy)>,
}

/// One occurrence that happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerFire {
    /// Which timer.
    pub id: TimerId,
    /// Which of its occurrences.
    pub k: u64,
    /// When it was due: now or before.
    pub due: EntityTime,
    /// The tag the timer was set with.
    pub tag: u64,
    /// How many occurrences this one stands for; more than 1 only under coalesce.
    pub count: u64,
}

/// What became of the occurrences of a late periodic timer. Occurrences `from_k` up to, not
/// including, `to_k` were due at once. Under catch-up each of them fires (what a full batch leaves
/// over is told again with the next); else only the newest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerDecision {
    /// Which timer.
    pub id: TimerId,
    /// What was done about it.
    pub policy: LatePolicy,
    /// The first occurrence due.
    pub from_k: u64,
    /// The occurrence after the last one due.
    pub to_k: u64,
    /// The entity time of the decision.
    pub at: EntityTime,
}

/// What [`Timers::due`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerBatch {
    /// What happens now, in order of (due, timer).
    pub fires: Vec<TimerFire>,
    /// What was decided about late timers; to be journalled.
    pub decisions: Vec<TimerDecision>,
    /// True when more is due than one batch may hold: it stays due for the next call.
    pub more: bool,
}

/// Why a timer was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum TimerError {
    /// The entity has as many timers as it may have.
    #[error("an entity may have at most {TIMERS_MAX} timers")]
    Full,
    /// A period of 0 would fire for ever.
    #[error("the period of a timer must be at least 1 us")]
    ZeroPeriod,
    /// The entity has used up all timer numbers.
    #[error("the entity has used up its 2^32 timer numbers")]
    NoMoreIds,
}

/// The table. See the module for its invariants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Timers {
    /// Sorted by (due, id).
    rows: Vec<Timer>,
    next_id: u32,
}

checked_serde!(Timers);

impl Timers {
    /// Sets a timer that fires once, at the first call with a time at or after `due`.
    ///
    /// # Errors
    /// When the table is full.
    pub fn once(&mut self, due: EntityTime, tag: u64) -> Result<TimerId, TimerError> {
        self.add(due, tag, None)
    }

    /// Sets a timer whose occurrence `k` is due at `first_due + k * period_us`.
    ///
    /// # Errors
    /// When the table is full or the period is 0.
    pub fn every(
        &mut self,
        first_due: EntityTime,
        period_us: u64,
        late: LatePolicy,
        tag: u64,
    ) -> Result<TimerId, TimerError> {
        if period_us == 0 {
            return Err(TimerError::ZeroPeriod);
        }
        self.add(first_due, tag, Some((period_us, late)))
    }

    /// Ends a timer. False when it has ended before.
    pub fn cancel(&mut self, id: TimerId) -> bool {
        let before = self.rows.len();
        self.rows.retain(|timer| timer.id != id);
        self.rows.len() < before
    }

    /// Takes everything that is due at or before `now`, in order of (due, timer). A fire in the
    /// batch has happened: cancelling its timer ends only what comes later.
    pub fn due(&mut self, now: EntityTime) -> TimerBatch {
        let mut batch = TimerBatch::default();
        while batch.fires.len() < TIMER_FIRES_MAX {
            let Some((fire, decision)) = self.next_due(now) else { return batch };
            batch.fires.push(fire);
            // Each fire of a timer that catches up finds the rest still late; one record says it.
            let told = batch.decisions.iter().any(|told| told.id == fire.id);
            batch.decisions.extend(decision.filter(|_| !told));
        }
        batch.more = self.next_deadline().is_some_and(|due| due <= now);
        batch
    }

    /// When the first timer is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<EntityTime> {
        self.rows.first().map(|timer| timer.due)
    }

    /// The running timers, in order of (due, timer).
    #[must_use]
    pub fn rows(&self) -> &[Timer] {
        &self.rows
    }

    fn next_due(&mut self, now: EntityTime) -> Option<(TimerFire, Option<TimerDecision>)> {
        let head = *self.rows.first().filter(|timer| timer.due <= now)?;
        self.rows.remove(0);
        let Timer { id, due, k, tag, period } = head;
        let Some((period_us, policy)) = period else {
            return Some((TimerFire { id, k, due, tag, count: 1 }, None));
        };
        let waiting = (now.0 - due.0) / period_us;
        let skip = if policy == LatePolicy::CatchUp { 0 } else { waiting };
        // Neither sum can overflow: the newest occurrence is due by now, and k is at most
        // due / period, which decoding checks.
        let fired = Timer { due: EntityTime(due.0 + skip * period_us), k: k + skip, ..head };
        self.put_next(fired, period_us);
        let count = if policy == LatePolicy::Coalesce { waiting + 1 } else { 1 };
        let fire = TimerFire { id, k: fired.k, due: fired.due, tag, count };
        let to_k = (k + waiting).saturating_add(1);
        let decision = TimerDecision { id, policy, from_k: k, to_k, at: now };
        Some((fire, (waiting > 0).then_some(decision)))
    }

    fn add(
        &mut self,
        due: EntityTime,
        tag: u64,
        period: Option<(u64, LatePolicy)>,
    ) -> Result<TimerId, TimerError> {
        if self.rows.len() >= TIMERS_MAX {
            return Err(TimerError::Full);
        }
        let id = TimerId(self.next_id);
        self.next_id = self.next_id.checked_add(1).ok_or(TimerError::NoMoreIds)?;
        self.put(Timer { id, due, k: 0, tag, period });
        Ok(id)
    }

    fn put(&mut self, timer: Timer) {
        let at = self.rows.partition_point(|row| (row.due, row.id) < (timer.due, timer.id));
        self.rows.insert(at, timer);
    }

    /// A timer whose next occurrence lies beyond the end of entity time has none.
    fn put_next(&mut self, fired: Timer, period_us: u64) {
        if let (Some(due), Some(k)) = (fired.due.0.checked_add(period_us), fired.k.checked_add(1)) {
            self.put(Timer { due: EntityTime(due), k, ..fired });
        }
    }

    fn validate(&self) -> Result<(), &'static str> {
        let order = |row: &Timer| (row.due, row.id);
        let mut ids: Vec<u32> = self.rows.iter().map(|row| row.id.0).collect();
        ids.sort_unstable();
        if self.rows.len() > TIMERS_MAX {
            return Err("too many timers");
        }
        if self.rows.windows(2).any(|two| order(&two[0]) >= order(&two[1])) {
            return Err("timers out of order");
        }
        if ids.windows(2).any(|two| two[0] == two[1])
            || ids.last().is_some_and(|id| *id >= self.next_id)
        {
            return Err("timer ids repeat");
        }
        let possible = |row: &Timer| match row.period {
            None => row.k == 0,
            Some((period_us, _)) => row.due.0.checked_div(period_us).is_some_and(|k| row.k <= k),
        };
        if !self.rows.iter().all(possible) {
            return Err("a timer with an impossible occurrence");
        }
        Ok(())
    }
}
