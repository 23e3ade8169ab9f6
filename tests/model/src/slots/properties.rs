//! What a move promises.

use stateright::Property;

use super::Slots;
use super::state::{Msg, Pair, Phase};

/// At most one base serves the slot.
pub const ONE_BASE_SERVES: &str = "one-base-serves";
/// Who serves it holds it in the store, under the term that it serves under.
pub const SERVES_UNDER_ITS_TERM: &str = "serves-under-its-term";
/// What was confirmed is in the content that counts.
pub const CONFIRMED_IS_KEPT: &str = "confirmed-is-kept";
/// A message that has not arrived is in the outbox that counts.
pub const UNSENT_IS_KEPT: &str = "unsent-is-kept";
/// A message is taken once.
pub const RECEIVED_ONCE: &str = "received-once";

/// Seen: the slot has moved, and is served, although both bases died on the way (or nobody dies
/// twice).
pub const MOVED_OVER_TWO_DEATHS: &str = "seen: moved although both bases died";
/// Seen: a move was called off, and its transaction is still on its way.
pub const CALLED_OFF: &str = "seen: called off with its transaction under way";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Slots>> {
    vec![
        Property::always(ONE_BASE_SERVES, |_, s: &Pair| serving(s).count() <= 1),
        Property::always(SERVES_UNDER_ITS_TERM, |_, s: &Pair| {
            serving(s)
                .all(|base| s.key.holder == base && s.key.term == s.bases[usize::from(base)].term)
        }),
        Property::always(CONFIRMED_IS_KEPT, |_, s: &Pair| s.content().effects == s.confirmed),
        Property::always(UNSENT_IS_KEPT, |_, s: &Pair| {
            let content = s.content();
            !content.sent || s.arrived || content.outbox
        }),
        Property::always(RECEIVED_ONCE, |_, s: &Pair| s.content().received <= 1),
        Property::sometimes(MOVED_OVER_TWO_DEATHS, |m: &Slots, s: &Pair| {
            let both = s.died == [true; 2];
            m.budget.crashes < 2 || both && s.bases[1].phase == Phase::Serving
        }),
        Property::sometimes(CALLED_OFF, |_, s: &Pair| {
            let void = |msg: &Msg| matches!(msg, Msg::Move { term, .. } if *term < s.key.term);
            s.key.holder == 0 && s.bases[0].phase == Phase::Serving && s.net.iter().any(void)
        }),
    ]
}

/// True if one base serves, the other knows that it does not, and no message waits.
#[must_use]
pub fn has_converged(m: &Slots, s: &Pair) -> bool {
    let other = &s.bases[usize::from(1 - s.key.holder)];
    let holder = &s.bases[usize::from(s.key.holder)];
    let settled = holder.phase == Phase::Serving && other.phase == Phase::Idle;
    settled && s.confirmed == m.effects && s.arrived && !holder.image.outbox
}

fn serving(s: &Pair) -> impl Iterator<Item = u8> {
    (0..2).filter(|base| s.bases[usize::from(*base)].phase == Phase::Serving)
}
