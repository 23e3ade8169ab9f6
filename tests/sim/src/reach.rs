//! Who can reach whom: directions in which no packet passes.

use marchland_common::order::{NodeKind, NodeName};
use std::collections::BTreeMap;

/// Where the store is.
pub(crate) const STORE: NodeName = NodeName { kind: NodeKind::Manager, number: 0 };
/// Where the manager is.
pub(crate) const MANAGER: NodeName = NodeName { kind: NodeKind::Manager, number: 1 };

/// Blocked directions. Blocks add up: each is lifted once.
#[derive(Default)]
pub(crate) struct Reach(BTreeMap<(NodeName, NodeName), u32>);

impl Reach {
    pub(crate) fn block(&mut self, from: NodeName, to: NodeName) {
        *self.0.entry((from, to)).or_default() += 1;
    }

    /// Lifts one block. True when packets pass again.
    pub(crate) fn lift(&mut self, from: NodeName, to: NodeName) -> bool {
        let Some(blocks) = self.0.get_mut(&(from, to)) else { return false };
        *blocks -= 1;
        let is_open = *blocks == 0;
        if is_open {
            self.0.remove(&(from, to));
        }
        is_open
    }

    /// Lifts everything. Returns what was blocked.
    pub(crate) fn lift_all(&mut self) -> Vec<(NodeName, NodeName)> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// Whether packets pass in this direction.
    pub(crate) fn passes(&self, from: NodeName, to: NodeName) -> bool {
        !self.0.contains_key(&(from, to))
    }

    /// Whether a question gets its answer.
    pub(crate) fn answers(&self, a: NodeName, b: NodeName) -> bool {
        self.passes(a, b) && self.passes(b, a)
    }
}
