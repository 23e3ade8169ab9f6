//! Timers fire once and never early.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::EntityId;
use rustc_hash::FxHashMap;

pub struct TimerOnce {
    fired: FxHashMap<(EntityId, u32, u64), At>,
}

impl TimerOnce {
    pub fn new(_: &AuditOptions) -> Self {
        Self { fired: FxHashMap::default() }
    }
}

impl Watch for TimerOnce {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::TimerFired]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, out: &mut Findings) {
        let Event::TimerFired { entity, timer, occurrence, due, at, .. } = *here.event else {
            return;
        };
        out.check(at >= due, entity, &[Some(here.at)], || {
            format!("timer {timer}/{occurrence} was due at {due} and fired at {at}")
        });
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, out: &mut Findings) {
        for effect in &grown.step.effects {
            let What::Timer { timer, occurrence } = effect.what else { continue };
            let before = self.fired.insert((grown.entity, timer, occurrence), effect.at);
            out.check(before.is_none(), grown.entity, &[before, Some(effect.at)], || {
                format!("timer {timer}/{occurrence} fired twice in the lineage")
            });
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        let CutWhat::Step(step) = &cut.what else { return };
        for effect in &step.effects {
            if let What::Timer { timer, occurrence } = effect.what {
                self.fired.remove(&(cut.entity, timer, occurrence));
            }
        }
    }
}
