//! Slots on their way between baseapps: who is to give which to whom, when a move is committed, and
//! when it is called off.
//!
//! What keepers report may be old. That hurts nobody: an order and a write name the term of the
//! slot's key that they rest on, and the key gets a new one with every write. While it has that
//! term, a slot that was held stays held by the life that holds it: its keeper says so only while
//! that one is the present life of the next keeper.
//!
//! A slot that is frozen for a move stands still until its key is written again. So a move whose
//! next keeper is not there to take it, or takes too long, is called off, whatever became of that
//! one: it takes nothing from anybody. So is a move whose keeper does not get its entities to stand
//! still.

use crate::{Facts, Plan, SLOTS, Write};
use marchland_common::cluster::{MemberState, MoveStage, SlotMove};
use marchland_common::order::{Incarnation, Node, NodeName, SlotId, Term};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most slots that are on their way at once: a quarter of the entities of two baseapps stand still
/// for a moment, not all of them for as long as all moves take.
pub const MOVES_MAX: usize = 64;

/// Slots that a baseapp is to give away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Give {
    /// Their keeper.
    pub keeper: Node,
    /// The slots, each under its present term.
    pub slots: Vec<(SlotId, Term)>,
    /// Who is to keep them.
    pub to: NodeName,
}

/// Plans what becomes of slots that somebody keeps.
pub(crate) fn plan_moves(facts: &Facts, plan: &mut Plan) {
    let mut moves = Moves::new(facts);
    moves.end(plan);
    moves.drain();
    moves.level();
    plan.gives = moves.gives();
}

/// A slot and its term, with who keeps it.
#[derive(Clone, Copy)]
struct Kept {
    slot: SlotId,
    term: Term,
}

struct Moves<'a> {
    facts: &'a Facts,
    /// The present life of each baseapp that was not given up.
    alive: BTreeMap<NodeName, Node>,
    /// How many slots each serving baseapp keeps once every move is through.
    serving: BTreeMap<NodeName, usize>,
    /// What is under way, with its keeper, as far as it still stands.
    under_way: Vec<(Node, SlotMove)>,
    /// Slots that may be ordered away, by keeper.
    free: BTreeMap<NodeName, Vec<Kept>>,
    ordered: BTreeMap<(Node, NodeName), Vec<(SlotId, Term)>>,
    /// How many more may be ordered.
    room: usize,
}

impl<'a> Moves<'a> {
    fn new(facts: &'a Facts) -> Self {
        let alive = facts.present_bases();
        let serves = |node: &Node| state_of(facts, *node) == Some(MemberState::Serving);
        let serving = alive.values().filter(|node| serves(node)).map(|node| (node.name, 0));
        let serving = serving.collect();
        let under_way = facts.standing_moves(&alive);
        let (free, ordered) = Default::default();
        let mut moves = Self { facts, alive, serving, under_way, free, ordered, room: 0 };
        moves.count();
        moves
    }

    /// Takes in who keeps what, and what of it is on its way.
    fn count(&mut self) {
        let moving: BTreeSet<SlotId> = self.under_way.iter().map(|(_, m)| m.slot).collect();
        let keepers: BTreeMap<SlotId, _> = self.facts.slots.iter().map(|s| (s.slot, *s)).collect();
        for owner in keepers.values() {
            if let Some(count) = self.serving.get_mut(&owner.base) {
                *count += 1;
            }
            if !moving.contains(&owner.slot) {
                let kept = Kept { slot: owner.slot, term: owner.term };
                self.free.entry(owner.base).or_default().push(kept);
            }
        }
        for (keeper, going) in &self.under_way {
            if self.serving.contains_key(&going.to) {
                self.serving.entry(going.to).and_modify(|n| *n += 1);
                self.serving.entry(keeper.name).and_modify(|n| *n -= 1);
            }
        }
        self.room = MOVES_MAX.saturating_sub(self.under_way.len());
    }

    /// Commits what the next keeper holds, and calls off what nobody is there to take, and what
    /// does not come to stand still.
    fn end(&self, plan: &mut Plan) {
        for (keeper, going) in &self.under_way {
            let is_taken = self.takes(&going.to);
            let is_slow = self.facts.slow.keepers.contains(&keeper.name);
            let back = Write::Slot(going.slot, keeper.name);
            match going.stage {
                _ if !is_taken => plan.writes.push(back),
                MoveStage::Closing if is_slow => plan.writes.push(back),
                MoveStage::Held(life) if self.is_present(going.to, life) => {
                    plan.writes.push(Write::Slot(going.slot, going.to));
                }
                MoveStage::Closing | MoveStage::Copying | MoveStage::Held(_) => {}
            }
        }
    }

    /// Whoever leaves gives everything away, while somebody is there to take it.
    fn drain(&mut self) {
        let leaving = self.alive.values().filter(|node| !self.serving.contains_key(&node.name));
        for keeper in leaving.copied().collect::<Vec<_>>() {
            while let Some(to) = self.least().filter(|_| self.can_give(keeper)) {
                self.order(keeper, to);
            }
        }
    }

    /// While everybody is there, who has many gives to who has few: one that was started again, or
    /// for the first time, works like the others.
    fn level(&mut self) {
        let is_whole = self.facts.slots.len() == usize::from(SLOTS);
        if !is_whole || self.facts.slots.iter().any(|s| !self.serving.contains_key(&s.base)) {
            return;
        }
        while let (Some(to), Some(from)) = (self.least(), self.most()) {
            let keeper = self.alive[&from];
            if self.serving[&from] < self.serving[&to] + 2 || !self.can_give(keeper) {
                return;
            }
            self.order(keeper, to);
            self.serving.entry(from).and_modify(|n| *n -= 1);
        }
    }

    /// Whether it may be asked for one more: it has said what is on its way from it, and gets its
    /// entities to stand still.
    fn can_give(&self, keeper: Node) -> bool {
        let has_some = self.free.get(&keeper.name).is_some_and(|free| !free.is_empty());
        let is_slow = self.facts.slow.keepers.contains(&keeper.name);
        self.room > 0 && has_some && !is_slow && self.facts.moves.contains_key(&keeper)
    }

    fn order(&mut self, keeper: Node, to: NodeName) {
        let Some(kept) = self.free.get_mut(&keeper.name).and_then(Vec::pop) else { return };
        self.ordered.entry((keeper, to)).or_default().push((kept.slot, kept.term));
        self.serving.entry(to).and_modify(|n| *n += 1);
        self.room -= 1;
    }

    /// Whether the life that holds a slot is the one that the key would name.
    fn is_present(&self, name: NodeName, life: Incarnation) -> bool {
        self.alive.get(&name).is_some_and(|node| node.incarnation == life)
    }

    /// Whether it may be given something. A life that has said nothing yet may be registered
    /// before it has read its log: slots would stand still until it has.
    fn takes(&self, name: &NodeName) -> bool {
        let has_reported =
            self.alive.get(name).is_some_and(|node| self.facts.moves.contains_key(node));
        has_reported && self.serving.contains_key(name) && !self.facts.slow.takers.contains(name)
    }

    fn least(&self) -> Option<NodeName> {
        let willing = |name: &NodeName| {
            self.alive.get(name).is_some_and(|node| !self.facts.unwilling.contains(node))
        };
        let takers = self.serving.iter().filter(|(name, _)| self.takes(name) && willing(name));
        takers.min_by_key(|(name, n)| (**n, **name)).map(|(name, _)| *name)
    }

    fn most(&self) -> Option<NodeName> {
        self.serving.iter().max_by_key(|(name, n)| (**n, **name)).map(|(name, _)| *name)
    }

    fn gives(self) -> Vec<Give> {
        let give = |((keeper, to), slots)| Give { keeper, slots, to };
        self.ordered.into_iter().map(give).collect()
    }
}

fn state_of(facts: &Facts, node: Node) -> Option<MemberState> {
    facts.members.iter().find(|m| m.node == node).map(|m| m.state)
}
