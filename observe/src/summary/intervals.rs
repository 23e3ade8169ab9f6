//! Who simulated an entity in which ticks, whether that counted or not.

use crate::audit::{Cx, Here};
use marchland_common::journal::{EndWhy, Event};
use marchland_common::order::{EntityId, NodeKind, NodeName, SlotId, Tick};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Ticks in a row, both ends included.
type Span = (u64, u64);

/// The spans of all entities.
#[derive(Debug, Default)]
pub struct Intervals {
    /// Reals that run when their window is open, by process and the base that they answer to;
    /// without one they stand still.
    active: FxHashMap<(u32, Option<NodeName>), BTreeSet<EntityId>>,
    /// Since when one runs.
    running: FxHashMap<(u32, EntityId), u64>,
    spans: FxHashMap<EntityId, Vec<Span>>,
    frozen: u64,
}

impl Intervals {
    /// Counts who stood still in the record before this one.
    pub fn count_frozen(&mut self, proc: u32, cx: &Cx<'_>) {
        let state = &cx.state.procs[proc as usize];
        if state.node.name.kind != NodeKind::Cell {
            return;
        }
        let is_open = |base: &Option<NodeName>| base.is_some_and(|base| state.is_open(base));
        let closed = self.active.iter().filter(|((of, base), _)| *of == proc && !is_open(base));
        self.frozen += closed.map(|(_, reals)| reals.len() as u64).sum::<u64>();
    }

    pub fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>) {
        let (proc, tick) = (here.at.proc, here.tick);
        match *here.event {
            Event::Activated { entity, base, .. } => self.begin(proc, base.name, entity, tick, cx),
            Event::Unfrozen { entity, .. } => {
                if let Some(real) = cx.state.reals.get(&(proc, entity)) {
                    self.begin(proc, real.base, entity, tick, cx);
                }
            }
            Event::Frozen { entity, .. } => self.end(proc, entity, tick.0, cx),
            Event::Deactivated { entity, why, .. } => {
                let ran = why == EndWhy::Destroyed;
                let last = if ran { tick.0 } else { tick.0.saturating_sub(1) };
                self.end(proc, entity, last, cx);
            }
            Event::WindowOpened { base } => {
                let reals = self.active.get(&(proc, Some(base.name))).cloned().unwrap_or_default();
                for entity in reals {
                    self.running.entry((proc, entity)).or_insert(tick.0);
                }
            }
            Event::WindowClosed { base, .. } => {
                let reals = self.active.get(&(proc, Some(base.name))).cloned().unwrap_or_default();
                for entity in reals {
                    self.pause(proc, entity, tick.0.saturating_sub(1));
                }
            }
            Event::SlotFollowed { slot, base } => {
                self.follow(proc, slot, base.map(|base| base.name), tick, cx);
            }
            _ => {}
        }
    }

    fn begin(&mut self, proc: u32, base: NodeName, entity: EntityId, tick: Tick, cx: &Cx<'_>) {
        let base = cx.state.procs[proc as usize].base_of(entity, base);
        self.activate(proc, base, entity, tick, cx);
    }

    fn activate(
        &mut self,
        proc: u32,
        base: Option<NodeName>,
        entity: EntityId,
        tick: Tick,
        cx: &Cx<'_>,
    ) {
        // A grant that replaces a copy here ends that one first.
        self.active.entry((proc, base)).or_default().insert(entity);
        if base.is_some_and(|base| cx.state.procs[proc as usize].is_open(base)) {
            self.running.entry((proc, entity)).or_insert(tick.0);
        }
    }

    /// The entities of a slot answer to another base, or stand still.
    fn follow(&mut self, proc: u32, slot: SlotId, base: Option<NodeName>, tick: Tick, cx: &Cx<'_>) {
        let mut moved = Vec::new();
        for ((of, was), reals) in &mut self.active {
            if *of == proc && *was != base {
                moved.extend(reals.iter().copied().filter(|entity| entity.slot() == slot));
                reals.retain(|entity| entity.slot() != slot);
            }
        }
        for entity in moved {
            self.pause(proc, entity, tick.0.saturating_sub(1));
            self.activate(proc, base, entity, tick, cx);
        }
    }

    fn end(&mut self, proc: u32, entity: EntityId, last: u64, cx: &Cx<'_>) {
        self.pause(proc, entity, last);
        let Some(real) = cx.state.reals.get(&(proc, entity)) else { return };
        let base = cx.state.procs[proc as usize].base_of(entity, real.base);
        if let Some(reals) = self.active.get_mut(&(proc, base)) {
            reals.remove(&entity);
        }
    }

    fn pause(&mut self, proc: u32, entity: EntityId, last: u64) {
        let Some(first) = self.running.remove(&(proc, entity)) else { return };
        if first <= last {
            self.spans.entry(entity).or_default().push((first, last));
        }
    }

    /// Ends every span where its process ended. Returns the ticks that entities stood still, and
    /// those in which two simulated the same one.
    pub fn finish(&mut self, cx: &Cx<'_>) -> (u64, u64) {
        for proc in 0..cx.state.procs.len() as u32 {
            self.count_frozen(proc, cx);
        }
        for ((proc, entity), first) in std::mem::take(&mut self.running) {
            let last = cx.state.procs[proc as usize].tick.0;
            self.spans.entry(entity).or_default().push((first, last));
        }
        let doubled = self.spans.values_mut().map(|spans| overlap(spans));
        let doubled = doubled.fold(0, u64::saturating_add);
        (self.frozen, doubled)
    }
}

/// In how many ticks more than one span runs.
fn overlap(spans: &mut [Span]) -> u64 {
    spans.sort_unstable();
    let (mut doubled, mut covered) = (0, None);
    for (first, last) in spans {
        if let Some(end) = covered.filter(|end| *end >= *first) {
            let shared = (*last).min(end).saturating_sub(*first).saturating_add(1);
            doubled = u64::saturating_add(doubled, shared);
        }
        covered = covered.max(Some(*last));
    }
    doubled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_that_two_spans_share_are_counted_once() {
        assert_eq!(overlap(&mut [(1, 10), (11, 20)]), 0);
        assert_eq!(overlap(&mut [(11, 20), (1, 11)]), 1);
        assert_eq!(overlap(&mut [(1, 20), (5, 8), (19, 30)]), 4 + 2);
        assert_eq!(overlap(&mut []), 0);
    }
}
