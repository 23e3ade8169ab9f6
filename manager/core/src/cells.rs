//! Cells: who gets a new space's, and who takes over those of a life that ended.

use crate::Facts;
use crate::split::split;
use marchland_common::cluster::MemberState;
use marchland_common::order::{Node, NodeKind};
use marchland_common::world::{Layout, Tree};
use std::collections::BTreeMap;

/// Cellapps that may take cells, the least busy first: by cells owned, then reals, then name.
pub(crate) struct Candidates(BTreeMap<Node, (usize, u64)>);

impl Candidates {
    pub(crate) fn new(facts: &Facts) -> Self {
        let mut busy: BTreeMap<Node, (usize, u64)> = facts
            .members
            .iter()
            .filter(|m| m.node.name.kind == NodeKind::Cell && m.state == MemberState::Serving)
            .filter(|m| !facts.dead.contains(&m.node.incarnation))
            .map(|m| (m.node, (0, facts.loads.get(&m.node).map_or(0, |l| l.reals))))
            .collect();
        for cell in facts.layouts.values().flat_map(Layout::cells) {
            if let Some(count) = cell.owner.and_then(|o| busy.get_mut(&o)) {
                count.0 += 1;
            }
        }
        Self(busy)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The least busy cellapp; it counts as one cell busier afterwards.
    pub(crate) fn take(&mut self) -> Option<Node> {
        let node = *self.0.iter().min_by_key(|(node, busy)| (**busy, **node))?.0;
        self.0.entry(node).and_modify(|busy| busy.0 += 1);
        Some(node)
    }

    /// The later life of the same process, if it is a candidate; it counts as one cell busier.
    fn successor(&mut self, of: Node) -> Option<Node> {
        let later = *self.0.keys().rev().find(|n| n.name == of.name && **n > of)?;
        self.0.entry(later).and_modify(|busy| busy.0 += 1);
        Some(later)
    }
}

/// The first layout of a space, or none while too few cellapps are there.
pub(crate) fn first_layout(
    facts: &Facts,
    spec: &crate::SpaceSpec,
    candidates: &mut Candidates,
) -> Option<Layout> {
    let there = candidates.len();
    if there == 0 || (there < facts.cells_awaited && !facts.waited_enough) {
        return None;
    }
    let wanted = if spec.cells == 0 { there } else { spec.cells as usize };
    // More cells than cellapps: some own several.
    let owners: Vec<Option<Node>> = (0..wanted).map(|_| candidates.take()).collect();
    let tree = split(spec.bounds, &owners);
    Some(Layout { space: spec.id, version: 1, bounds: spec.bounds, tree })
}

/// The layout with every leaf of a dead or absent owner given to a living one, if that changes
/// anything. A leaf of a life that is merely not registered is left alone: absence is no verdict.
pub(crate) fn healed(
    facts: &Facts,
    layout: &Layout,
    candidates: &mut Candidates,
) -> Option<Layout> {
    let mut tree = layout.tree.clone();
    let changed = heal(facts, &mut tree, candidates);
    changed.then(|| Layout { version: layout.version + 1, tree, ..layout.clone() })
}

fn heal(facts: &Facts, tree: &mut Tree, candidates: &mut Candidates) -> bool {
    match tree {
        Tree::Leaf { owner, .. } => {
            let lost = owner.is_none_or(|o| facts.dead.contains(&o.incarnation));
            if !lost {
                return false;
            }
            let next = owner.and_then(|o| candidates.successor(o)).or_else(|| candidates.take());
            let changed = next.is_some() && next != *owner;
            if changed {
                *owner = next;
            }
            changed
        }
        Tree::Split { low, high, .. } => {
            let low = heal(facts, low, candidates);
            let high = heal(facts, high, candidates);
            low || high
        }
    }
}
