//! What must be true of the value, at every moment, in what is durable.

use stateright::Property;

use super::Transfer;
use super::state::{Set, World};

/// Units held plus units on their way are what there was at the beginning.
pub const CONSERVED: &str = "conserved";
/// Nothing is credited whose debit is not durable.
pub const DEBIT_FIRST: &str = "debit-first";
/// A transfer that has not arrived is kept at A's base.
pub const UNDELIVERED_IS_KEPT: &str = "undelivered-is-kept";
/// X is credited in the order in which A sent. (A zombie may see less and take more: its steps
/// are refused.)
pub const IN_ORDER: &str = "in-order";
/// A transfer is credited to X or comes back to A, not both.
pub const ONE_FATE: &str = "one-fate";

/// Seen: everything has arrived although both owners were replaced.
pub const ARRIVED: &str = "seen: all arrived after replacements";
/// Seen: something has come back because X is no more (or X is never destroyed).
pub const CAME_BACK: &str = "seen: came back from a destroyed entity";
/// Seen: X has forgotten its mark after a credit (or nothing is ever settled).
pub const FORGOTTEN: &str = "seen: mark forgotten";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Transfer>> {
    vec![
        Property::always(CONSERVED, |m: &Transfer, s: &World| {
            let ((_, a), (_, x)) = (s.a, s.x);
            let under_way = sent(s) & !(x.credited | a.returned);
            u32::from(a.units) + u32::from(x.units) + under_way.count_ones() == u32::from(m.units)
        }),
        Property::always(DEBIT_FIRST, |_, s: &World| {
            let durable = sent(s);
            s.x_copies.iter().all(|(_, x)| x.credited & !durable == 0)
                && s.x.1.credited & !durable == 0
        }),
        Property::always(UNDELIVERED_IS_KEPT, |_, s: &World| {
            let under_way = sent(s) & !(s.x.1.credited | s.a.1.returned);
            under_way & !(s.outbox | s.returning) == 0
        }),
        Property::always(IN_ORDER, |_, s: &World| {
            let is_prefix = |set: Set| set & (set + 1) == 0;
            let mut owners = s.x_copies.iter().filter(|(epoch, _)| *epoch == s.x.0);
            is_prefix(s.x.1.credited) && owners.all(|(_, x)| is_prefix(x.credited))
        }),
        Property::always(ONE_FATE, |_, s: &World| s.x.1.credited & s.a.1.returned == 0),
        Property::sometimes(ARRIVED, |m: &Transfer, s: &World| {
            let replaced = s.a.0 > m.replacements && s.x.0 > m.replacements;
            replaced && s.outbox == 0 && s.x.1.units == m.units
        }),
        Property::sometimes(CAME_BACK, |m: &Transfer, s: &World| {
            !m.destroys || s.a.1.returned != 0 && s.returning == 0
        }),
        Property::sometimes(FORGOTTEN, |m: &Transfer, s: &World| {
            !m.settles || s.x.1.mark.is_none() && s.x.1.units > 0
        }),
    ]
}

/// True if nothing is under way and A has sent all it had at least once.
#[must_use]
pub fn has_converged(m: &Transfer, s: &World) -> bool {
    s.outbox == 0 && s.returning == 0 && s.a.1.sent >= m.units
}

fn sent(s: &World) -> Set {
    (1 << s.a.1.sent) - 1
}
