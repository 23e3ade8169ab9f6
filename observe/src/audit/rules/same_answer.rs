//! One command, one answer.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::{Kind, outcome_digest};
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind, SessionId};
use marchland_common::world::CommandOutcome;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

type Answers = FxHashMap<(SessionId, u64), (u64, At)>;

pub struct SameAnswer {
    /// What the lineage says.
    decided: Answers,
    /// What bases said.
    told: Answers,
    /// What clients heard.
    heard: BTreeMap<(SessionId, u64), (EntityId, u64, At)>,
}

impl SameAnswer {
    pub fn new(_: &AuditOptions) -> Self {
        Self { decided: Answers::default(), told: Answers::default(), heard: BTreeMap::new() }
    }

    fn tell(
        &mut self,
        here: &Here<'_>,
        entity: EntityId,
        (session, n): (SessionId, u64),
        outcome: &CommandOutcome,
        out: &mut Findings,
    ) {
        let digest = outcome_digest(outcome);
        let first = *self.told.entry((session, n)).or_insert((digest, here.at));
        let decided = self.decided.get(&(session, n)).filter(|(said, _)| *said != digest);
        let other = decided.copied().or((first.0 != digest).then_some(first));
        let witness = [other.map(|(_, at)| at), Some(here.at)];
        out.check(other.is_none(), entity, &witness, || {
            format!("command s{session}/{n} has two different answers")
        });
    }

    fn hear(
        &mut self,
        here: &Here<'_>,
        entity: EntityId,
        (session, n): (SessionId, u64),
        outcome: &CommandOutcome,
        out: &mut Findings,
    ) {
        let digest = outcome_digest(outcome);
        let first = *self.heard.entry((session, n)).or_insert((entity, digest, here.at));
        out.check(first.1 == digest, entity, &[Some(first.2), Some(here.at)], || {
            format!("a client heard two different answers to command s{session}/{n}")
        });
    }
}

impl Watch for SameAnswer {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::CommandConfirmed, Kind::CommandAnswered, Kind::ClientAnswered]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, out: &mut Findings) {
        match here.event {
            Event::CommandConfirmed { entity, session, n, outcome, .. }
            | Event::CommandAnswered { entity, session, n, outcome } => {
                self.tell(here, *entity, (*session, *n), outcome, out);
            }
            Event::ClientAnswered { session, entity, n, outcome } => {
                self.hear(here, *entity, (*session, *n), outcome, out);
            }
            _ => {}
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, out: &mut Findings) {
        for effect in &grown.step.effects {
            let What::Command { session, n, outcome } = effect.what else { continue };
            self.decided.insert((session, n), (outcome, effect.at));
            let told = self.told.get(&(session, n)).filter(|(told, _)| *told != outcome);
            if let Some((_, at)) = told {
                out.accuse(grown.entity, &[Some(*at), Some(effect.at)], || {
                    format!("command s{session}/{n} was answered before it was decided otherwise")
                });
            }
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        let CutWhat::Step(step) = &cut.what else { return };
        for effect in &step.effects {
            if let What::Command { session, n, .. } = effect.what {
                self.decided.remove(&(session, n));
            }
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        for ((session, n), (entity, heard, at)) in &self.heard {
            // A base that came back tells what its log holds, without another word.
            let restarted = cx.goes_on_from_logs();
            let decided = self.decided.get(&(*session, *n)).filter(|_| restarted);
            let told = self.told.get(&(*session, *n)).or(decided);
            let untold = || restarted && cx.holds_untold_step(*entity);
            if told.is_none() && (!cx.sees_all(NodeKind::Base) || untold()) {
                continue;
            }
            let same = told.is_some_and(|(told, _)| told == heard);
            out.check(same, *entity, &[told.map(|(_, at)| *at), Some(*at)], || match told {
                Some(_) => format!("a client heard another answer to s{session}/{n} than was told"),
                None => format!("a client heard an answer to s{session}/{n} that no base gave"),
            });
        }
    }
}
