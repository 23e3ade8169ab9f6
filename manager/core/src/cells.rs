//! Cells: who gets a new space's, who takes over those of a life that ended or is leaving, and what
//! a cellapp gets that has none.

use crate::Facts;
use crate::split::split;
use marchland_common::cluster::MemberState;
use marchland_common::order::{CellId, Node, NodeKind, SpaceId};
use marchland_common::world::{Layout, Tree};
use std::collections::{BTreeMap, BTreeSet};

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

    fn contains(&self, node: Node) -> bool {
        self.0.contains_key(&node)
    }

    /// Those that own nothing.
    fn idle(&self) -> Vec<Node> {
        self.0.iter().filter(|(_, busy)| busy.0 == 0).map(|(node, _)| *node).collect()
    }

    /// How many cells a cellapp owns.
    fn cells_of(&self, node: Node) -> usize {
        self.0.get(&node).map_or(0, |busy| busy.0)
    }

    /// A cell changes hands between two candidates.
    fn hand_over(&mut self, from: Node, to: Node) {
        self.0.entry(from).and_modify(|busy| busy.0 -= 1);
        self.0.entry(to).and_modify(|busy| busy.0 += 1);
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
        let later = *self.0.keys().rev().find(|n| is_later(**n, of))?;
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

/// The layout with every leaf of a dead, absent or leaving owner given to a living one, if that
/// changes anything. So is one of which a later life is registered: after everything was off nobody
/// else says that it is over. A leaf of a life that is merely not registered is left alone: absence
/// is no verdict.
pub(crate) fn healed(
    facts: &Facts,
    layout: &Layout,
    candidates: &mut Candidates,
) -> Option<Layout> {
    let leaving: Vec<Node> =
        facts.members.iter().filter(|m| m.state == MemberState::Draining).map(|m| m.node).collect();
    let mut tree = layout.tree.clone();
    let mut changed = false;
    for_each_leaf(&mut tree, &mut |_, owner| {
        let is_outlived = |o: &Node| facts.members.iter().any(|m| is_later(m.node, *o));
        let is_lost =
            |o: &Node| facts.dead.contains(&o.incarnation) || leaving.contains(o) || is_outlived(o);
        if owner.is_some_and(|o| !is_lost(&o)) {
            return;
        }
        let next = owner.and_then(|o| candidates.successor(o)).or_else(|| candidates.take());
        if next.is_some() {
            *owner = next;
            changed = true;
        }
    });
    changed.then(|| Layout { version: layout.version + 1, tree, ..layout.clone() })
}

/// Whether the one is a later life of the other.
fn is_later(node: Node, than: Node) -> bool {
    node.name == than.name && node > than
}

/// Gives each candidate that owns nothing one cell of somebody who owns several: a cellapp that
/// came back works again. Who lives there walks over like anybody who stands outside its owner's
/// cells. Changes `layouts`, which hold all spaces, and says which it changed.
pub(crate) fn balance(
    layouts: &mut BTreeMap<SpaceId, Layout>,
    candidates: &mut Candidates,
) -> BTreeSet<SpaceId> {
    let mut changed = BTreeSet::new();
    for idle in candidates.idle() {
        let Some((from, space, cell)) = spare_cell(layouts, candidates) else { break };
        let Some(layout) = layouts.get_mut(&space) else { break };
        for_each_leaf(&mut layout.tree, &mut |id, owner| {
            if id == cell {
                *owner = Some(idle);
            }
        });
        candidates.hand_over(from, idle);
        changed.insert(space);
    }
    changed
}

/// The cell that is given away: of whoever owns the most in one space, then the most in all, the
/// last one.
fn spare_cell(
    layouts: &BTreeMap<SpaceId, Layout>,
    candidates: &Candidates,
) -> Option<(Node, SpaceId, CellId)> {
    let owned = |layout: &Layout| -> BTreeMap<Node, Vec<CellId>> {
        let mut owned: BTreeMap<Node, Vec<CellId>> = BTreeMap::new();
        for cell in layout.cells() {
            if let Some(owner) = cell.owner.filter(|o| candidates.contains(*o)) {
                owned.entry(owner).or_default().push(cell.cell);
            }
        }
        owned
    };
    let all = layouts.values().flat_map(|layout| {
        owned(layout).into_iter().map(move |(node, cells)| (layout.space, node, cells))
    });
    let (space, node, cells) = all
        .filter(|(_, node, _)| candidates.cells_of(*node) > 1)
        .max_by_key(|(_, node, cells)| (cells.len(), candidates.cells_of(*node), *node))?;
    Some((node, space, *cells.last()?))
}

fn for_each_leaf(tree: &mut Tree, change: &mut impl FnMut(CellId, &mut Option<Node>)) {
    match tree {
        Tree::Leaf { cell, owner } => change(*cell, owner),
        Tree::Split { low, high, .. } => {
            for_each_leaf(low, change);
            for_each_leaf(high, change);
        }
    }
}
