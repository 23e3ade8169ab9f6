//! The manager of a run: it looks around, gives lost lives up, and heals the map.

use crate::faults::Class;
use crate::happening::Happening;
use crate::reach::{MANAGER, STORE};
use crate::run::Run;
use marchland_common::cluster::SlotMove;
use marchland_common::order::{Node, NodeKind};
use marchland_manager_core::verdict::{Asked, Judge, JudgeConfig, Look, Report, Sight};
use marchland_manager_core::{Facts, Patience, Plan, Slow, plan};
use marchland_standin_core::Revision;
use std::collections::{BTreeMap, BTreeSet};

/// Between two looks.
const LOOK_US: u64 = 50_000;
/// Failed attempts that are remembered.
const ATTEMPTS_MAX: usize = 8;

pub(crate) struct Manager {
    away_until: u64,
    was_away: bool,
    judge: Judge,
    asked: BTreeMap<Node, Asked>,
    /// Everybody who was ever registered.
    known: BTreeSet<Node>,
    answered_ms: u64,
    planned: Revision,
    /// What keepers said last of slots on their way, and of whom nothing is asked.
    pub(crate) moves: BTreeMap<Node, Vec<SlotMove>>,
    patience: Patience,
    slow: Slow,
    /// Whether somebody was asked to give something away by the last plan.
    asks: bool,
}

impl Manager {
    pub(crate) fn new() -> Self {
        Self {
            away_until: 0,
            was_away: false,
            judge: Judge::new(JudgeConfig::default()),
            asked: BTreeMap::new(),
            known: BTreeSet::new(),
            answered_ms: 0,
            planned: 0,
            moves: BTreeMap::new(),
            patience: Patience::default(),
            slow: Slow::default(),
            asks: false,
        }
    }

    pub(crate) fn go_away(&mut self, until: u64) {
        self.away_until = self.away_until.max(until);
    }

    pub(crate) fn come_back(&mut self, now: u64) {
        self.away_until = self.away_until.min(now);
    }
}

impl Run {
    pub(crate) fn manage(&mut self) {
        let now = self.agenda.now;
        self.agenda.after(LOOK_US, Happening::Manage);
        if now < self.manager.away_until {
            self.manager.was_away = true;
            return;
        }
        if std::mem::take(&mut self.manager.was_away) {
            // Another leader begins, and so with no evidence.
            self.manager.judge = Judge::new(JudgeConfig::default());
            self.manager.asked.clear();
            self.manager.moves.clear();
            self.manager.patience = Patience::default();
        }
        let reaches_store = !self.store.is_away(now) && self.reach.answers(MANAGER, STORE);
        if reaches_store {
            self.store.expire(now);
            self.manager.answered_ms = now / 1_000;
        }
        let verdicts = self.look_around();
        if !reaches_store {
            return;
        }
        for node in verdicts {
            self.condemn(node);
        }
        let moves_changed = self.hear_of_moves();
        if self.store.revision() != self.manager.planned || moves_changed {
            self.carry_out_plan();
        }
    }

    fn carry_out_plan(&mut self) {
        let now = self.agenda.now;
        let facts = Facts {
            moves: self.manager.moves.clone(),
            slow: self.manager.slow.clone(),
            ..self.store.facts(now)
        };
        let Plan { writes, gives, .. } = plan(&facts);
        let moved = self.store.carry_out_plan(now, &facts, writes);
        if moved > 0 && self.config.has(Class::SlotMoves) {
            *self.faults.entry(Class::SlotMoves).or_default() += moved;
        }
        if self.store.revision() != self.manager.planned {
            self.manager.planned = self.store.revision();
            self.tell_all();
        }
        self.manager.asks = !gives.is_empty();
        self.carry_gives(gives);
    }

    /// What keepers say of slots on their way; who does not answer is taken at its last word. True
    /// while there is something to plan.
    fn hear_of_moves(&mut self) -> bool {
        let now = self.agenda.now;
        let mut moves = std::mem::take(&mut self.manager.moves);
        let before = moves.clone();
        moves.retain(|node, _| self.manager.known.contains(node));
        for process in self.processes.values() {
            let Some(base) = process.base() else { continue };
            if !process.pulse.stands(now) && self.reach.answers(MANAGER, process.node.name) {
                moves.insert(process.node, base.moves.clone());
            }
        }
        let facts = Facts { moves, ..self.store.facts(now) };
        let slow = self.manager.patience.lose(&facts, now / 1_000);
        let moves = facts.moves;
        let is_news = moves != before || slow != self.manager.slow || self.manager.asks;
        (self.manager.moves, self.manager.slow) = (moves, slow);
        is_news
    }

    /// Gives a life up.
    pub(crate) fn condemn(&mut self, node: Node) {
        let now = self.agenda.now;
        self.store.bury(now, node);
        self.verdicts.entry(node).or_insert(now);
        self.tell_all();
    }

    /// What the manager saw in the store last, and what it hears from everybody.
    fn look_around(&mut self) -> Vec<Node> {
        let now = self.agenda.now;
        let facts = self.store.facts(now);
        let members: Vec<Node> = facts.members.iter().map(|m| m.node).collect();
        let owners = facts.layouts.values().flat_map(|l| l.cells()).filter_map(|cell| cell.owner);
        self.manager.known.extend(owners.chain(members.iter().copied()));
        self.manager.known.retain(|node| !facts.dead.contains(&node.incarnation));
        let known = self.manager.known.clone();
        for node in &known {
            self.ask(*node);
        }
        self.manager.asked.retain(|node, _| known.contains(node));
        let reports = self.reports(&known);
        let look = Look {
            now_ms: now / 1_000,
            members: facts.members,
            known,
            dead: facts.dead,
            asked: self.manager.asked.clone(),
            reports,
            store_answered_ms: self.manager.answered_ms,
        };
        let judgement = self.manager.judge.look(&look);
        judgement.to_bury(&BTreeSet::new()).map(|judged| judged.node).collect()
    }

    fn ask(&mut self, node: Node) {
        let now_ms = self.agenda.now / 1_000;
        let is_reached = self.reach.answers(MANAGER, node.name);
        let is_there = self.life(node).is_some();
        let stands = self.stands(node.name);
        let asked = self.manager.asked.entry(node).or_default();
        if !is_reached || stands {
            asked.refused_ms.clear();
        } else if is_there {
            asked.heard_ms = Some(now_ms);
            asked.refused_ms.clear();
        } else {
            asked.refused_ms.push(now_ms);
            let surplus = asked.refused_ms.len().saturating_sub(ATTEMPTS_MAX);
            asked.refused_ms.drain(..surplus);
        }
    }

    /// What everybody whom the manager reaches says of its links.
    fn reports(&self, known: &BTreeSet<Node>) -> BTreeMap<Node, Report> {
        let now = self.agenda.now;
        let mut reports = BTreeMap::new();
        for process in self.processes.values() {
            let name = process.node.name;
            let is_server = matches!(name.kind, NodeKind::Base | NodeKind::Cell);
            if !is_server || process.pulse.stands(now) || !self.reach.answers(MANAGER, name) {
                continue;
            }
            let sight = |of: &Node| {
                let sight = self.net.sight(process.node, *of)?;
                let (heard_ms, stands) = (sight.heard / 1_000, sight.stands);
                Some((*of, Sight { heard_ms, stands, absent: sight.absent >= 3 }))
            };
            let sights = known.iter().filter_map(sight).collect();
            reports.insert(process.node, Report { at_ms: now / 1_000, sights });
        }
        reports
    }
}
