//! A cluster in which things go wrong at known times, and what a manager that asks everybody every
//! 100 ms would show its judge.

use marchland_common::cluster::{Member, MemberState};
use marchland_common::order::{Incarnation, Node, NodeKind};
use marchland_manager_core::verdict::{Asked, Judge, JudgeConfig, Judgement, Look, Report, Sight};
use std::collections::{BTreeMap, BTreeSet};

/// Keep-alives end a stream after so long.
const STREAM_ENDS_MS: u64 = 700;
/// Between two questions to a process that is well, and between two to one that refused.
const ASK_EVERY_MS: u64 = 100;
const ASK_AGAIN_MS: u64 = 30;
pub const LOOK_EVERY_MS: u64 = 50;

pub fn cell(number: u16) -> Node {
    Node::new(NodeKind::Cell, number, 10 + u64::from(number))
}

pub fn base(number: u16) -> Node {
    Node::new(NodeKind::Base, number, 20 + u64::from(number))
}

/// What happened to one life, as times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    pub killed: Option<u64>,
    /// Stopped from, and resumed at.
    pub stopped: Option<(u64, u64)>,
}

impl Fate {
    fn is_dead(&self, at: u64) -> bool {
        self.killed.is_some_and(|k| at >= k)
    }

    fn is_up(&self, at: u64) -> bool {
        !self.is_dead(at) && self.stopped.is_none_or(|(from, to)| at < from || at >= to)
    }
}

/// Who is cut off from whom; the manager is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub a: Option<Node>,
    pub b: Option<Node>,
    pub from: u64,
    pub to: u64,
}

#[derive(Clone)]
pub struct Stage {
    pub fates: BTreeMap<Node, Fate>,
    pub cuts: Vec<Cut>,
    /// The store is away from, to.
    pub store_away: Option<(u64, u64)>,
    /// Lives whose keys are gone, since when.
    pub unregistered: BTreeMap<Node, u64>,
    pub draining: BTreeSet<Node>,
    pub dead: BTreeSet<Incarnation>,
    pub judge: Judge,
}

impl Stage {
    pub fn new(cells: u16, bases: u16) -> Self {
        let lives = (1..=cells).map(cell).chain((1..=bases).map(base));
        Self {
            fates: lives.map(|n| (n, Fate::default())).collect(),
            cuts: Vec::new(),
            store_away: None,
            unregistered: BTreeMap::new(),
            draining: BTreeSet::new(),
            dead: BTreeSet::new(),
            judge: Judge::new(JudgeConfig::default()),
        }
    }

    pub fn kill(mut self, node: Node, at: u64) -> Self {
        self.fates.entry(node).or_default().killed = Some(at);
        self
    }

    pub fn stop(mut self, node: Node, from: u64, to: u64) -> Self {
        self.fates.entry(node).or_default().stopped = Some((from, to));
        self
    }

    pub fn cut(mut self, a: Option<Node>, b: Option<Node>, from: u64, to: u64) -> Self {
        self.cuts.push(Cut { a, b, from, to });
        self
    }

    fn fate(&self, node: Option<Node>) -> Fate {
        node.and_then(|n| self.fates.get(&n)).copied().unwrap_or_default()
    }

    fn is_cut(&self, a: Option<Node>, b: Option<Node>, at: u64) -> bool {
        let names = |c: &Cut| (c.a, c.b) == (a, b) || (c.b, c.a) == (a, b);
        self.cuts.iter().any(|c| names(c) && at >= c.from && at < c.to)
    }

    /// When `who` last heard `of`, at a time: the last moment at which both were up and the way
    /// between them was open.
    pub fn heard(&self, who: Option<Node>, of: Node, at: u64) -> Option<u64> {
        let open = |t: u64| {
            self.fate(who).is_up(t)
                && self.fate(Some(of)).is_up(t)
                && !self.is_cut(who, Some(of), t)
        };
        (0..=at).rev().step_by(10).find(|t| open(*t))
    }

    fn asked(&self, of: Node, at: u64) -> Asked {
        let heard_ms = self.heard(None, of, at - at % ASK_EVERY_MS);
        let mut asked = Asked { heard_ms, refused_ms: Vec::new() };
        let Some(killed) = self.fate(Some(of)).killed else { return asked };
        let mut ask = killed.next_multiple_of(ASK_EVERY_MS);
        while ask <= at {
            if self.is_cut(None, Some(of), ask) {
                asked.refused_ms.clear();
            } else {
                asked.refused_ms.push(ask);
            }
            ask += ASK_AGAIN_MS;
        }
        let old = asked.refused_ms.len().saturating_sub(4);
        asked.refused_ms.drain(..old);
        asked
    }

    fn report(&self, by: Node, at: u64) -> Option<Report> {
        let at_ms = self.heard(None, by, at - at % ASK_EVERY_MS)?;
        let sights = self.fates.keys().filter(|of| **of != by && self.is_known(**of)).map(|of| {
            let heard_ms = self.heard(Some(by), *of, at_ms).unwrap_or(0);
            let reachable = !self.is_cut(Some(by), Some(*of), at_ms);
            let dead = self.fate(Some(*of)).is_dead(at_ms) && reachable;
            let absent = dead && self.fate(Some(*of)).is_dead(at_ms.saturating_sub(90));
            let stands = !dead && at_ms - heard_ms < STREAM_ENDS_MS;
            (*of, Sight { heard_ms, stands, absent })
        });
        Some(Report { at_ms, sights: sights.collect() })
    }

    fn is_known(&self, node: Node) -> bool {
        !self.dead.contains(&node.incarnation)
    }

    pub fn look_at(&self, now_ms: u64) -> Look {
        let registered = |n: &Node| self.unregistered.get(n).is_none_or(|at| now_ms < *at);
        let state = |n: &Node| match self.draining.contains(n) {
            true => MemberState::Draining,
            false => MemberState::Serving,
        };
        let lives = || self.fates.keys().copied().filter(|n| self.is_known(*n));
        Look {
            now_ms,
            members: lives()
                .filter(registered)
                .map(|node| Member { node, state: state(&node) })
                .collect(),
            known: BTreeSet::new(),
            dead: self.dead.clone(),
            asked: lives().map(|n| (n, self.asked(n, now_ms))).collect(),
            reports: lives().filter_map(|n| Some((n, self.report(n, now_ms)?))).collect(),
            store_answered_ms: match self.store_away {
                Some((from, to)) if now_ms >= from && now_ms < to => from,
                _ => now_ms,
            },
        }
    }

    /// Looks once, and carries out what may be carried out.
    pub fn look(&mut self, now_ms: u64) -> Judgement {
        let look = self.look_at(now_ms);
        let judgement = self.judge.look(&look);
        self.dead.extend(judgement.to_bury(&BTreeSet::new()).map(|j| j.node.incarnation));
        judgement
    }

    /// Looks again and again; what was said when, about whom.
    pub fn run(&mut self, from: u64, to: u64) -> Vec<(u64, Judgement)> {
        let moments = (from..to).step_by(LOOK_EVERY_MS as usize);
        moments.map(|now| (now, self.look(now))).collect()
    }
}

/// When a life was first given up, and how.
pub fn first_verdict(
    story: &[(u64, Judgement)],
    node: Node,
) -> Option<(u64, marchland_manager_core::verdict::Verdict)> {
    story.iter().find_map(|(at, judgement)| {
        judgement.verdicts.iter().find(|j| j.node == node).map(|j| (*at, j.verdict))
    })
}
