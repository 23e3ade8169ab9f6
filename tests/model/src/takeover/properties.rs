//! What a takeover promises.

use stateright::Property;

use super::Takeover;
use super::state::{Msg, Pair, Phase};

/// At most one base serves the slot.
pub const ONE_BASE_SERVES: &str = "one-base-serves";
/// Whoever serves it is named by the key.
pub const SERVES_WHAT_IT_KEEPS: &str = "serves-what-it-keeps";
/// What was confirmed is in the content that counts.
pub const CONFIRMED_IS_KEPT: &str = "confirmed-is-kept";

/// Seen: the slot was taken over and taken over again from there, and is served.
pub const THERE_AND_BACK: &str = "seen: taken over there and back";
/// Seen: what was ordered is void because the lost base came back, and it serves.
pub const CAME_BACK: &str = "seen: it came back before the commit";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Takeover>> {
    vec![
        Property::always(ONE_BASE_SERVES, |_, s: &Pair| serving(s).count() <= 1),
        Property::always(SERVES_WHAT_IT_KEEPS, |_, s: &Pair| {
            serving(s).all(|base| s.store.holder == base)
        }),
        Property::always(CONFIRMED_IS_KEPT, |_, s: &Pair| s.content() == s.confirmed),
        Property::sometimes(THERE_AND_BACK, |m: &Takeover, s: &Pair| {
            let again = s.committed == 2 && s.bases[0].phase == Phase::Serving;
            m.budget.orders < 2 || m.budget.crashes < 2 || again
        }),
        Property::sometimes(CAME_BACK, |_, s: &Pair| {
            let waits = |msg: &Msg| matches!(msg, Msg::Commit { to: 1, life: 1, .. });
            let is_back = s.bases[0].phase == Phase::Serving && s.bases[0].life > 1;
            s.committed == 0 && is_back && s.net.iter().any(waits)
        }),
    ]
}

/// True if one base serves, the other knows that it does not, and nothing is taken over.
#[must_use]
pub fn has_converged(m: &Takeover, s: &Pair) -> bool {
    let other = &s.bases[usize::from(1 - s.store.holder)];
    let holder = &s.bases[usize::from(s.store.holder)];
    let settled = holder.phase == Phase::Serving && other.phase == Phase::Idle;
    settled && other.take.is_none() && s.confirmed == m.effects
}

fn serving(s: &Pair) -> impl Iterator<Item = u8> {
    (0..2).filter(|base| s.bases[usize::from(*base)].phase == Phase::Serving)
}
