//! What the order of one sender's messages promises.

use stateright::Property;

use super::Order;
use super::state::{Number, Path};

/// What an owner applies of one sender rises.
pub const FIFO: &str = "fifo";
/// Below what is applied nothing is left out.
pub const NONE_SKIPPED: &str = "none-skipped";
/// Nothing is applied twice.
pub const APPLIED_ONCE: &str = "applied-once";
/// A link hands over what was given to it in order, once, and nothing of a stream given up.
pub const LINK_IN_ORDER: &str = "link-in-order";

/// Seen: everything was applied although the owner was replaced and the link began anew.
pub const ARRIVED: &str = "seen: all applied after migration and reset";
/// Seen: a connection delivers beside the one that replaced it.
pub const LATE_CONNECTION: &str = "seen: two connections deliver";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Order>> {
    vec![
        Property::always(FIFO, |_, s: &Path| {
            lineages(s).all(|lineage| lineage.windows(2).all(|pair| pair[0] <= pair[1]))
        }),
        Property::always(NONE_SKIPPED, |_, s: &Path| {
            let complete = |lineage: &[Number]| {
                let highest = lineage.iter().copied().max().unwrap_or(0);
                (1..=highest).all(|number| lineage.contains(&number))
            };
            lineages(s).all(complete)
        }),
        Property::always(APPLIED_ONCE, |_, s: &Path| {
            let once = |lineage: &[Number]| {
                lineage.iter().enumerate().all(|(at, number)| !lineage[..at].contains(number))
            };
            lineages(s).all(once)
        }),
        Property::always(LINK_IN_ORDER, |_, s: &Path| !s.link_failed),
        Property::sometimes(ARRIVED, |m: &Order, s: &Path| {
            s.used.migrations > 0 && s.used.resets > 0 && has_converged(m, s)
        }),
        Property::sometimes(LATE_CONNECTION, |_, s: &Path| {
            !s.link.late.frames.is_empty() && !s.link.newest.frames.is_empty()
        }),
    ]
}

/// True if everything is applied, durable and answered.
#[must_use]
pub fn has_converged(m: &Order, s: &Path) -> bool {
    s.sent == m.messages && s.outbox.is_empty() && s.durable.lineage.len() == usize::from(s.sent)
}

fn lineages(s: &Path) -> impl Iterator<Item = &[Number]> {
    [&s.owner.lineage[..], &s.durable.lineage[..]].into_iter()
}
