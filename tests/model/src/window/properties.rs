//! What the window promises.

use stateright::Property;

use super::Window;
use super::state::{Pair, Real};

/// No tick is simulated that is W or more past what the base has of this incarnation in its log.
pub const WINDOW_TICKS: &str = "window-in-ticks";
/// A copy whose ownership is over is simulated for fewer than W more ticks.
pub const STALE_COPY_STOPS: &str = "stale-copy-stops";

/// Seen: a copy that never changed was stopped by the window after its ownership was over (or no
/// ownership ends).
pub const IDLE_ZOMBIE_STOPPED: &str = "seen: idle zombie stopped";
/// Seen: an idle owner was simulated for longer than the window.
pub const IDLE_OWNER_RUNS: &str = "seen: idle owner runs on";
/// Seen: the first target of an expired Grant was simulated although it was replaced (or no run
/// begins with a Grant).
pub const REPLACED_TARGET_RAN: &str = "seen: replaced target ran as a zombie";
/// Seen: an entity that was granted late is simulated in the very next tick (or no run begins with
/// a Grant).
pub const GRANTED_RUNS_AT_ONCE: &str = "seen: granted entity runs at once";
/// Seen: the owner is simulated again after steps of it were lost on their way (or nothing is lost).
pub const RUNS_AFTER_LOSS: &str = "seen: owner runs after its steps were lost";
/// Seen: the owner is simulated again after its base came back (or no base dies).
pub const RUNS_AFTER_RESTART: &str = "seen: owner runs after a base restart";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Window>> {
    vec![
        Property::always(WINDOW_TICKS, |_, s: &Pair| !s.overran),
        Property::always(STALE_COPY_STOPS, |m: &Window, s: &Pair| {
            s.cell.real.is_none_or(|real| real.stale_ticks < m.window_ticks)
        }),
        Property::sometimes(IDLE_ZOMBIE_STOPPED, |m: &Window, s: &Pair| {
            let at_end = s.cell.tick + 1 - s.cell.durable_tick > m.window_ticks;
            let never_ends = m.budget.deadlines + m.budget.verdicts == 0;
            never_ends
                || at_end && s.cell.real.is_some_and(|real| !real.changed && is_stale(s, &real))
        }),
        Property::sometimes(IDLE_OWNER_RUNS, |m: &Window, s: &Pair| {
            s.cell.real.is_some_and(|real| {
                !real.changed && !is_stale(s, &real) && real.owner_ticks > m.window_ticks
            })
        }),
        Property::sometimes(REPLACED_TARGET_RAN, |m: &Window, s: &Pair| {
            let replaced = s.used.deadlines > 0 && s.used.verdicts == 0;
            let ran = s.cell.real.is_some_and(|real| real.stale_ticks > 0);
            !m.begins_granted || replaced && ran
        }),
        Property::sometimes(GRANTED_RUNS_AT_ONCE, |m: &Window, s: &Pair| {
            let untouched = s.used.grants + s.used.restarts == 0;
            !m.begins_granted || untouched && s.cell.real.is_some_and(|real| real.ran_at_once)
        }),
        Property::sometimes(RUNS_AFTER_RESTART, |m: &Window, s: &Pair| {
            m.budget.restarts == 0 || s.used.restarts > 0 && runs_at_end(m, s)
        }),
        Property::sometimes(RUNS_AFTER_LOSS, |m: &Window, s: &Pair| {
            m.budget.losses == 0 || s.used.losses > 0 && runs_at_end(m, s)
        }),
    ]
}

fn runs_at_end(m: &Window, s: &Pair) -> bool {
    s.cell.tick == m.ticks_max
        && s.cell.tick - s.cell.durable_tick < m.window_ticks
        && s.cell.real.is_some_and(|real| !is_stale(s, &real))
}

/// True if the entity runs on the cellapp, if it is its owner; and if it is not, has no copy there.
#[must_use]
pub fn has_converged(m: &Window, s: &Pair) -> bool {
    if s.base.fenced {
        return s.cell.fenced;
    }
    let settled = s.base.linked && !s.base.unsynced;
    if !s.base.owned_by_cell {
        return settled && s.cell.real.is_none();
    }
    let runs = s.cell.tick + 1 - s.cell.durable_tick < m.window_ticks;
    settled && s.base.heard && runs && s.cell.real.is_some_and(|real| !is_stale(s, &real))
}

fn is_stale(s: &Pair, real: &Real) -> bool {
    !s.base.owned_by_cell || s.base.epoch != real.epoch
}
