//! The judge: what it remembers from look to look, and what it says.

use super::brake::Latch;
use super::evidence::{OwnView, Scales};
use super::{Brake, Look};
use marchland_common::cluster::MemberState;
use marchland_common::order::{Node, NodeKind, NodeName};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The bounds of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeConfig {
    /// For how long a life must be silent to everybody.
    pub silent_after_ms: u64,
    /// How long the brake holds: the time that a lease lives.
    pub brake_ms: u64,
    /// A longer pause between two looks makes all evidence void: the manager itself was away.
    pub paused_after_ms: u64,
    /// So many attempts in a row must find nobody.
    pub absent_attempts: usize,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self { silent_after_ms: 1_000, brake_ms: 5_000, paused_after_ms: 500, absent_attempts: 3 }
    }
}

/// Why a life is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Nobody is there any more.
    Dead,
    /// Nobody heard of it for too long.
    Silent,
    /// A later life holds its name.
    Replaced,
}

/// One verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The life.
    pub node: Node,
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence, in words.
    pub evidence: String,
}

/// What a look led to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Lives to give up now, by name and life.
    pub verdicts: Vec<Judged>,
    /// Lives that the brake spares.
    pub withheld: Vec<Judged>,
    /// Why verdicts are held back, if they are.
    pub brake: Option<Brake>,
    /// The judge was not shown anything for so long that evidence begins anew.
    pub paused_ms: Option<u64>,
}

impl Judgement {
    /// The verdicts that a tombstone may follow. A baseapp's entities live in its log: until it is
    /// overdue, and others are to take them over, its verdict is a fact for the operator and takes
    /// nothing away.
    pub fn to_bury<'a>(&'a self, overdue: &'a BTreeSet<Node>) -> impl Iterator<Item = &'a Judged> {
        self.verdicts.iter().filter(|judged| {
            let node = judged.node;
            let is_free = node.name.kind == NodeKind::Cell || overdue.contains(&node);
            is_free || judged.verdict == Verdict::Replaced
        })
    }

    /// Lives of baseapps that nobody finds or hears.
    #[must_use]
    pub fn lost_bases(&self) -> BTreeSet<Node> {
        let bases = self.verdicts.iter().filter(|j| j.node.name.kind == NodeKind::Base);
        bases.filter(|j| j.verdict != Verdict::Replaced).map(|j| j.node).collect()
    }
}

/// What is remembered of a life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// When it was first known.
    pub first_ms: u64,
    /// Whether it was giving away what it had when it was last registered.
    pub draining: bool,
    /// Whether it is registered.
    pub registered: bool,
    /// Since when the manager alone would give it up.
    pub lost_ms: Option<u64>,
    /// It has a tombstone, and is remembered only for the brake.
    pub buried: bool,
}

impl Life {
    /// It went as it was asked to: no loss.
    fn left(&self) -> bool {
        self.draining && !self.registered
    }
}

/// Judges lives. See the module.
#[derive(Clone, Debug)]
pub struct Judge {
    config: JudgeConfig,
    /// Every life that was seen and has no tombstone; who has one, for one more lease time. At most
    /// one per name that is not about to get one: a later life replaces it.
    lives: BTreeMap<Node, Life>,
    reporting_since: BTreeMap<Node, u64>,
    looked_ms: Option<u64>,
    since_ms: u64,
    latch: Latch,
}

impl Judge {
    /// A judge that has seen nothing yet.
    #[must_use]
    pub fn new(config: JudgeConfig) -> Self {
        Self {
            config,
            lives: BTreeMap::new(),
            reporting_since: BTreeMap::new(),
            looked_ms: None,
            since_ms: 0,
            latch: Latch::default(),
        }
    }

    /// Looks, and says who is given up.
    pub fn look(&mut self, look: &Look) -> Judgement {
        let mut judgement = Judgement { paused_ms: self.note_pause(look), ..Judgement::default() };
        self.note_lives(look);
        self.note_reporters(look);
        let own = self.own_views(look);
        self.note_losses(look.now_ms, &own);
        let newest = newest_lives(look);
        let later = |node: &Node| newest.get(&node.name).filter(|n| *n > node);
        judgement.brake = self.brake(look, &own, |node| later(node).is_some());
        let scales = self.scales(look);
        for (node, life) in self.lives.iter().filter(|(_, life)| !life.buried) {
            let found = match later(node) {
                Some(later) => Some((Verdict::Replaced, format!("{later} holds its name"))),
                None => scales.weigh(*node, &own[node]),
            };
            let Some((verdict, evidence)) = found else { continue };
            let free = verdict == Verdict::Replaced || life.left() || judgement.brake.is_none();
            let list = if free { &mut judgement.verdicts } else { &mut judgement.withheld };
            list.push(Judged { node: *node, verdict, evidence });
        }
        judgement
    }

    /// Whether there is reason to judge nobody. Who left in order is no loss, who was replaced is
    /// there again, and who has been away for long says nothing about now.
    fn brake(
        &mut self,
        look: &Look,
        own: &BTreeMap<Node, OwnView>,
        is_replaced: impl Fn(&Node) -> bool,
    ) -> Option<Brake> {
        let (config, now_ms) = (&self.config, look.now_ms);
        let lately = |life: &Life| life.lost_ms.is_none_or(|at| at + config.brake_ms > now_ms);
        let members = self.lives.iter().filter(|(node, life)| {
            !life.left() && !is_replaced(node) && (life.registered || lately(life))
        });
        let members: Vec<_> = members.map(|(node, life)| (life, &own[node])).collect();
        self.latch.look(config, now_ms, look.store_answered_ms, &members)
    }

    fn scales<'a>(&'a self, look: &'a Look) -> Scales<'a> {
        let (config, since_ms) = (&self.config, self.since_ms);
        Scales { config, look, since_ms, reporting_since: &self.reporting_since }
    }

    fn note_pause(&mut self, look: &Look) -> Option<u64> {
        let before = self.looked_ms.replace(look.now_ms);
        let pause = before.map(|at| look.now_ms.saturating_sub(at));
        let paused = pause.filter(|ms| *ms > self.config.paused_after_ms);
        if before.is_none() || paused.is_some() {
            self.since_ms = look.now_ms;
            self.lives.values_mut().filter(|l| !l.buried).for_each(|l| l.lost_ms = None);
        }
        paused
    }

    fn note_lives(&mut self, look: &Look) {
        let now_ms = look.now_ms;
        let new = Life {
            first_ms: now_ms,
            draining: false,
            registered: false,
            lost_ms: None,
            buried: false,
        };
        for node in look.known.iter().chain(look.members.iter().map(|m| &m.node)) {
            let judged = matches!(node.name.kind, NodeKind::Cell | NodeKind::Base);
            if judged && !look.dead.contains(&node.incarnation) {
                self.lives.entry(*node).or_insert(new);
            }
        }
        self.lives.values_mut().for_each(|life| life.registered = false);
        for member in &look.members {
            if let Some(life) = self.lives.get_mut(&member.node) {
                life.registered = true;
                life.draining = member.state == MemberState::Draining;
            }
        }
        let brake_ms = self.config.brake_ms;
        self.lives.retain(|node, life| {
            life.buried |= look.dead.contains(&node.incarnation);
            !life.buried || life.lost_ms.is_some_and(|at| at + brake_ms > now_ms)
        });
    }

    fn note_reporters(&mut self, look: &Look) {
        self.reporting_since.retain(|node, _| look.reports.contains_key(node));
        for (node, report) in &look.reports {
            self.reporting_since.entry(*node).or_insert(report.at_ms);
        }
    }

    fn own_views(&self, look: &Look) -> BTreeMap<Node, OwnView> {
        let scales = self.scales(look);
        self.lives.iter().map(|(node, life)| (*node, scales.own_view(*node, life))).collect()
    }

    /// Who was lost stays so until it is heard again; who has a tombstone, for good.
    fn note_losses(&mut self, now_ms: u64, own: &BTreeMap<Node, OwnView>) {
        for (node, life) in self.lives.iter_mut().filter(|(_, life)| !life.buried) {
            let lost = own[node].is_lost(&self.config);
            life.lost_ms = if lost { life.lost_ms.or(Some(now_ms)) } else { None };
        }
    }
}

fn newest_lives(look: &Look) -> BTreeMap<NodeName, Node> {
    let mut newest = BTreeMap::new();
    for member in look.members.iter().filter(|m| !look.dead.contains(&m.node.incarnation)) {
        let known = newest.entry(member.node.name).or_insert(member.node);
        *known = (*known).max(member.node);
    }
    newest
}
