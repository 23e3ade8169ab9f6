//! A ghost follows.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use marchland_common::journal::Event;

pub struct GhostNotAhead;

impl GhostNotAhead {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

impl Watch for GhostNotAhead {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::GhostApplied]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::GhostApplied { entity, owner, epoch, seq, .. } = *here.event else { return };
        let flushed = cx.state.flushed.get(&(entity, epoch));
        let proc = cx.state.proc(owner);
        let of_owner = flushed.into_iter().flatten().filter(|f| Some(f.at.proc) == proc);
        let newest = of_owner.clone().next_back();
        if newest.is_none() && !cx.sees(owner) {
            return;
        }
        let from = of_owner.rev().take_while(|f| f.seq >= seq).last();
        let holds = from.is_some_and(|f| cx.before(f.at, here.at));
        let shown = from.or(newest).map(|f| f.at);
        if !holds && !cx.sees(owner) {
            return;
        }
        out.check(holds, entity, &[shown, Some(here.at)], || match from {
            Some(_) => format!("{} shows state {seq} that it could not know", here.node),
            None => format!("{} shows state {seq} that {owner} has not flushed", here.node),
        });
    }
}
