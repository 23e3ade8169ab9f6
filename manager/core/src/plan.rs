//! The plan: everything that must be written, in one order, and what baseapps are asked for.

use crate::cells::{Candidates, balance, first_layout, healed};
use crate::moves::{Give, plan_moves};
use crate::takes::{Take, plan_takes};
use crate::{Facts, Lost, slots};
use marchland_common::cluster::MemberState;
use marchland_common::order::{Node, NodeKind, NodeName, SlotId, SpaceId};
use marchland_common::world::Layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thing to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write {
    /// A slot gets its keeper: its first one, its next one when a move is through, or the present
    /// one anew when a move is called off.
    Slot(SlotId, NodeName),
    /// A slot goes from the log of a life that is over to the life that holds what the log says,
    /// if that one is still registered and nobody of the name of the other is.
    TakeOver {
        /// The slot.
        slot: SlotId,
        /// The life that wrote the log.
        from: Node,
        /// The life that keeps it from here on.
        to: Node,
    },
    /// A space gets a layout; the one before it, if any, has version − 1.
    Layout(Layout),
    /// A space that nobody wants any more.
    RemoveSpace(SpaceId),
}

/// What must be written, and what is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The writes.
    pub writes: Vec<Write>,
    /// What baseapps are to give away.
    pub gives: Vec<Give>,
    /// What baseapps are to take over.
    pub takes: Vec<Take>,
    /// Baseapps that are lost and keep slots.
    pub lost: Vec<Lost>,
    /// What is missing before the world is whole, in words.
    pub waiting: Vec<String>,
}

/// Makes the plan for these facts. Deterministic; with nothing to do it is empty.
#[must_use]
pub fn plan(facts: &Facts) -> Plan {
    let mut plan = Plan::default();
    plan_slots(facts, &mut plan);
    plan_moves(facts, &mut plan);
    plan_takes(facts, &mut plan);
    plan_spaces(facts, &mut plan);
    plan
}

fn plan_slots(facts: &Facts, plan: &mut Plan) {
    let kept: BTreeMap<SlotId, NodeName> = facts.slots.iter().map(|s| (s.slot, s.base)).collect();
    if kept.len() == usize::from(slots::SLOTS) {
        return;
    }
    let mut bases: Vec<NodeName> = facts
        .members
        .iter()
        .filter(|m| m.node.name.kind == NodeKind::Base && m.state == MemberState::Serving)
        .filter(|m| !facts.dead.contains(&m.node.incarnation))
        .map(|m| m.node.name)
        .collect();
    bases.sort();
    bases.dedup();
    if bases.is_empty() || (bases.len() < facts.bases_awaited && !facts.waited_enough) {
        plan.waiting.push(format!("{} of {} baseapps", bases.len(), facts.bases_awaited.max(1)));
        return;
    }
    let given = slots::give(&kept, &bases);
    plan.writes.extend(given.into_iter().map(|(slot, base)| Write::Slot(slot, base)));
}

fn plan_spaces(facts: &Facts, plan: &mut Plan) {
    let mut candidates = Candidates::new(facts);
    let (wanted, unwanted): (BTreeMap<_, _>, BTreeMap<_, _>) =
        facts.layouts.clone().into_iter().partition(|(id, _)| facts.specs.contains_key(id));
    plan.writes.extend(unwanted.into_keys().map(Write::RemoveSpace));
    let mut standing = wanted.clone();
    for layout in standing.values_mut() {
        if let Some(healed) = healed(facts, layout, &mut candidates) {
            *layout = healed;
        }
    }
    for space in balance(&mut standing, &mut candidates) {
        // However much changes, it is one version later.
        let version = wanted.get(&space).map_or(1, |l| l.version + 1);
        standing.entry(space).and_modify(|layout| layout.version = version);
    }
    let changed = standing.into_values().filter(|l| wanted.get(&l.space) != Some(l));
    plan.writes.extend(changed.map(Write::Layout));
    for spec in facts.specs.values().filter(|s| !facts.layouts.contains_key(&s.id)) {
        match first_layout(facts, spec, &mut candidates) {
            Some(layout) => plan.writes.push(Write::Layout(layout)),
            None => plan.waiting.push(format!(
                "{} of {} cellapps for space {}",
                candidates.len(),
                facts.cells_awaited.max(1),
                spec.id
            )),
        }
    }
}
