//! Whatever is written, granted or confirmed about a slot is so by the base that keeps it.

use crate::audit::state::{Tenure, Tenures};
use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeName};

pub struct ConfirmedByKeeper;

impl ConfirmedByKeeper {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }

    /// A base writes about an entity: it keeps the slot, and has not frozen it.
    fn writes(here: &Here<'_>, entity: EntityId, cx: &Cx<'_>, out: &mut Findings) {
        let Some(last) = keeper(here, entity, cx) else { return };
        let frozen = last.frozen.map(|(_, told)| told.at);
        let holds = last.base == here.node.name && frozen.is_none();
        out.check(holds, entity, &[Some(last.taken.at), frozen, Some(here.at)], || {
            let (node, slot, other) = (here.node, entity.slot(), last.base);
            match last.base == node.name {
                true => format!("{node} wrote about slot {slot} after it froze it"),
                false => format!("{node} wrote about slot {slot}, which {other} keeps"),
            }
        });
    }

    /// Something that rests on a base's log leaves it: the base keeps the slot, or froze it and
    /// still waits for the word of the key, and that it does is durable.
    fn confirms(here: &Here<'_>, entity: EntityId, cx: &Cx<'_>, out: &mut Findings) {
        let Some(last) = keeper(here, entity, cx) else { return };
        let is_its = last.base == here.node.name && last.given.is_none();
        let given = last.given.map(|(_, told)| told.at);
        out.check(is_its, entity, &[Some(last.taken.at), given, Some(here.at)], || {
            let (node, slot, other) = (here.node, entity.slot(), last.base);
            match last.base == node.name {
                true => format!("{node} confirms of slot {slot} after it gave it away"),
                false => format!("{node} confirms of slot {slot}, which {other} keeps"),
            }
        });
        let Some(lsn) = last.taken.lsn.filter(|_| is_its) else { return };
        let durable = cx.state.durable_at(last.base, lsn);
        if !durable.is_some_and(|at| cx.before(at, here.at)) {
            out.accuse(entity, &[Some(last.taken.at), durable, Some(here.at)], || {
                let (node, slot) = (here.node, entity.slot());
                format!("{node} confirms of slot {slot} before it is durable that it keeps it")
            });
        }
    }

    /// Whoever owns an entity had it from a base that keeps, or kept, its slot.
    fn activated(
        here: &Here<'_>,
        (entity, base): (EntityId, NodeName),
        cx: &Cx<'_>,
        out: &mut Findings,
    ) {
        let Some(tenures) = cx
            .state
            .tenures(entity.slot())
            .filter(|_| cx.sees_log(base) && cx.sees_slot(entity.slot()))
        else {
            return;
        };
        let kept = |tenure: &&Tenure| tenure.base == base && cx.before(tenure.taken.at, here.at);
        let by = tenures.0.iter().find(kept);
        let last = tenures.last().map(|last| last.taken.at);
        out.check(by.is_some(), entity, &[last, Some(here.at)], || {
            format!("{} had it from {base}, which did not keep slot {}", here.node, entity.slot())
        });
    }
}

/// Who keeps the slot of an entity, as far as everything about that is known.
fn keeper<'a>(here: &Here<'_>, entity: EntityId, cx: &Cx<'a>) -> Option<&'a Tenure> {
    let last = cx.state.tenures(entity.slot()).and_then(Tenures::last)?;
    (cx.sees_line(here, entity) && cx.sees_log(last.base)).then_some(last)
}

impl Watch for ConfirmedByKeeper {
    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::Created,
            Kind::Accepted,
            Kind::OwnerChanged,
            Kind::Destroyed,
            Kind::Burned,
            Kind::CommandConfirmed,
            Kind::CommandAnswered,
            Kind::MessageReleased,
            Kind::MessageTaken,
            Kind::MessageClosed,
            Kind::SessionOpened,
            Kind::SessionClosed,
            Kind::Activated,
        ]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::Created { entity, .. }
            | Event::Accepted { entity, .. }
            | Event::OwnerChanged { entity, .. }
            | Event::Destroyed { entity, .. }
            | Event::Burned { source: entity, .. } => Self::writes(here, entity, cx, out),
            Event::CommandConfirmed { entity, .. }
            | Event::CommandAnswered { entity, .. }
            | Event::MessageReleased { source: entity, .. }
            | Event::MessageTaken { entity, .. }
            | Event::MessageClosed { source: entity, .. }
            | Event::SessionOpened { entity, .. }
            | Event::SessionClosed { entity, .. } => Self::confirms(here, entity, cx, out),
            Event::Activated { entity, base, .. } => {
                Self::activated(here, (entity, base.name), cx, out);
            }
            _ => {}
        }
    }
}
