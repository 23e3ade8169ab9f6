//! A ghost is what its owner was.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use marchland_common::journal::Event;

pub struct GhostEquals;

impl GhostEquals {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

impl Watch for GhostEquals {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::GhostApplied]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::GhostApplied { entity, owner, epoch, seq, digest } = *here.event else { return };
        let proc = cx.state.proc(owner);
        let flushed = cx.state.flushed.get(&(entity, epoch));
        let of_owner = flushed.into_iter().flatten().filter(|f| Some(f.at.proc) == proc);
        let Some(newest) = of_owner.clone().next_back() else { return };
        let mut same = of_owner.rev().skip_while(|f| f.seq > seq).take_while(|f| f.seq == seq);
        let Some(told) = same.next() else {
            // What is ahead of its owner is another rule's.
            if seq <= newest.seq && cx.sees(owner) {
                out.check(false, entity, &[Some(newest.at), Some(here.at)], || {
                    format!("{} shows state {seq} that {owner} never told", here.node)
                });
            }
            return;
        };
        let equal = told.digest == digest || same.any(|f| f.digest == digest);
        out.check(equal, entity, &[Some(told.at), Some(here.at)], || {
            format!("{} and {owner} differ in state {seq} of the ghost", here.node)
        });
    }
}
