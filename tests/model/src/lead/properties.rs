//! What the store promises, whoever believes to lead.

use stateright::Property;

use super::Lead;
use super::state::Store;

/// Every write of a manager was applied while its own leader key stood, of its own term.
pub const BY_LEADER: &str = "written-by-leader";
/// Layouts of a lower term do not replace those of a higher.
pub const TERMS_IN_ORDER: &str = "leader-terms-in-order";
/// A layout replaces the one that it was made from.
pub const BUILT_ON_NEWEST: &str = "layout-built-on-newest";
/// No life is registered and declared dead.
pub const REGISTERED_OR_DEAD: &str = "registered-or-dead";
/// Who was declared dead stays so.
pub const DEAD_STAY_DEAD: &str = "dead-stay-dead";

/// Seen: a write of a deposed leader was refused, and its successor's stands.
pub const OLD_LEADER_REFUSED: &str = "seen: deposed leader refused";
/// Seen: a registration came behind the tombstone of its life and was refused (or nobody is
/// declared dead).
pub const LATE_REGISTRATION_REFUSED: &str = "seen: registration behind a tombstone refused";
/// Seen: a life was registered again after its lease had ended (or none ends).
pub const REGISTERED_AGAIN: &str = "seen: registered again after a lapse";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Lead>> {
    vec![
        Property::always(BY_LEADER, |_, s: &Store| !s.not_by_leader),
        Property::always(TERMS_IN_ORDER, |_, s: &Store| !s.term_fell),
        Property::always(BUILT_ON_NEWEST, |_, s: &Store| !s.overwrote),
        Property::always(REGISTERED_OR_DEAD, |_, s: &Store| {
            s.member.is_none_or(|life| s.dead & 1 << life == 0)
        }),
        Property::always(DEAD_STAY_DEAD, |_, s: &Store| s.dead == s.ever_dead),
        Property::sometimes(OLD_LEADER_REFUSED, |_, s: &Store| {
            s.refused_old_leader && s.layout.term > 1
        }),
        Property::sometimes(LATE_REGISTRATION_REFUSED, |m: &Lead, s: &Store| {
            m.budget.verdicts == 0 || s.refused_dead
        }),
        Property::sometimes(REGISTERED_AGAIN, |m: &Lead, s: &Store| {
            m.budget.lapses == 0 || s.used.lapses > 0 && s.member == Some(1)
        }),
    ]
}

/// True if the cellapp's life is registered and owns the cell, one manager leads and knows it, and
/// nothing is on its way.
#[must_use]
pub fn has_converged(s: &Store) -> bool {
    let leads = s
        .leader
        .is_some_and(|leader| s.managers[usize::from(leader.manager)].leads == Some(leader.term));
    let lives = s.member == Some(s.life) && s.dead & 1 << s.life == 0;
    leads && lives && s.layout.owner == s.life && s.net.is_empty()
}
