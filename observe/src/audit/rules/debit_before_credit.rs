//! Nobody takes what was not durably given.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind};

pub struct DebitBeforeCredit {
    /// Messages that were taken though nobody had sent them, as far as was known.
    unsent: Vec<(EntityId, EntityId, u64, At)>,
}

impl DebitBeforeCredit {
    pub const fn new(_: &AuditOptions) -> Self {
        Self { unsent: Vec::new() }
    }
}

impl Watch for DebitBeforeCredit {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::MessageRun]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::MessageRun { entity, source, out_seq, .. } = *here.event else { return };
        let Some(released) = cx.state.released.get(&(source, out_seq)) else {
            self.unsent.push((entity, source, out_seq, here.at));
            return;
        };
        let base = cx.state.procs[released.at.proc as usize].node;
        let step = cx.state.lines.get(&source).and_then(|line| line.step(released.seq));
        let Some(step) = step else {
            // That it rests on no step is told where it left; here only order is judged.
            return out.check(true, entity, &[], String::new);
        };
        let durable = cx.state.durable_at(step.log, step.lsn);
        let holds = cx.before(released.at, here.at)
            && durable.is_some_and(|durable| cx.before(durable, here.at));
        if !holds && !cx.sees(base) {
            return;
        }
        let witness = [Some(step.at), durable, Some(released.at), Some(here.at)];
        out.check(holds, entity, &witness, || {
            format!("message {source}:{out_seq} was taken before its sending was durable")
        });
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if !cx.sees_all(NodeKind::Base) {
            return;
        }
        for (entity, source, out_seq, at) in &self.unsent {
            let log = cx.state.lines.get(source).and_then(|line| line.log());
            let keepers = || cx.state.tenures(source.slot()).into_iter().flat_map(|all| &all.0);
            let mut logs = log.into_iter().chain(keepers().map(|tenure| tenure.base));
            let taken_over = keepers().any(|tenure| tenure.adopted.is_some());
            if taken_over || logs.any(|log| cx.state.restarted.contains(&log)) {
                continue;
            }
            let later = cx.state.released.get(&(*source, *out_seq)).map(|released| released.at);
            out.check(false, *entity, &[Some(*at), later], || {
                format!("message {source}:{out_seq} was taken before any base had sent it")
            });
        }
    }
}
