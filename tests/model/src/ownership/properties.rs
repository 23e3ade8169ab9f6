//! What must always hold, and what a run that proves anything must have seen.

use stateright::Property;

use super::Ownership;
use super::state::{Cluster, Real, Who};
use crate::lineage::Event;

/// No epoch is ever activated by two incarnations.
pub const SINGLE_OWNER: &str = "single-owner";
/// Every Grant has a higher epoch than all before it.
pub const EPOCHS_GROW: &str = "epochs-grow";
/// What clients were told is a prefix of the durable lineage.
pub const CONFIRMED_IS_DURABLE: &str = "confirmed-is-durable";
/// The copy of the current owner extends the durable image.
pub const OWNER_EXTENDS_IMAGE: &str = "owner-extends-image";
/// No command and no timer occurs twice in a lineage.
pub const APPLIED_ONCE: &str = "applied-once";
/// The commands of a session are applied in the order of the session.
pub const FIFO: &str = "fifo";
/// No command is passed over: below one that was applied or expired by an owner, each is answered.
pub const NONE_SKIPPED: &str = "none-skipped";
/// No owner runs further ahead of its base than the window.
pub const WINDOW: &str = "window";
/// A command that the base has expired is not applied as well.
pub const ONE_ANSWER: &str = "one-answer";
/// A handoff that was refused is never committed.
pub const REFUSED_STAYS_REFUSED: &str = "refused-stays-refused";
/// No effect of an incarnation is confirmed after it was declared dead.
pub const DEAD_NEVER_CONFIRMED: &str = "dead-never-confirmed";

/// Seen: everything is confirmed and settled although the entity changed hands.
pub const SETTLED_AFTER_HANDOFF: &str = "seen: all confirmed after a handoff";
/// Seen: two copies believe that they may run (or there are too few cellapps that take Grants).
pub const ZOMBIE_BESIDE_OWNER: &str = "seen: zombie beside the new owner";
/// Seen: the Grant deadline fired although its target was alive, and that target runs beside the
/// owner that replaced it (likewise).
pub const DEADLINE_HIT_LIVE_TARGET: &str = "seen: deadline fired, first target alive and active";

/// The properties in the order in which tables list them.
#[must_use]
pub fn all() -> Vec<Property<Ownership>> {
    let mut all = always();
    all.extend([
        Property::sometimes(SETTLED_AFTER_HANDOFF, |m: &Ownership, s: &Cluster| {
            s.used.handoffs > 0 && s.base.epoch > 1 && has_converged(m, s)
        }),
        Property::sometimes(ZOMBIE_BESIDE_OWNER, |m: &Ownership, s: &Cluster| {
            m.params.sick.is_some() || running(s) > 1
        }),
        Property::sometimes(DEADLINE_HIT_LIVE_TARGET, |m: &Ownership, s: &Cluster| {
            let only = s.used.deadlines > 0 && s.used.verdicts == 0 && s.used.crashes == 0;
            m.params.sick.is_some() || only && running(s) > 1
        }),
    ]);
    all
}

fn always() -> Vec<Property<Ownership>> {
    vec![
        Property::always(SINGLE_OWNER, |_, s: &Cluster| !s.history.two_owners),
        Property::always(EPOCHS_GROW, |_, s: &Cluster| !s.history.epoch_fell),
        Property::always(CONFIRMED_IS_DURABLE, |_, s: &Cluster| {
            s.history.confirmed.is_prefix_of(s.base.image)
        }),
        Property::always(OWNER_EXTENDS_IMAGE, |_, s: &Cluster| {
            reals(s)
                .filter(|(who, real)| is_owner(s, *who, real))
                .all(|(_, real)| s.base.image.is_prefix_of(real.lineage))
        }),
        Property::always(APPLIED_ONCE, |_, s: &Cluster| {
            s.base.image.applies_each_once()
                && reals(s).all(|(_, real)| real.lineage.applies_each_once())
        }),
        Property::always(FIFO, |_, s: &Cluster| {
            s.base.image.keeps_command_order()
                && reals(s).all(|(_, real)| real.lineage.keeps_command_order())
        }),
        Property::always(NONE_SKIPPED, |_, s: &Cluster| {
            let done = s.base.image.commands_after(0);
            let below = u8::MAX.checked_shr(done.leading_zeros()).unwrap_or(0);
            below & !(done | s.base.expired) == 0
        }),
        Property::always(WINDOW, |m: &Ownership, s: &Cluster| {
            reals(s).all(|(who, real)| {
                let durable = if is_owner(s, who, real) { s.base.image.len() } else { real.acked };
                real.lineage.len().saturating_sub(durable) <= m.params.window
            })
        }),
        Property::always(ONE_ANSWER, |_, s: &Cluster| {
            s.history.told_expired == 0
                || s.history.confirmed.events().all(|event| match event {
                    Event::Applied(n) => s.history.told_expired & 1 << n == 0,
                    Event::Expired(_) | Event::Timer => true,
                })
        }),
        Property::always(REFUSED_STAYS_REFUSED, |_, s: &Cluster| !s.history.refused_committed),
        Property::always(DEAD_NEVER_CONFIRMED, |_, s: &Cluster| !s.history.dead_confirmed),
    ]
}

/// True if nothing is left to do: every command answered, the timer gone off, one copy, which is
/// the owner's, running, and equal to the image.
#[must_use]
pub fn has_converged(m: &Ownership, s: &Cluster) -> bool {
    let answered = s.history.confirmed.commands_after(0) | s.base.expired;
    let timers = s.history.confirmed.events().filter(|event| *event == Event::Timer).count();
    let mut copies = reals(s);
    let settled = copies.next().is_some_and(|(who, real)| {
        is_owner(s, who, real) && real.frozen.is_none() && real.lineage == s.base.image
    });
    settled
        && copies.next().is_none()
        && s.base.heard
        && s.base.previous.is_none()
        && answered == m.params.all_commands()
        && timers == usize::from(m.params.timer)
}

fn reals(s: &Cluster) -> impl Iterator<Item = (Who, &Real)> {
    s.cells.iter().enumerate().filter_map(|(index, cell)| {
        let who = Who { cell: index as u8, incarnation: cell.incarnation };
        cell.real.as_ref().map(|real| (who, real))
    })
}

fn running(s: &Cluster) -> usize {
    reals(s).filter(|(_, real)| real.frozen.is_none()).count()
}

fn is_owner(s: &Cluster, who: Who, real: &Real) -> bool {
    who == s.base.owner && real.epoch == s.base.epoch
}
