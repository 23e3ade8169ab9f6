//! A step's account of the conserved number is whole and true.

use super::value_conserved::imbalance;
use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Seq};
use rustc_hash::FxHashMap;

pub struct ValueOnlyByMessage {
    /// What left of what a step sent.
    left: FxHashMap<(EntityId, Seq), i64>,
    /// Messages that were counted there.
    counted: FxHashMap<(EntityId, u64), At>,
}

impl ValueOnlyByMessage {
    pub fn new(_: &AuditOptions) -> Self {
        Self { left: FxHashMap::default(), counted: FxHashMap::default() }
    }

    fn released(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::MessageReleased { source, out_seq, value, seq, .. } = *here.event else {
            return;
        };
        if self.counted.insert((source, out_seq), here.at).is_some() || value == 0 {
            return;
        }
        let Some(step) = cx.state.lines.get(&source).and_then(|line| line.covering(seq)) else {
            return;
        };
        let sent = step.flow.as_ref().map_or(0, |flow| flow.sent);
        let left = self.left.entry((source, step.seq)).or_default();
        *left = left.saturating_add(value);
        let left = *left;
        out.check(left <= sent, source, &[Some(step.at), Some(here.at)], || {
            format!("messages of step {} carry {left}; it had given away {sent}", step.seq)
        });
    }
}

impl Watch for ValueOnlyByMessage {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::MessageReleased, Kind::Destroyed]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::MessageReleased { .. } => self.released(here, cx, out),
            Event::Destroyed { entity, value, .. } => {
                let line = cx.state.lines.get(&entity);
                let Some(held) = line.and_then(|line| line.held) else { return };
                let last = line.and_then(|line| line.steps.last()).map(|step| step.at);
                out.check(held == value || cx.is_blind(), entity, &[last, Some(here.at)], || {
                    format!("it ended with {value} and had held {held}")
                });
            }
            _ => {}
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Grown { entity, step, held_before } = *grown;
        let Some(flow) = step.flow.as_deref() else { return };
        let off = imbalance(flow);
        out.check(off == 0 || grown.is_jump(), entity, &[Some(step.at)], || {
            format!("step {} changed what it holds by {off} without a message", step.seq)
        });
        if held_before.is_some_and(|held| held != flow.before) && !cx.is_blind() {
            out.accuse(entity, &[Some(step.at)], || {
                let held = held_before.unwrap_or_default();
                format!("step {} begins with {}; it held {held}", step.seq, flow.before)
            });
        }
        let (mut brought, mut witness) = (0_i64, vec![Some(step.at)]);
        for effect in &step.effects {
            let What::Message { source, out_seq, kept: true, .. } = effect.what else { continue };
            let Some(released) = cx.state.released.get(&(source, out_seq)) else { return };
            brought = brought.saturating_add(released.value);
            witness.extend([Some(released.at), Some(effect.at)]);
        }
        if brought != flow.received && !cx.is_blind() {
            out.accuse(entity, &witness, || {
                format!("step {} took {}; its messages brought {brought}", step.seq, flow.received)
            });
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        if let CutWhat::Step(step) = &cut.what {
            self.left.remove(&(cut.entity, step.seq));
        }
    }
}
