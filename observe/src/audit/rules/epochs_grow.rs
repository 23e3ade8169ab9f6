//! Epochs only grow.

use crate::audit::{AuditOptions, Cx, FIRST, Findings, Here, Watch};
use crate::facts::Kind;
use crate::journals::BaseLog;
use crate::merge::At;
use marchland_common::journal::{Event, Logged};
use marchland_common::order::{EntityId, Epoch};
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

/// The epochs in the order in which they stand in a log.
fn judge_log(log: &BaseLog, out: &mut Findings) {
    let account = &log.account;
    let begin = account.begin.iter().map(|(entity, kept)| (*entity, kept.epoch));
    let mut newest: BTreeMap<EntityId, Epoch> = begin.collect();
    for (lsn, said) in &account.records {
        let (entity, epoch) = match *said {
            Logged::Born { entity, .. } => (entity, FIRST),
            Logged::Owner { entity, epoch, .. } => (entity, epoch),
            Logged::Step { .. } => continue,
        };
        let before = newest.insert(entity, epoch);
        out.check(before.is_none_or(|before| before < epoch), entity, &[], || {
            let before = before.unwrap_or(Epoch::NONE);
            let base = log.base;
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
            Event::OwnerChanged { entity, epoch, .. } if cx.sees_here(here) => {
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
        cx.written.values().for_each(|log| judge_log(log, out));
    }
}
