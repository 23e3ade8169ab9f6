//! How far each process ran, and for which bases its entities did.

use marchland_common::order::{Node, NodeName, Tick};

/// Whether a cellapp steps the entities of one base.
#[derive(Clone, Copy, Debug)]
struct Window {
    base: NodeName,
    open: bool,
    /// Ticks in which they were stepped.
    ran: u64,
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
}

impl ProcState {
    pub const fn new(node: Node) -> Self {
        Self { node, tick: Tick(0), ran: 0, windows: Vec::new() }
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
