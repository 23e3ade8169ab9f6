//! A ghost never goes back.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Seq};
use rustc_hash::FxHashMap;

pub struct GhostGrows {
    shown: FxHashMap<(u32, EntityId), ((Epoch, Seq), At)>,
}

impl GhostGrows {
    pub fn new(_: &AuditOptions) -> Self {
        Self { shown: FxHashMap::default() }
    }
}

impl Watch for GhostGrows {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::GhostApplied]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, out: &mut Findings) {
        let Event::GhostApplied { entity, epoch, seq, .. } = *here.event else { return };
        let state = (epoch, seq);
        let row = self.shown.entry((here.at.proc, entity)).or_insert((state, here.at));
        let (last, at) = *row;
        if state >= last {
            *row = (state, here.at);
        }
        out.check(state >= last, entity, &[Some(at), Some(here.at)], || {
            let (last_epoch, last_seq) = last;
            format!(
                "{} shows state {seq} of epoch {epoch} after state {last_seq} of epoch \
                 {last_epoch}",
                here.node
            )
        });
    }
}
