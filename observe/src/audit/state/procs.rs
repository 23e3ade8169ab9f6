//! How far each process ran, and for which bases its entities did.

use marchland_common::order::{EntityId, Node, NodeName, SlotId, Tick};
use std::collections::BTreeMap;

/// Whether a cellapp steps the entities of one base.
#[derive(Clone, Copy, Debug)]
struct Window {
    base: NodeName,
    open: bool,
    /// Ticks in which they were stepped.
    ran: u64,
}

/// The base that the entities of a slot answer to.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    /// None while they stand still.
    base: Option<NodeName>,
    /// In how many ticks they were stepped for others before.
    ran: u64,
    /// In how many ticks the entities of this base had been stepped then.
    since: u64,
}

/// One life.
#[derive(Clone, Debug)]
pub struct ProcState {
    pub node: Node,
    /// The newest tick.
    pub tick: Tick,
    /// Ticks that ran.
    pub ran: u64,
    windows: Vec<Window>,
    slots: BTreeMap<SlotId, Followed>,
}

impl ProcState {
    pub const fn new(node: Node) -> Self {
        Self { node, tick: Tick(0), ran: 0, windows: Vec::new(), slots: BTreeMap::new() }
    }

    pub(super) fn follow(&mut self, slot: SlotId, base: Option<NodeName>) {
        let ran = self.slots.get(&slot).map_or(0, |followed| self.ran_under(followed));
        let since = base.map_or(0, |base| self.ran_for(base));
        self.slots.insert(slot, Followed { base, ran, since });
    }

    fn ran_under(&self, followed: &Followed) -> u64 {
        let here = followed.base.map_or(0, |base| self.ran_for(base));
        followed.ran + here.saturating_sub(followed.since)
    }

    /// The base that an entity answers to: the one that its slot follows, or if that was never
    /// told, the one that granted it.
    pub fn base_of(&self, entity: EntityId, granted: NodeName) -> Option<NodeName> {
        self.slots.get(&entity.slot()).map_or(Some(granted), |followed| followed.base)
    }

    /// In how many ticks an entity could be stepped.
    pub fn ran_of(&self, entity: EntityId, granted: NodeName) -> u64 {
        let followed = self.slots.get(&entity.slot());
        followed.map_or_else(|| self.ran_for(granted), |followed| self.ran_under(followed))
    }

    pub(super) fn window(&mut self, base: NodeName, open: bool) {
        match self.windows.iter_mut().find(|window| window.base == base) {
            Some(window) => window.open = open,
            None => self.windows.push(Window { base, open, ran: 0 }),
        }
    }

    pub(super) fn end_record(&mut self, tick: Tick, is_flush: bool) {
        self.tick = self.tick.max(tick);
        if is_flush {
            self.ran += 1;
            self.windows.iter_mut().filter(|window| window.open).for_each(|w| w.ran += 1);
        }
    }

    /// Whether the entities of a base are stepped; not before a window was opened.
    pub fn is_open(&self, base: NodeName) -> bool {
        self.windows.iter().any(|window| window.base == base && window.open)
    }

    /// In how many ticks the entities of a base were stepped.
    pub fn ran_for(&self, base: NodeName) -> u64 {
        self.windows.iter().find(|window| window.base == base).map_or(0, |window| window.ran)
    }
}
