//! One owner for each epoch, and only the owner acts.

use crate::audit::lineage::FIRST;
use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Node};
use rustc_hash::FxHashMap;

pub struct SingleOwner {
    owners: FxHashMap<(EntityId, Epoch), (Node, At)>,
}

impl SingleOwner {
    pub fn new(_: &AuditOptions) -> Self {
        Self { owners: FxHashMap::default() }
    }

    fn activated(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Activated { entity, epoch, base, .. } = *here.event else { return };
        let first = *self.owners.entry((entity, epoch)).or_insert((here.node, here.at));
        out.check(first.1 == here.at, entity, &[Some(first.1), Some(here.at)], || {
            format!("epoch {epoch} was activated at {} and again at {}", first.0, here.node)
        });
        let line = cx.state.lines.get(&entity);
        let Some(owner) = line.and_then(|line| line.ownership(epoch)) else {
            let born = line.and_then(|line| line.born).filter(|_| epoch == FIRST);
            let knows = born.is_some_and(|born| cx.before(born.at, here.at));
            // What the base of this life knew from an earlier run is not in these journals.
            let unseen = !cx.sees(base)
                || !cx.sees_slot(entity.slot())
                || cx.state.unknown_logs.contains(&base.name);
            if !knows && !unseen {
                out.accuse(entity, &[born.map(|born| born.at), Some(here.at)], || {
                    format!("{} activated epoch {epoch} that no base had granted", here.node)
                });
            }
            return;
        };
        if !cx.sees(base) || !cx.sees_slot(entity.slot()) {
            return;
        }
        if owner.to != here.node {
            out.accuse(entity, &[Some(owner.at), Some(here.at)], || {
                let to = owner.to;
                format!("epoch {epoch} was granted to {to} and activated at {}", here.node)
            });
        } else if !cx.before(owner.at, here.at) {
            out.accuse(entity, &[Some(owner.at), Some(here.at)], || {
                format!("{} activated epoch {epoch} before its base wrote it", here.node)
            });
        }
    }

    fn acts(here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let (entity, epoch) = match *here.event {
            Event::Stepped { entity, epoch, .. }
            | Event::CommandRun { entity, epoch, .. }
            | Event::MessageRun { entity, epoch, .. }
            | Event::TimerFired { entity, epoch, .. } => (entity, epoch),
            _ => return,
        };
        if !cx.sees_here(here) {
            return;
        }
        let real = cx.state.reals.get(&(here.at.proc, entity));
        let runs = real.is_some_and(|real| real.epoch == epoch && real.frozen.is_none());
        let witness = real.map(|real| real.frozen.unwrap_or(real.since));
        out.check(runs, entity, &[witness, Some(here.at)], || match real {
            None => format!("{} acts on an entity that is not real there", here.node),
            Some(real) if real.epoch != epoch => {
                format!("{} acts under epoch {epoch} and owns epoch {}", here.node, real.epoch)
            }
            Some(_) => format!("{} acts on an entity that it had frozen", here.node),
        });
    }
}

impl Watch for SingleOwner {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Activated, Kind::Stepped, Kind::CommandRun, Kind::MessageRun, Kind::TimerFired]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match here.event {
            Event::Activated { .. } => self.activated(here, cx, out),
            _ => Self::acts(here, cx, out),
        }
    }
}
