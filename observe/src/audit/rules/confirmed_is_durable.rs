//! Nothing gets out before what it rests on is durable.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Lsn, NodeKind, NodeName, Seq, SessionId};
use marchland_common::world::MessageOutcome;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub struct ConfirmedIsDurable {
    /// Which step of its receiver took a message.
    taken: FxHashMap<(EntityId, u64), (EntityId, Seq)>,
    /// The newest step that a client was told to be confirmed.
    told: BTreeMap<(SessionId, EntityId), (Seq, At)>,
}

/// A record that something rests on.
struct Basis {
    log: NodeName,
    lsn: Lsn,
    at: At,
}

impl ConfirmedIsDurable {
    pub fn new(_: &AuditOptions) -> Self {
        Self { taken: FxHashMap::default(), told: BTreeMap::new() }
    }

    /// The step of an entity's lineage with this number; also of this epoch, if one is given.
    fn step(cx: &Cx<'_>, entity: EntityId, seq: Seq, epoch: Option<Epoch>) -> Option<Basis> {
        let step = cx.state.lines.get(&entity)?.step(seq)?;
        let fits = epoch.is_none_or(|epoch| epoch == step.epoch);
        fits.then_some(Basis { log: step.log, lsn: step.lsn, at: step.at })
    }

    fn rests_on(
        here: &Here<'_>,
        cx: &Cx<'_>,
        entity: EntityId,
        what: &str,
        basis: Option<Basis>,
        out: &mut Findings,
    ) {
        // What came with a slot rests on the log that it came from.
        let unknown = cx.state.unknown_logs.contains(&here.node.name);
        if !cx.sees_line(here, entity) || unknown {
            return;
        }
        let Some(basis) = basis else {
            return out.check(false, entity, &[Some(here.at)], || {
                format!("{what} left {} and rests on no step of the lineage", here.node)
            });
        };
        let durable = cx.state.durable_at(basis.log, basis.lsn);
        let holds = durable.is_some_and(|at| cx.before(at, here.at));
        out.check(holds, entity, &[Some(basis.at), durable, Some(here.at)], || {
            format!("{what} left {} before its record {} was durable", here.node, basis.lsn)
        });
    }

    fn message_taken(&self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::MessageTaken { entity, source, out_seq, outcome } = here.event else { return };
        let (entity, source, out_seq) = (*entity, *source, *out_seq);
        let what = format!("the answer to message {source}:{out_seq}");
        let basis = match outcome {
            MessageOutcome::Spawned(born) => cx
                .state
                .lines
                .get(born)
                .and_then(|line| line.born)
                .map(|born| Basis { log: born.log, lsn: born.lsn, at: born.at }),
            MessageOutcome::Applied(_) | MessageOutcome::Rejected(_) => {
                let step = self.taken.get(&(source, out_seq));
                let step = step.filter(|(receiver, _)| *receiver == entity);
                let basis = step.and_then(|(_, seq)| Self::step(cx, entity, *seq, None));
                // A base may refuse alone, and what a cell decided may be out of sight.
                let is_applied = matches!(outcome, MessageOutcome::Applied(_));
                if basis.is_none() && !(is_applied && cx.sees_all(NodeKind::Cell)) {
                    return;
                }
                basis
            }
            MessageOutcome::Undeliverable => return,
        };
        Self::rests_on(here, cx, entity, &what, basis, out);
    }

    fn activated(here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Activated { entity, epoch, base, .. } = *here.event else { return };
        let owner = cx.state.lines.get(&entity).and_then(|line| line.ownership(epoch));
        let Some(owner) = owner.filter(|_| cx.sees(base) && cx.sees_slot(entity.slot())) else {
            return;
        };
        let durable = cx.state.durable_at(owner.log, owner.lsn);
        let holds = durable.is_some_and(|at| cx.before(at, here.at));
        out.check(holds, entity, &[Some(owner.at), durable, Some(here.at)], || {
            format!("the grant of epoch {epoch} left before its record was durable")
        });
    }
}

impl Watch for ConfirmedIsDurable {
    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::CommandConfirmed,
            Kind::MessageReleased,
            Kind::MessageTaken,
            Kind::Activated,
            Kind::ClientSaw,
        ]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::CommandConfirmed { entity, session, n, epoch, seq, .. } => {
                let basis = Self::step(cx, entity, seq, Some(epoch));
                let what = format!("the answer to command s{session}/{n}");
                Self::rests_on(here, cx, entity, &what, basis, out);
            }
            Event::MessageReleased { source, out_seq, seq, .. } => {
                let basis = Self::step(cx, source, seq, None);
                let what = format!("message {source}:{out_seq}");
                Self::rests_on(here, cx, source, &what, basis, out);
            }
            Event::MessageTaken { .. } => self.message_taken(here, cx, out),
            Event::Activated { .. } => Self::activated(here, cx, out),
            Event::ClientSaw { session, entity, confirmed: Some(seq), .. } => {
                let told = self.told.entry((session, entity)).or_insert((seq, here.at));
                *told = (*told).max((seq, here.at));
            }
            _ => {}
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, _: &mut Findings) {
        for effect in &grown.step.effects {
            if let What::Message { source, out_seq, .. } = effect.what {
                self.taken.insert((source, out_seq), (grown.entity, grown.step.seq));
            }
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, out: &mut Findings) {
        if let CutWhat::Step(step) = &cut.what {
            for effect in &step.effects {
                if let What::Message { source, out_seq, .. } = effect.what {
                    self.taken.remove(&(source, out_seq));
                }
            }
        }
        let witness = [Some(cut.what.at()), cut.was_durable];
        out.check(cut.was_durable.is_none(), cut.entity, &witness, || {
            "a record that was durable is gone after a restart".to_owned()
        });
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if !cx.sees_all(NodeKind::Base) {
            return;
        }
        for ((session, entity), (seq, at)) in &self.told {
            let tail = cx.state.lines.get(entity).map_or(Seq(0), |line| line.tail().0);
            out.check(*seq <= tail, *entity, &[Some(*at)], || {
                format!("session {session} was told step {seq}; the lineage ends at step {tail}")
            });
        }
    }
}
