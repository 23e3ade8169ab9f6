//! A process that stood still - it was stopped, or its machine slept - for so long that its
//! registration may have run out cannot know whether its life was given up meanwhile. Before it
//! goes on it asks the store, once, and stands still until it knows.
//!
//! No answer within two seconds is no verdict either: the process goes on, for what it owns does
//! not rest on the store. A cellapp is confirmed or fenced by the bases of its entities, a baseapp
//! holds the lock of its log. A life that is over never goes on.

use crate::coord::{RegState, Registration, SelfCheck};
use std::time::Duration;
use tokio::sync::watch;

/// For how long the store is asked.
const ASK_MAX_NS: u64 = 2_000_000_000;
/// The most that one tick counts as waiting: what is over was another pause.
const TICK_MAX_NS: u64 = 250_000_000;

/// What a pause means at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterPause {
    /// There was none, or what followed it is over.
    Nothing,
    /// The store is asked from now on.
    Asks,
    /// It is being asked, or this life is over.
    Waits,
    /// This life is registered: it goes on.
    Proven,
    /// Nobody answered: it goes on.
    Unanswered,
}

/// Watches for pauses, a call a tick.
#[derive(Debug)]
pub struct PauseWatch {
    /// From how long a pause on the registration may have run out.
    long_ns: u64,
    checks: SelfCheck,
    state: watch::Receiver<RegState>,
    /// The question that is open, and for how long it was waited for an answer.
    open: Option<(u64, u64)>,
}

impl PauseWatch {
    /// For a process whose registration outlives it by `ttl`. It was renewed a third of that before
    /// a pause, and a renewal may have been late: half of it is long.
    #[must_use]
    pub fn new(registration: &Registration, ttl: Duration) -> Self {
        Self::of(registration.checks(), registration.state(), ttl)
    }

    fn of(checks: SelfCheck, state: watch::Receiver<RegState>, ttl: Duration) -> Self {
        let long_ns = u64::try_from(ttl.as_nanos() / 2).unwrap_or(u64::MAX);
        Self { long_ns, checks, state, open: None }
    }

    /// A tick begins so many nanoseconds after the one before, by a clock that counts sleep.
    pub fn tick(&mut self, since_last_ns: u64) -> AfterPause {
        if since_last_ns >= self.long_ns {
            self.open = Some((self.checks.ask(), 0));
            return AfterPause::Asks;
        }
        let Some((number, waited_ns)) = &mut self.open else { return AfterPause::Nothing };
        if self.state.borrow().is_final() {
            return AfterPause::Waits;
        }
        if self.checks.is_proven(*number) {
            self.open = None;
            return AfterPause::Proven;
        }
        *waited_ns += since_last_ns.min(TICK_MAX_NS);
        if *waited_ns >= ASK_MAX_NS {
            self.open = None;
            return AfterPause::Unanswered;
        }
        AfterPause::Waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coord::{Tombstone, Verdict};

    const TICK: u64 = 50_000_000;
    const TTL: Duration = Duration::from_secs(5);
    const LONG: u64 = 2_500_000_000;

    fn watch() -> (PauseWatch, SelfCheck, watch::Sender<RegState>) {
        let (tell, state) = watch::channel(RegState::Registered);
        let checks = SelfCheck::default();
        (PauseWatch::of(checks.clone(), state, TTL), checks, tell)
    }

    #[test]
    fn only_a_pause_that_the_registration_may_not_outlive_asks_and_a_look_after_it_answers() {
        let (mut watch, checks, _state) = watch();
        assert_eq!(watch.tick(LONG - 1), AfterPause::Nothing);
        let before = checks.begin();
        assert_eq!(watch.tick(LONG), AfterPause::Asks);
        checks.prove(before);
        assert_eq!(watch.tick(TICK), AfterPause::Waits, "that look began before the pause ended");
        checks.prove(checks.begin());
        assert_eq!(watch.tick(TICK), AfterPause::Proven);
        assert_eq!(watch.tick(TICK), AfterPause::Nothing);
    }

    #[test]
    fn a_store_that_does_not_answer_holds_nobody_for_more_than_two_seconds_of_being_awake() {
        let (mut watch, _checks, _state) = watch();
        assert_eq!(watch.tick(LONG), AfterPause::Asks);
        // Nobody could be asked during another pause, however long.
        assert_eq!(watch.tick(LONG - 1), AfterPause::Waits);
        let waited = (0..).take_while(|_| watch.tick(TICK) == AfterPause::Waits).count() as u64;
        assert_eq!((waited + 1) * TICK + TICK_MAX_NS, ASK_MAX_NS);
        assert_eq!(watch.tick(TICK), AfterPause::Nothing);
    }

    #[test]
    fn a_life_that_is_over_never_goes_on_and_another_long_pause_asks_again() {
        let (mut watch, checks, state) = watch();
        watch.tick(LONG);
        assert_eq!(watch.tick(2 * LONG), AfterPause::Asks);
        checks.prove(1);
        assert_eq!(watch.tick(TICK), AfterPause::Waits, "the first question is void");
        let (reason, by) = (String::new(), String::new());
        let stone = Tombstone { verdict: Verdict::Silent, reason, by };
        state.send_replace(RegState::Tombstoned { stone });
        for _ in 0..1_000 {
            assert_eq!(watch.tick(TICK), AfterPause::Waits);
        }
    }
}
