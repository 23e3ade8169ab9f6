//! An id is given once.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use marchland_common::journal::Event;

pub struct UniqueIds;

impl UniqueIds {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

impl Watch for UniqueIds {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Created]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Created { entity, .. } = *here.event else { return };
        if !cx.sees_line(here, entity) {
            return;
        }
        let line = cx.state.lines.get(&entity);
        let first = line.and_then(|line| line.born).map(|born| born.at);
        // A life whose birth is not in sight is one all the same.
        let older = line.and_then(|line| line.steps.first()).map(|step| step.at);
        let other = first.or(older);
        out.check(other.is_none(), entity, &[other, Some(here.at)], || {
            format!("{} gave the id of an entity that was there before", here.node)
        });
    }
}
