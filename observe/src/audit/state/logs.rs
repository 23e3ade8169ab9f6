//! The bases' write-ahead logs as their journals tell of them: how far each is durable, and what a
//! restart found in it.

use super::State;
use crate::audit::lineage::{Cut, CutWhat, Line};
use crate::audit::pass::Here;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Lsn, NodeKind, NodeName, SlotId};

/// One log, over all lives of its base.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The life that writes it.
    life: Option<u32>,
    /// Where it became durable how far, upwards.
    durables: Vec<(Lsn, At)>,
}

impl Log {
    /// Where it became known that a record was durable.
    pub fn durable_at(&self, lsn: Lsn) -> Option<At> {
        let at = self.durables.partition_point(|(durable, _)| *durable < lsn);
        self.durables.get(at).map(|(_, at)| *at)
    }

    /// How far it was said to be durable, and where.
    pub fn durable(&self) -> Option<(Lsn, At)> {
        self.durables.last().copied()
    }

    pub(super) fn report(&mut self, lsn: Lsn, at: At) {
        if self.durables.last().is_none_or(|(newest, _)| *newest < lsn) {
            self.durables.push((lsn, at));
        }
    }
}

/// The number of the log record that an event tells of.
const fn lsn_of(event: &Event) -> Option<Lsn> {
    match event {
        Event::Created { lsn, .. }
        | Event::Accepted { lsn, .. }
        | Event::OwnerChanged { lsn, .. }
        | Event::Burned { lsn, .. }
        | Event::Destroyed { lsn, .. }
        | Event::SlotTaken { lsn, .. }
        | Event::SlotFrozen { lsn, .. }
        | Event::SlotGiven { lsn, .. } => Some(*lsn),
        _ => None,
    }
}

impl State {
    /// What turns out never to have happened because a later life of a base begins to write: the
    /// records after what it read back, or, if it does not say that, from its own first on. And of a
    /// slot that another base took over: what stands behind what that one read.
    pub fn cuts(&mut self, here: &Here<'_>) -> Vec<Cut> {
        if let Event::SlotAdopted { slot, term, from, through } = *here.event {
            // It is said again by every later life.
            let is_known = self.adopted.contains_key(&(slot, here.node.name, term));
            return if is_known { Vec::new() } else { self.cut_read(slot, from.name, through) };
        }
        let recovered = match here.event {
            Event::Recovered { lsn } => Some(*lsn),
            _ => None,
        };
        let first = lsn_of(here.event).map(|lsn| Lsn(lsn.0.saturating_sub(1)));
        let Some(kept) = recovered.or(first) else { return Vec::new() };
        if here.node.name.kind != NodeKind::Base {
            return Vec::new();
        }
        let log = self.logs.entry(here.node.name).or_default();
        let before = log.life.replace(here.at.proc);
        if before == Some(here.at.proc) {
            return Vec::new();
        }
        if before.is_none() {
            if recovered.is_some_and(|lsn| lsn > Lsn(0)) {
                self.unknown_logs.insert(here.node.name);
            }
            log.report(kept, here.at);
            return Vec::new();
        }
        self.restarted.insert(here.node.name);
        self.cut_after(here.node.name, kept, here.at)
    }

    fn cut_after(&mut self, name: NodeName, kept: Lsn, at: At) -> Vec<Cut> {
        let touched: Vec<EntityId> = self.lines.keys().copied().collect();
        let cuts = self.cut_lines(touched, name, kept);
        let log = self.logs.entry(name).or_default();
        log.durables.retain(|(durable, _)| *durable <= kept);
        log.report(kept, at);
        self.cut_slots(name, kept);
        cuts
    }

    fn cut_read(&mut self, slot: SlotId, name: NodeName, through: Lsn) -> Vec<Cut> {
        let all = self.lines.keys().copied();
        let touched = all.filter(|entity| entity.slot() == slot).collect();
        let cuts = self.cut_lines(touched, name, through);
        self.cut_read_slot(slot, name, through);
        cuts
    }

    fn cut_lines(&mut self, mut touched: Vec<EntityId>, name: NodeName, kept: Lsn) -> Vec<Cut> {
        touched.sort_unstable();
        let mut cuts = Vec::new();
        let log = self.logs.entry(name).or_default();
        for entity in touched {
            let Some(line) = self.lines.get_mut(&entity) else { continue };
            let from = cuts.len();
            for what in cut_line(line, name, kept) {
                let was_durable = log.durable_at(lsn_of_cut(&what));
                cuts.push(Cut { entity, what, was_durable });
            }
            if cuts.len() > from && line.born.is_none() && line.steps.is_empty() {
                self.lines.remove(&entity);
            }
        }
        for cut in &cuts {
            if let CutWhat::Step(step) = &cut.what {
                self.give_effects_back(cut.entity, step);
            }
        }
        cuts
    }
}

const fn lsn_of_cut(what: &CutWhat) -> Lsn {
    match what {
        CutWhat::Born(mark) | CutWhat::Ended(mark) => mark.lsn,
        CutWhat::Owner(owner) => owner.lsn,
        CutWhat::Step(step) => step.lsn,
    }
}

/// Takes everything out of a line that one log wrote after a record, newest first.
fn cut_line(line: &mut Line, log: NodeName, kept: Lsn) -> Vec<CutWhat> {
    let is_cut = |by: NodeName, lsn: Lsn| by == log && lsn > kept;
    let mut out = Vec::new();
    if let Some(ended) = line.ended.take_if(|ended| is_cut(ended.log, ended.lsn)) {
        line.held = Some(ended.value);
        out.push(CutWhat::Ended(ended));
    }
    while let Some(step) = line.steps.pop_if(|step| is_cut(step.log, step.lsn)) {
        if let Some(flow) = &step.flow {
            line.held = Some(flow.before);
        }
        out.push(CutWhat::Step(Box::new(step)));
    }
    while let Some(owner) = line.owners.pop_if(|owner| is_cut(owner.log, owner.lsn)) {
        out.push(CutWhat::Owner(owner));
    }
    if let Some(born) = line.born.take_if(|born| is_cut(born.log, born.lsn)) {
        out.push(CutWhat::Born(born));
    }
    out
}
