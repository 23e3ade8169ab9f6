//! The timers of one entity: a table that travels with it and is due in entity time.
//!
//! Invariants: an occurrence (timer, k) fires once, or a [`TimerDecision`] says that a newer one
//! stands for it or that it was dropped; nothing fires early; what is due exactly now fires now,
//! also when the table has just arrived in another process; the occurrences of a periodic timer
//! are due a whole number of periods after its first, whatever was late before them; no pair
//! (timer, k) comes back in the life of the entity, also when the timer is set anew.
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

/// When a timer is due, from the moment at which it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerSpec {
    /// Once.
    Once {
        /// Microseconds of entity time from now.
        after_us: u64,
    },
    /// Again and again.
    Every {
        /// Microseconds of entity time from now to the first occurrence.
        after_us: u64,
        /// Microseconds between occurrences, at least 1.
        period_us: u64,
        /// What happens when several are due at once.
        late: LatePolicy,
    },
}

/// A running timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Which timer, as the behaviour numbers them.
    pub id: u32,
    /// When its next occurrence is due.
    pub due: EntityTime,
    /// The number of that occurrence.
    pub k: u64,
    /// Microseconds between occurrences and what lateness does; None fires once.
    pub period: Option<(u64, LatePolicy)>,
}

/// One occurrence that happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerFire {
    /// Which timer.
    pub id: u32,
    /// Which of its occurrences.
    pub k: u64,
    /// When it was due: now or before.
    pub due: EntityTime,
    /// How many occurrences this one stands for; more than 1 only under coalesce.
    pub count: u64,
}

/// What became of the occurrences of a late periodic timer. Occurrences `from_k` up to, not
/// including, `to_k` were due at once. Under catch-up each of them fires (what a full batch leaves
/// over is told again with the next); else only the newest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerDecision {
    /// Which timer.
    pub id: u32,
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

/// Why a timer was not set. The table is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum TimerError {
    /// The entity has as many timers as it may have.
    #[error("an entity may have at most {TIMERS_MAX} timers")]
    Full,
    /// A period of 0 would fire for ever.
    #[error("the period of a timer must be at least 1 us")]
    ZeroPeriod,
}

/// The table. See the module for its invariants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Timers {
    /// Sorted by (due, id).
    rows: Vec<Timer>,
    /// Above every occurrence number that has been fired or passed over, of any timer. A timer that
    /// is set anew counts on from here, so that no occurrence ever bears the name of another.
    next_k: u64,
}

checked_serde!(Timers);

impl Timers {
    /// Sets a timer, or sets it anew.
    ///
    /// # Errors
    /// When the table is full, or the period is 0.
    pub fn set(&mut self, id: u32, now: EntityTime, spec: TimerSpec) -> Result<(), TimerError> {
        let (after_us, period) = match spec {
            TimerSpec::Once { after_us } => (after_us, None),
            TimerSpec::Every { period_us: 0, .. } => return Err(TimerError::ZeroPeriod),
            TimerSpec::Every { after_us, period_us, late } => (after_us, Some((period_us, late))),
        };
        let anew = self.rows.iter().any(|timer| timer.id == id);
        if !anew && self.rows.len() >= TIMERS_MAX {
            return Err(TimerError::Full);
        }
        self.cancel(id);
        self.put(Timer { id, due: now.after_us(after_us), k: self.next_k, period });
        Ok(())
    }

    /// Ends a timer. False when it does not run.
    pub fn cancel(&mut self, id: u32) -> bool {
        let before = self.rows.len();
        self.rows.retain(|timer| timer.id != id);
        self.rows.len() < before
    }

    /// Takes everything that is due at or before `now`, in order of (due, timer). A fire in the
    /// batch has happened: cancelling its timer ends only what comes later.
    pub fn due(&mut self, now: EntityTime) -> TimerBatch {
        let mut batch = TimerBatch::default();
        while batch.fires.len() < TIMER_FIRES_MAX {
            let Some((fire, decision)) = self.next_due(now) else { break };
            batch.fires.push(fire);
            // Each fire of a timer that catches up finds the rest still late; one record says it.
            let told = batch.decisions.iter().any(|told| told.id == fire.id);
            batch.decisions.extend(decision.filter(|_| !told));
        }
        batch.more = self.next_deadline().is_some_and(|due| due <= now);
        // Taken by their oldest occurrence, told by the one that fires.
        batch.fires.sort_by_key(|fire| (fire.due, fire.id));
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
        let Timer { id, due, k, period } = head;
        let Some((period_us, policy)) = period else {
            self.next_k = self.next_k.max(k.saturating_add(1));
            return Some((TimerFire { id, k, due, count: 1 }, None));
        };
        let waiting = (now.0 - due.0) / period_us;
        let skip = if policy == LatePolicy::CatchUp { 0 } else { waiting };
        // The newest occurrence is due by now, so its due time is a number.
        let fired_due = EntityTime(due.0 + skip * period_us);
        let fired = Timer { due: fired_due, k: k.saturating_add(skip), ..head };
        self.next_k = self.next_k.max(fired.k.saturating_add(1));
        self.put_next(fired, period_us);
        let count = if policy == LatePolicy::Coalesce { waiting.saturating_add(1) } else { 1 };
        let fire = TimerFire { id, k: fired.k, due: fired.due, count };
        let to_k = k.saturating_add(waiting).saturating_add(1);
        let decision = TimerDecision { id, policy, from_k: k, to_k, at: now };
        Some((fire, (waiting > 0).then_some(decision)))
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
        let mut ids: Vec<u32> = self.rows.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        if self.rows.len() > TIMERS_MAX {
            return Err("too many timers");
        }
        if self.rows.windows(2).any(|two| order(&two[0]) >= order(&two[1])) {
            return Err("timers out of order");
        }
        if ids.windows(2).any(|two| two[0] == two[1]) {
            return Err("a timer runs twice");
        }
        if self.rows.iter().any(|row| row.period.is_some_and(|(us, _)| us == 0)) {
            return Err("a timer with period 0");
        }
        Ok(())
    }
}
