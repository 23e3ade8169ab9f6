//! Slots of lost baseapps, which others take over from their logs.
//!
//! A takeover is a move whose keeper is a log instead of a process: whoever is to keep the slots
//! locks the log, writes down what it says, and reports that as held; the slots' keys are the one
//! commit point. They are written only while the life that is spoken of is the last one that wrote
//! to that log and no later one is there: a later one may have confirmed more than was read. If one
//! is, the keys are written anew for it, and what was read is void.
//!
//! A log is locked by one at a time, so its slots go to one baseapp after the other, to each its
//! share. Whoever refuses is asked again after a while, others meanwhile.

use crate::{Facts, Lost, LostState, Plan, Write};
use marchland_common::cluster::{MemberState, TakeOver, TakeOverStage, TakeOverState};
use marchland_common::order::{Node, NodeName, SlotId, Term};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Slots that a baseapp is to take over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Who is to keep them.
    pub taker: Node,
    /// Whose they were, from where, and which.
    pub order: TakeOver,
}

/// Plans what becomes of slots whose keeper is lost.
pub(crate) fn plan_takes(facts: &Facts, plan: &mut Plan) {
    let mut takes = Takes::new(facts);
    takes.end(plan);
    for name in &facts.overdue {
        if !takes.alive.contains_key(name) && takes.kept.contains_key(name) {
            takes.pass_on(*name, plan);
        }
    }
}

type Terms = Vec<(SlotId, Term)>;

struct Takes<'a> {
    facts: &'a Facts,
    /// The present life of each baseapp that was not given up.
    alive: BTreeMap<NodeName, Node>,
    kept: BTreeMap<NodeName, Terms>,
    /// What present lives say of what they take over.
    said: Vec<(Node, &'a TakeOverState)>,
    /// Who takes something over, or was just asked to.
    busy: BTreeSet<Node>,
}

impl<'a> Takes<'a> {
    fn new(facts: &'a Facts) -> Self {
        let alive = facts.present_bases();
        let mut kept: BTreeMap<NodeName, Terms> = BTreeMap::new();
        let owners: BTreeMap<SlotId, _> = facts.slots.iter().map(|s| (s.slot, *s)).collect();
        for owner in owners.values() {
            kept.entry(owner.base).or_default().push((owner.slot, owner.term));
        }
        let present = facts.takes.iter().filter(|(node, _)| alive.get(&node.name) == Some(node));
        let said =
            present.flat_map(|(node, states)| states.iter().map(move |state| (*node, state)));
        let said: Vec<_> = said.collect();
        let mut takes = Self { facts, alive, kept, said, busy: BTreeSet::new() };
        let working = takes.said.iter().filter(|(_, state)| !takes.standing(state).is_empty());
        takes.busy = working.map(|(node, _)| *node).collect();
        takes
    }

    /// The slots of a takeover that goes on whose keys are still as they were.
    fn standing(&self, state: &TakeOverState) -> Terms {
        if matches!(state.stage, TakeOverStage::Refused(_)) {
            return Terms::new();
        }
        let kept = self.kept.get(&state.from.name);
        let stands = |slot: &&(SlotId, Term)| kept.is_some_and(|kept| kept.contains(slot));
        state.slots.iter().filter(stands).copied().collect()
    }

    /// Commits what is held, and calls off what speaks of a life that is not the last one.
    fn end(&self, plan: &mut Plan) {
        let mut named = BTreeSet::new();
        for (taker, state) in &self.said {
            let from = state.from;
            let is_committed = state.stage == TakeOverStage::Held && self.is_over(from);
            for (slot, _) in self.standing(state) {
                if is_committed && named.insert(slot) {
                    plan.writes.push(Write::TakeOver { slot, from, to: *taker });
                } else if self.is_outlived(from) && named.insert(slot) {
                    plan.writes.push(Write::Slot(slot, from.name));
                }
            }
        }
    }

    /// Whether a life is over and none came after it.
    fn is_over(&self, life: Node) -> bool {
        let is_last = self.facts.logs.get(&life.name).is_some_and(|l| l.life == life.incarnation);
        let is_dead = self.facts.dead.contains(&life.incarnation);
        is_dead && is_last && !self.alive.contains_key(&life.name)
    }

    /// Whether a later life of its name is there, or wrote to its log.
    fn is_outlived(&self, life: Node) -> bool {
        let wrote = self.facts.logs.get(&life.name).map(|log| log.life);
        let present = self.alive.get(&life.name).map(|node| node.incarnation);
        wrote.into_iter().chain(present).any(|later| later > life.incarnation)
    }

    /// Has somebody take over what a lost baseapp keeps.
    fn pass_on(&mut self, name: NodeName, plan: &mut Plan) {
        let Some(slots) = self.kept.get(&name).cloned() else { return };
        let (log, state) = match self.facts.logs.get(&name) {
            None => (None, LostState::NoLog),
            Some(log) if log.folder.is_empty() => (Some(log), LostState::NoLog),
            Some(log) if !self.facts.dead.contains(&log.life) => (Some(log), LostState::NotDead),
            Some(log) => {
                let from = Node { name, incarnation: log.life };
                (Some(log), self.take_over(from, &log.folder, &slots, plan))
            }
        };
        let (life, folder) = (log.map(|log| log.life), log.map(|log| log.folder.clone()));
        plan.lost.push(Lost { name, life, folder, slots: slots.len(), state });
    }

    fn take_over(&mut self, from: Node, log: &str, slots: &Terms, plan: &mut Plan) -> LostState {
        let goes_on = |(_, state): &&(Node, &TakeOverState)| {
            state.from == from && !self.standing(state).is_empty()
        };
        if let Some((taker, _)) = self.said.iter().find(goes_on) {
            return LostState::Taken(*taker);
        }
        let Some((taker, share)) = self.share(from, slots) else { return self.waits(from) };
        let order = TakeOver { from, log: log.to_owned(), slots: share };
        self.busy.insert(taker);
        plan.takes.push(Take { taker, order });
        match self.waits(from) {
            LostState::NoTaker => LostState::Asked(taker),
            refused => refused,
        }
    }

    /// Whoever is asked next, with what it would get if all who can shared evenly.
    fn share(&self, from: Node, slots: &Terms) -> Option<(Node, Terms)> {
        let count = |node: &Node| self.kept.get(&node.name).map_or(0, Vec::len);
        let able = self.alive.values().filter(|node| self.may_take(**node, from));
        let mut shares: BTreeMap<Node, (usize, Terms)> =
            able.map(|node| (*node, (count(node), Terms::new()))).collect();
        let first = shares.iter().min_by_key(|(node, (n, _))| (*n, **node)).map(|(node, _)| *node);
        for slot in slots {
            let least = shares.iter_mut().min_by_key(|(node, (n, _))| (*n, **node));
            if let Some((_, (n, share))) = least {
                *n += 1;
                share.push(*slot);
            }
        }
        let first = first?;
        shares.remove(&first).map(|(_, share)| (first, share))
    }

    fn may_take(&self, node: Node, from: Node) -> bool {
        let serves = |m: &marchland_common::cluster::Member| {
            m.node == node && m.state == MemberState::Serving
        };
        let facts = self.facts;
        let is_willing = facts.moves.contains_key(&node) && !facts.unwilling.contains(&node);
        let is_slow = facts.slow.takers.contains(&node.name);
        let refused = facts.slow.refused.contains(&(node, from));
        facts.members.iter().any(serves)
            && is_willing
            && !is_slow
            && !refused
            && !self.busy.contains(&node)
    }

    /// Why nobody takes it over.
    fn waits(&self, from: Node) -> LostState {
        let refusal = |(node, state): &(Node, &TakeOverState)| match &state.stage {
            _ if state.from != from => None,
            TakeOverStage::Refused(why) => Some((*node, why.clone())),
            TakeOverStage::Held if state.slots.is_empty() => {
                Some((*node, "its log holds none of them".to_owned()))
            }
            TakeOverStage::Held | TakeOverStage::Reading => None,
        };
        let refused: Vec<(Node, String)> = self.said.iter().filter_map(refusal).collect();
        if refused.is_empty() { LostState::NoTaker } else { LostState::Refused(refused) }
    }
}
