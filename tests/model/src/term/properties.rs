//! What the term promises.

use stateright::Property;

use super::Term;
use super::state::{Effects, Folder, Phase};

/// No two lives serve from one log at the same time.
pub const SINGLE_WRITER: &str = "single-writer";
/// Every life serves under a higher term than all before it.
pub const TERMS_GROW: &str = "terms-grow";
/// Every confirmation was given under the highest term in the log.
pub const BY_HIGHEST_TERM: &str = "confirmed-by-highest-term";
/// What was confirmed is on disk, and whoever serves under the highest term has it.
pub const CONFIRMED_IS_KEPT: &str = "confirmed-is-kept";

/// Seen: a life that came after a loss of the store and of the host has confirmed everything (or
/// one of them never happens).
pub const GOES_ON: &str = "seen: served on after host and store were lost";
/// Seen: a life waits for the lock of one that stands still.
pub const WAITS_FOR_LOCK: &str = "seen: successor waits for the lock";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Term>> {
    vec![
        Property::always(SINGLE_WRITER, |_, s: &Folder| {
            s.lives.iter().filter(|life| life.phase == Phase::Serving).count() <= 1
        }),
        Property::always(TERMS_GROW, |_, s: &Folder| !s.term_fell),
        Property::always(BY_HIGHEST_TERM, |_, s: &Folder| !s.confirmed_below),
        Property::always(CONFIRMED_IS_KEPT, |_, s: &Folder| {
            let on_disk = s.records[..s.synced].iter().fold(0, |all, r| all | r.effect);
            s.confirmed & !on_disk == 0 && s.confirmed & !held_by_highest(s) == 0
        }),
        Property::sometimes(GOES_ON, |m: &Term, s: &Folder| {
            let lost = s.used.host_losses > 0 && s.used.store_losses > 0;
            let may_lose = m.budget.host_losses > 0 && m.budget.store_losses > 0;
            !may_lose || lost && s.confirmed == (1 << m.effects) - 1
        }),
        Property::sometimes(WAITS_FOR_LOCK, |_, s: &Folder| {
            s.lock.is_some() && s.lives.iter().any(|life| life.phase == Phase::Waiting)
        }),
    ]
}

/// What the serving life of the highest term has; everything, if none serves.
fn held_by_highest(s: &Folder) -> Effects {
    let serving = s.lives.iter().filter(|life| life.phase == Phase::Serving);
    serving.max_by_key(|life| life.term).map_or(Effects::MAX, |life| life.image)
}
