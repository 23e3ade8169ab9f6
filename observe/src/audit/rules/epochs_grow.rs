//! Epochs only grow.

use crate::audit::{AuditOptions, Cx, FIRST, Findings, Here, Watch};
use crate::facts::Kind;
use crate::journals::BaseLog;
use crate::merge::At;
use marchland_common::journal::{Event, Logged};
use marchland_common::order::{EntityId, Epoch, Lsn, NodeName, SlotId, Term};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub struct EpochsGrow {
    /// The newest epoch of an entity at each process that owned it.
    activated: FxHashMap<(u32, EntityId), (Epoch, At)>,
}

impl EpochsGrow {
    pub fn new(_: &AuditOptions) -> Self {
        Self { activated: FxHashMap::default() }
    }
}

/// What a log says of an epoch, and under which term of the slot.
struct Said {
    term: Term,
    base: NodeName,
    lsn: Lsn,
    entity: EntityId,
    epoch: Epoch,
    /// Whether it begins there; else a checkpoint holds it.
    begins: bool,
}

/// What one log says.
fn said(log: &BaseLog) -> Vec<Said> {
    let (base, account) = (log.base, &log.account);
    let mut terms: BTreeMap<SlotId, Term> = BTreeMap::new();
    let begin = account.begin.iter().map(|(entity, kept)| {
        let (lsn, epoch) = (account.through, kept.epoch);
        Said { term: Term(0), base, lsn, entity: *entity, epoch, begins: false }
    });
    let mut out: Vec<Said> = begin.collect();
    for (lsn, said) in &account.records {
        let (entity, epoch) = match *said {
            Logged::Born { entity, .. } => (entity, FIRST),
            Logged::Owner { entity, epoch, .. } => (entity, epoch),
            Logged::Taken { slot, term } => {
                terms.insert(slot, term);
                continue;
            }
            Logged::Step { .. } | Logged::Frozen { .. } | Logged::Given { .. } => continue,
        };
        let term = terms.get(&entity.slot()).copied().unwrap_or(Term(0));
        out.push(Said { term, base, lsn: *lsn, entity, epoch, begins: true });
    }
    out
}

/// The epochs in the order in which they stand in the logs, one keeper of a slot after the other.
fn judge_logs<'a>(logs: impl Iterator<Item = &'a BaseLog>, out: &mut Findings) {
    let mut all: Vec<Said> = logs.flat_map(said).collect();
    all.sort_by_key(|said| (said.term, said.base, said.lsn));
    let mut newest: BTreeMap<EntityId, Epoch> = BTreeMap::new();
    for Said { base, lsn, entity, epoch, begins, .. } in all {
        if !begins {
            let known = newest.entry(entity).or_default();
            *known = epoch.max(*known);
            continue;
        }
        let before = newest.insert(entity, epoch);
        out.check(before.is_none_or(|before| before < epoch), entity, &[], || {
            let before = before.unwrap_or(Epoch::NONE);
            format!("record {lsn} of {base}'s log begins epoch {epoch} after epoch {before}")
        });
    }
}

impl Watch for EpochsGrow {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::OwnerChanged, Kind::Activated]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::OwnerChanged { entity, epoch, .. } if cx.sees_line(here, entity) => {
                let line = cx.state.lines.get(&entity);
                let last = line.and_then(|line| line.owners.last());
                let born = line.and_then(|line| line.born).map(|born| born.at);
                let before = last.map(|last| last.epoch);
                // The record of a birth may be told beside the birth itself.
                let grows = before.is_none_or(|before| before < epoch) && epoch > Epoch::NONE;
                let witness = last.map(|last| last.at).or(born);
                out.check(grows, entity, &[witness, Some(here.at)], || {
                    let before = before.unwrap_or(Epoch::NONE);
                    format!("{} wrote epoch {epoch} after epoch {before}", here.node)
                });
            }
            Event::Activated { entity, epoch, .. } => {
                let key = (here.at.proc, entity);
                let before = self.activated.insert(key, (epoch, here.at));
                let grows = before.is_none_or(|(before, _)| before < epoch);
                let witness = before.map(|(_, at)| at);
                out.check(grows, entity, &[witness, Some(here.at)], || {
                    let before = before.map_or(Epoch::NONE, |(before, _)| before);
                    format!("{} activated epoch {epoch} after epoch {before}", here.node)
                });
            }
            _ => {}
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        judge_logs(cx.written.values(), out);
    }
}
