//! A command takes effect once.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind, SessionId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub struct CommandOnce {
    /// How often a command is in the lineage, and where it was decided last.
    runs: FxHashMap<(SessionId, u64), (u32, At)>,
    confirmed: BTreeMap<(SessionId, u64), (EntityId, At)>,
}

impl CommandOnce {
    pub fn new(_: &AuditOptions) -> Self {
        Self { runs: FxHashMap::default(), confirmed: BTreeMap::new() }
    }
}

impl Watch for CommandOnce {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::CommandConfirmed]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {
        if let Event::CommandConfirmed { entity, session, n, .. } = *here.event {
            self.confirmed.entry((session, n)).or_insert((entity, here.at));
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, out: &mut Findings) {
        for effect in &grown.step.effects {
            let What::Command { session, n, .. } = effect.what else { continue };
            let (count, at) = self.runs.entry((session, n)).or_insert((0, effect.at));
            let witness = [Some(*at), Some(effect.at), Some(grown.step.at)];
            *count += 1;
            *at = effect.at;
            let count = *count;
            out.check(count == 1, grown.entity, &witness, || {
                format!("command s{session}/{n} is {count} times in the lineage")
            });
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        let CutWhat::Step(step) = &cut.what else { return };
        for effect in &step.effects {
            let What::Command { session, n, .. } = effect.what else { continue };
            if let Some((count, _)) = self.runs.get_mut(&(session, n)) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if !cx.sees_all(NodeKind::Cell) || !cx.sees_all(NodeKind::Base) {
            return;
        }
        for ((session, n), (entity, at)) in &self.confirmed {
            let count = self.runs.get(&(*session, *n)).map_or(0, |(count, _)| *count);
            out.check(count > 0, *entity, &[Some(*at)], || {
                format!("command s{session}/{n} was confirmed and is not in the lineage")
            });
        }
    }
}
