//! A cluster of baseapps as a manager sees it: keys with terms, lives, and keepers that carry out
//! what they are asked as the ones in the cluster do.

use marchland_common::cluster::{Member, MemberState, MoveStage, SlotMove, SlotOwner};
use marchland_common::order::{Incarnation, Node, NodeKind, NodeName, SlotId, Term};
use marchland_manager_core::{Facts, Give, Plan, SLOTS, Write, plan};
use std::collections::{BTreeMap, BTreeSet};

/// The store, and what each keeper has under way.
#[derive(Clone)]
pub struct Stage {
    pub facts: Facts,
    /// By name: it is in a keeper's log.
    moves: BTreeMap<NodeName, BTreeMap<SlotId, SlotMove>>,
    revision: u64,
}

pub fn base(number: u16) -> NodeName {
    Node::new(NodeKind::Base, number, 0).name
}

impl Stage {
    /// So many baseapps that share all slots.
    pub fn new(bases: u16) -> Self {
        let facts = Facts { bases_awaited: usize::from(bases), ..Facts::default() };
        let mut stage = Self { facts, moves: BTreeMap::new(), revision: 100 };
        (1..=bases).for_each(|number| stage.start(number));
        let first = stage.plan();
        stage.write(&first, &stage.facts.clone());
        stage.report();
        assert_eq!(stage.plan(), Plan::default());
        stage
    }

    /// Another life, which serves. It has said nothing yet.
    pub fn start(&mut self, number: u16) {
        self.revision += 1;
        self.end(number);
        let node = Node::new(NodeKind::Base, number, self.revision);
        self.facts.members.push(Member { node, state: MemberState::Serving });
    }

    /// Its registration is gone; nobody says that it is dead.
    pub fn end(&mut self, number: u16) {
        self.facts.members.retain(|m| m.node.name != base(number));
        let reports = &mut self.facts.moves;
        reports.retain(|node, _| node.name != base(number));
    }

    /// It is given up, and still registered.
    pub fn condemn(&mut self, number: u16) {
        self.facts.dead.extend(self.life(number).map(|node| node.incarnation));
    }

    pub fn drain(&mut self, number: u16) {
        let members = self.facts.members.iter_mut().filter(|m| m.node.name == base(number));
        members.for_each(|m| m.state = MemberState::Draining);
    }

    pub fn life(&self, number: u16) -> Option<Node> {
        self.facts.members.iter().map(|m| m.node).find(|n| n.name == base(number))
    }

    pub fn is_serving(&self, name: NodeName) -> bool {
        let dead = &self.facts.dead;
        let serves = |m: &Member| {
            m.node.name == name
                && m.state == MemberState::Serving
                && !dead.contains(&m.node.incarnation)
        };
        self.facts.members.iter().any(serves)
    }

    /// Whether its present life has said what is under way from it.
    pub fn has_reported(&self, name: NodeName) -> bool {
        self.life(name.number).is_some_and(|life| self.facts.moves.contains_key(&life))
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

    /// Every living keeper says what is under way from it.
    pub fn report(&mut self) {
        let alive: Vec<Node> = self.facts.members.iter().map(|m| m.node).collect();
        for node in alive {
            self.report_of(node);
        }
    }

    pub fn report_of(&mut self, node: Node) {
        let moves = self.moves.get(&node.name).cloned().unwrap_or_default();
        self.facts.moves.insert(node, moves.into_values().collect());
    }

    /// Each write lands if its slot's key is as `seen` says: the store's guard.
    pub fn write(&mut self, plan: &Plan, seen: &Facts) {
        for write in &plan.writes {
            let Write::Slot(slot, to) = *write else { panic!("{write:?}") };
            let before = seen.slots.iter().find(|s| s.slot == slot).copied();
            if self.owner(slot) != before {
                continue;
            }
            if let Some(before) = before.filter(|b| b.base != to) {
                let going = self.moves[&before.base][&slot];
                assert_eq!((going.term, going.to), (before.term, to), "a move of that term");
                let held = matches!(going.stage, MoveStage::Held(_));
                assert!(held, "only what is held changes hands: {going:?}");
            }
            self.revision += 1;
            let owner = SlotOwner { slot, base: to, term: Term(self.revision) };
            self.facts.slots.retain(|s| s.slot != slot);
            self.facts.slots.push(owner);
        }
        self.follow();
    }

    /// Keepers end moves whose term is over.
    fn follow(&mut self) {
        let terms: BTreeMap<SlotId, Term> =
            self.facts.slots.iter().map(|s| (s.slot, s.term)).collect();
        for moves in self.moves.values_mut() {
            moves.retain(|slot, going| terms[slot] == going.term);
        }
    }

    /// Orders reach whoever lives; one that does not stand is left alone.
    pub fn give(&mut self, gives: &[Give]) {
        for give in gives {
            if self.life(give.keeper.name.number) != Some(give.keeper) {
                continue;
            }
            for (slot, term) in give.slots.iter().copied() {
                let owner = self.owner(slot).unwrap();
                let moves = self.moves.entry(give.keeper.name).or_default();
                if (owner.base, owner.term) == (give.keeper.name, term) {
                    let (to, stage) = (give.to, MoveStage::Closing);
                    moves.entry(slot).or_insert(SlotMove { slot, term, to, stage });
                }
            }
        }
    }

    /// Moves of living keepers get one stage further; to be held, the next keeper must be there.
    pub fn advance(&mut self, mut may: impl FnMut(SlotId) -> bool) {
        let members = self.facts.members.iter();
        let there: BTreeMap<NodeName, Incarnation> =
            members.map(|m| (m.node.name, m.node.incarnation)).collect();
        let living = self.moves.iter_mut().filter(|(keeper, _)| there.contains_key(keeper));
        for going in living.flat_map(|(_, moves)| moves.values_mut()) {
            going.stage = match going.stage {
                stage if !may(going.slot) => stage,
                MoveStage::Closing => MoveStage::Copying,
                MoveStage::Copying | MoveStage::Held(_) => {
                    there.get(&going.to).map_or(MoveStage::Copying, |life| MoveStage::Held(*life))
                }
            };
        }
    }

    pub fn under_way(&self) -> usize {
        self.moves.values().map(BTreeMap::len).sum()
    }

    /// One round in which everything is heard at once.
    pub fn round(&mut self) -> Plan {
        self.report();
        let (seen, plan) = (self.facts.clone(), self.plan());
        self.write(&plan, &seen);
        self.give(&plan.gives);
        self.advance(|_| true);
        plan
    }

    /// Rounds until there is nothing to do.
    pub fn settle(&mut self) {
        for _ in 0..40 {
            if self.round() == Plan::default() && self.under_way() == 0 {
                return;
            }
        }
        panic!("it does not settle: {} under way", self.under_way());
    }

    pub fn lives(&self) -> BTreeSet<Incarnation> {
        self.facts.members.iter().map(|m| m.node.incarnation).collect()
    }
}

/// How many slots all in all.
pub const ALL: usize = SLOTS as usize;
