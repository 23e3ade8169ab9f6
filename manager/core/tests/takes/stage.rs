//! A cluster of baseapps with their logs, as a manager sees it and as it is: lives that begin, write
//! to their logs and end, and takers that lock a log, read it, and hold what it says.

use marchland_common::cluster::{Member, MemberState, SlotOwner, TakeOverStage, TakeOverState};
use marchland_common::order::{Node, NodeKind, NodeName, SlotId, Term};
use marchland_manager_core::{Facts, Give, LogPlace, Plan, SLOTS, Take, Write, plan};
use std::collections::{BTreeMap, BTreeSet};

/// What a taker has of somebody's log.
#[derive(Clone)]
struct Hold {
    state: TakeOverState,
    /// How much was in the log when it was read.
    read: u64,
}

#[derive(Clone)]
pub struct Stage {
    pub facts: Facts,
    /// Those who cannot reach anybody else's log.
    pub blind: BTreeSet<NodeName>,
    holds: BTreeMap<Node, Vec<Hold>>,
    /// How much each log holds.
    written: BTreeMap<NodeName, u64>,
    revision: u64,
}

pub fn base(number: u16) -> NodeName {
    Node::new(NodeKind::Base, number, 0).name
}

impl Stage {
    /// So many baseapps that share all slots.
    pub fn new(bases: u16) -> Self {
        let facts = Facts { bases_awaited: usize::from(bases), ..Facts::default() };
        let (blind, holds, written) = Default::default();
        let mut stage = Self { facts, blind, holds, written, revision: 100 };
        for number in 1..=bases {
            stage.start(number);
            assert!(stage.begin(number));
        }
        let first = stage.plan();
        stage.carry_out(&first, &stage.facts.clone());
        stage.report();
        assert_eq!(stage.plan(), Plan::default());
        stage
    }

    /// The next life registers. It did not begin with its log yet.
    pub fn start(&mut self, number: u16) {
        self.end(number);
        self.revision += 1;
        let node = Node::new(NodeKind::Base, number, self.revision);
        self.facts.members.push(Member { node, state: MemberState::Serving });
    }

    /// Its present life begins with its log, unless somebody has that locked. It says so first.
    pub fn begin(&mut self, number: u16) -> bool {
        let Some(life) = self.life(number).filter(|_| !self.is_read_by_others(base(number))) else {
            return false;
        };
        let folder = format!("/logs/{}", life.name);
        self.facts.logs.insert(life.name, LogPlace { life: life.incarnation, folder });
        self.facts.overdue.remove(&life.name);
        true
    }

    /// Its present life writes, if it has begun.
    pub fn write(&mut self, number: u16) {
        if self.has_begun(base(number)) {
            *self.written.entry(base(number)).or_default() += 1;
        }
    }

    /// It is gone; nobody says that it is dead.
    pub fn end(&mut self, number: u16) {
        self.facts.members.retain(|m| m.node.name != base(number));
        self.facts.moves.retain(|node, _| node.name != base(number));
        self.facts.takes.retain(|node, _| node.name != base(number));
        self.holds.retain(|node, _| node.name != base(number));
    }

    /// It has been away for too long, and its last life is given up.
    pub fn wait_for(&mut self, number: u16) {
        if self.life(number).is_none() {
            self.facts.overdue.insert(base(number));
            let log = self.facts.logs.get(&base(number));
            self.facts.dead.extend(log.map(|log| log.life));
        }
    }

    /// It was killed, and nobody started it again.
    pub fn lose(&mut self, number: u16) {
        self.end(number);
        self.wait_for(number);
    }

    pub fn drain(&mut self, number: u16) {
        let members = self.facts.members.iter_mut().filter(|m| m.node.name == base(number));
        members.for_each(|m| m.state = MemberState::Draining);
    }

    pub fn life(&self, number: u16) -> Option<Node> {
        self.facts.members.iter().map(|m| m.node).find(|n| n.name == base(number))
    }

    fn is_registered(&self, node: Node) -> bool {
        self.facts.members.iter().any(|m| m.node == node)
    }

    /// Whether its present life writes to its log.
    fn has_begun(&self, name: NodeName) -> bool {
        let log = self.facts.logs.get(&name).map(|log| log.life);
        self.life(name.number).is_some_and(|node| Some(node.incarnation) == log)
    }

    fn is_read_by_others(&self, name: NodeName) -> bool {
        let all = self.holds.values().flatten();
        let of = all.filter(|hold| hold.state.from.name == name);
        of.into_iter().any(|hold| !matches!(hold.state.stage, TakeOverStage::Refused(_)))
    }

    pub fn plan(&self) -> Plan {
        plan(&self.facts)
    }

    pub fn kept(&self, number: u16) -> usize {
        self.facts.slots.iter().filter(|s| s.base == base(number)).count()
    }

    pub fn owner(&self, slot: SlotId) -> Option<SlotOwner> {
        self.facts.slots.iter().find(|s| s.slot == slot).copied()
    }

    /// Everybody who has begun says what it takes over.
    pub fn report(&mut self) {
        let alive: Vec<Node> = self.facts.members.iter().map(|m| m.node).collect();
        alive.into_iter().for_each(|node| self.report_of(node));
    }

    pub fn report_of(&mut self, node: Node) {
        if self.has_begun(node.name) {
            let holds = self.holds.get(&node).cloned().unwrap_or_default();
            self.facts.moves.insert(node, Vec::new());
            self.facts.takes.insert(node, holds.into_iter().map(|hold| hold.state).collect());
        }
    }

    /// Orders reach whoever is there.
    pub fn order(&mut self, takes: &[Take]) {
        for Take { taker, order } in takes {
            if !self.is_registered(*taker) {
                continue;
            }
            let from = order.from;
            let goes_on = |hold: &Hold| {
                hold.state.from == from && !matches!(hold.state.stage, TakeOverStage::Refused(_))
            };
            if self.holds.get(taker).is_some_and(|holds| holds.iter().any(goes_on)) {
                continue;
            }
            let locked = self.has_begun(from.name) || self.is_read_by_others(from.name);
            let stage = match () {
                () if self.blind.contains(&taker.name) => refused("there is no such folder"),
                () if locked => refused("it lives"),
                () => TakeOverStage::Reading,
            };
            let state = TakeOverState { from, stage, slots: order.slots.clone() };
            let read = self.written.get(&from.name).copied().unwrap_or_default();
            let holds = self.holds.entry(*taker).or_default();
            holds.retain(|hold| hold.state.from.name != from.name);
            holds.push(Hold { state, read });
        }
    }

    /// Whoever reads has read.
    pub fn advance(&mut self) {
        for hold in self.holds.values_mut().flatten() {
            if hold.state.stage == TakeOverStage::Reading {
                hold.state.stage = TakeOverStage::Held;
            }
        }
    }

    /// Carries out a plan that was made by what was seen, as the store's guards let it.
    pub fn carry_out(&mut self, plan: &Plan, seen: &Facts) {
        for write in &plan.writes {
            match *write {
                Write::Slot(slot, to) => self.put(slot, to, seen),
                Write::TakeOver { slot, from, to } => self.commit(slot, (from, to), seen),
                ref other => panic!("{other:?}"),
            }
        }
        plan.gives.iter().for_each(|give| self.give(give, seen));
        self.follow();
    }

    fn put(&mut self, slot: SlotId, to: NodeName, seen: &Facts) {
        let before = seen.slots.iter().find(|s| s.slot == slot).copied();
        if self.owner(slot) == before {
            self.revision += 1;
            let owner = SlotOwner { slot, base: to, term: Term(self.revision) };
            self.facts.slots.retain(|s| s.slot != slot);
            self.facts.slots.push(owner);
        }
    }

    /// Fails where what the taker read is not all that the log holds.
    fn commit(&mut self, slot: SlotId, (from, to): (Node, Node), seen: &Facts) {
        let was_there = self.life(from.name.number).is_some();
        let wrote = self.facts.logs.get(&from.name) == seen.logs.get(&from.name);
        let before = seen.slots.iter().find(|s| s.slot == slot).copied();
        if was_there || !wrote || !self.is_registered(to) || self.owner(slot) != before {
            return;
        }
        let term = before.unwrap().term;
        let holds = self.holds.get(&to).into_iter().flatten();
        let hold = holds.filter(|hold| hold.state.stage == TakeOverStage::Held);
        let hold = hold.into_iter().find(|hold| hold.state.slots.contains(&(slot, term)));
        let hold = hold.expect("only what is held changes hands");
        assert_eq!(hold.state.from, from);
        let written = self.written.get(&from.name).copied().unwrap_or_default();
        assert_eq!(hold.read, written, "somebody wrote to the log after it was read");
        self.put(slot, to.name, seen);
    }

    /// Moves by those who live are not what this is about: they are through at once.
    fn give(&mut self, give: &Give, seen: &Facts) {
        for (slot, _) in &give.slots {
            if self.is_registered(give.keeper) && self.has_begun(give.keeper.name) {
                self.put(*slot, give.to, seen);
            }
        }
    }

    /// Takers end what the keys have settled.
    fn follow(&mut self) {
        let terms: BTreeSet<(SlotId, Term)> =
            self.facts.slots.iter().map(|s| (s.slot, s.term)).collect();
        for holds in self.holds.values_mut() {
            holds.retain_mut(|hold| {
                hold.state.slots.retain(|slot| terms.contains(slot));
                !hold.state.slots.is_empty()
            });
        }
    }

    /// One round in which everything is heard at once.
    pub fn round(&mut self) -> Plan {
        self.report();
        let (seen, plan) = (self.facts.clone(), self.plan());
        self.carry_out(&plan, &seen);
        self.order(&plan.takes);
        self.advance();
        plan
    }

    /// Rounds until there is nothing to do.
    pub fn settle(&mut self) {
        for _ in 0..60 {
            let plan = self.round();
            if plan.writes.is_empty() && plan.takes.is_empty() && plan.gives.is_empty() {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.plan());
    }
}

fn refused(why: &str) -> TakeOverStage {
    TakeOverStage::Refused(why.to_owned())
}

/// How many slots all in all.
pub const ALL: usize = SLOTS as usize;
