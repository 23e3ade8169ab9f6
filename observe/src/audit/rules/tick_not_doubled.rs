//! A handoff repeats no tick.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use marchland_common::journal::Event;

pub struct TickNotDoubled;

impl TickNotDoubled {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

impl Watch for TickNotDoubled {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::FirstStep]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::FirstStep { entity, epoch, first_tick, .. } = *here.event else { return };
        let Some(line) = cx.state.lines.get(&entity) else { return };
        let Some(owner) = line.ownership(epoch) else { return };
        let Some(last) = owner.last_tick else { return };
        out.check(first_tick > last, entity, &[Some(owner.at), Some(here.at)], || {
            format!("tick {first_tick} ran under epoch {epoch}; the owner before had run {last}")
        });
    }
}
