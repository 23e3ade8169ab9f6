//! A message between entities takes effect once.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::{Kind, outcome_digest};
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind};
use marchland_common::world::MessageOutcome;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub struct MessageOnce {
    /// How often a message is in a lineage, its outcome, and where it was decided last.
    runs: FxHashMap<(EntityId, u64), (u32, u64, At)>,
    applied: BTreeMap<(EntityId, u64), (EntityId, At)>,
}

impl MessageOnce {
    pub fn new(_: &AuditOptions) -> Self {
        Self { runs: FxHashMap::default(), applied: BTreeMap::new() }
    }
}

impl Watch for MessageOnce {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::MessageTaken]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, out: &mut Findings) {
        let Event::MessageTaken { entity, source, out_seq, outcome } = here.event else { return };
        let told = outcome_digest(outcome);
        let run = self.runs.get(&(*source, *out_seq)).filter(|(count, ..)| *count > 0);
        if let Some((_, _, at)) = run.filter(|(_, decided, _)| *decided != told) {
            out.accuse(*entity, &[Some(*at), Some(here.at)], || {
                format!("message {source}:{out_seq} has another answer than was decided")
            });
        }
        if matches!(outcome, MessageOutcome::Applied(_)) {
            self.applied.entry((*source, *out_seq)).or_insert((*entity, here.at));
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, out: &mut Findings) {
        for effect in &grown.step.effects {
            let What::Message { source, out_seq, outcome, .. } = effect.what else { continue };
            let first = (0, outcome, effect.at);
            let run = self.runs.entry((source, out_seq)).or_insert(first);
            let witness = [Some(run.2), Some(effect.at), Some(grown.step.at)];
            *run = (run.0 + 1, outcome, effect.at);
            let count = run.0;
            out.check(count == 1, grown.entity, &witness, || {
                format!("message {source}:{out_seq} is {count} times in the lineage")
            });
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        let CutWhat::Step(step) = &cut.what else { return };
        for effect in &step.effects {
            let What::Message { source, out_seq, .. } = effect.what else { continue };
            if let Some((count, ..)) = self.runs.get_mut(&(source, out_seq)) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if !cx.sees_all(NodeKind::Cell) || !cx.sees_all(NodeKind::Base) {
            return;
        }
        for ((source, out_seq), (entity, at)) in &self.applied {
            let count = self.runs.get(&(*source, *out_seq)).map_or(0, |(count, ..)| *count);
            out.check(count > 0, *entity, &[Some(*at)], || {
                format!("message {source}:{out_seq} was answered and is not in the lineage")
            });
        }
    }
}
