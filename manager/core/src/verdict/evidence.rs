//! Weighing what is known about one life.

use super::judge::{Life, Verdict};
use super::{JudgeConfig, Look, Report, Sight};
use marchland_common::order::{Node, NodeKind};
use std::collections::BTreeMap;

/// Everything that evidence is weighed against.
pub(super) struct Scales<'a> {
    pub config: &'a JudgeConfig,
    pub look: &'a Look,
    /// Nothing from before counts: the manager was paused, or has only begun.
    pub since_ms: u64,
    /// When each reporter reported first.
    pub reporting_since: &'a BTreeMap<Node, u64>,
}

/// What the manager itself knows about a life.
pub(super) struct OwnView {
    /// For how long it heard nothing.
    pub silent_ms: u64,
    /// How long that may be. Who never answered is given one lease time to begin.
    pub silent_max_ms: u64,
    /// When the attempts in a row failed that found nobody.
    pub refused_ms: Vec<u64>,
}

impl OwnView {
    /// Something is wrong with it, as far as the manager can see.
    pub fn is_suspect(&self) -> bool {
        !self.refused_ms.is_empty() || self.silent_ms >= self.silent_max_ms / 2
    }

    /// The manager alone would give it up.
    pub fn is_lost(&self, config: &JudgeConfig) -> bool {
        self.is_absent(config) || self.is_silent()
    }

    const fn is_silent(&self) -> bool {
        self.silent_ms >= self.silent_max_ms
    }

    fn is_absent(&self, config: &JudgeConfig) -> bool {
        self.refused_ms.len() >= config.absent_attempts
    }
}

impl Scales<'_> {
    pub fn own_view(&self, node: Node, life: &Life) -> OwnView {
        let asked = self.look.asked.get(&node);
        let answered_ms = asked.and_then(|a| a.heard_ms);
        let heard_ms = answered_ms.unwrap_or(0).max(life.first_ms).max(self.since_ms);
        let refused = asked.map(|a| a.refused_ms.as_slice()).unwrap_or_default();
        let silent_after_ms = self.config.silent_after_ms;
        OwnView {
            silent_ms: self.look.now_ms.saturating_sub(heard_ms),
            silent_max_ms: match answered_ms {
                Some(_) => silent_after_ms,
                None => silent_after_ms.max(self.config.brake_ms),
            },
            refused_ms: refused.iter().copied().filter(|at| *at >= self.since_ms).collect(),
        }
    }

    /// What all that is known about a life adds up to, with the evidence in words.
    pub fn weigh(&self, node: Node, own: &OwnView) -> Option<(Verdict, String)> {
        self.is_dead(node, own).or_else(|| self.is_silent(node, own))
    }

    fn is_dead(&self, node: Node, own: &OwnView) -> Option<(Verdict, String)> {
        let first = *own.refused_ms.first().filter(|_| own.is_absent(self.config))?;
        let reports: Vec<_> =
            self.witnesses(node).filter_map(|w| Some((w, self.fresh_report(w)?))).collect();
        let sight = |report: &Report| report.sights.get(&node).copied().unwrap_or_default();
        // What was reported before the first refusal may be older than the death.
        let denied = reports.iter().any(|(_, r)| r.at_ms >= first && sight(r).stands);
        let seconds: Vec<_> = reports.iter().filter(|(_, r)| is_gone(sight(r))).collect();
        if denied || seconds.is_empty() {
            return None;
        }
        let names = names(seconds.iter().map(|(w, _)| *w));
        let times = own.refused_ms.len();
        let text =
            format!("{times} attempts of the manager found nobody there, and so did {names}");
        Some((Verdict::Dead, text))
    }

    fn is_silent(&self, node: Node, own: &OwnView) -> Option<(Verdict, String)> {
        if !own.is_silent() {
            return None;
        }
        let after = self.config.silent_after_ms;
        let witnesses: Vec<Node> = self.witnesses(node).filter(|w| self.is_heard(*w)).collect();
        let all_silent = witnesses.iter().all(|witness| {
            self.fresh_report(*witness).is_some_and(|report| match report.sights.get(&node) {
                Some(sight) => !sight.stands && report.at_ms >= sight.heard_ms + after,
                // It has no links with that life, and has had time enough to get some.
                None => {
                    self.reporting_since.get(witness).is_some_and(|s| report.at_ms >= s + after)
                }
            })
        });
        if witnesses.is_empty() || !all_silent {
            return None;
        }
        let names = names(witnesses.into_iter());
        let text =
            format!("the manager has heard nothing for {} ms, and so have {names}", own.silent_ms);
        Some((Verdict::Silent, text))
    }

    /// Registered lives whose word counts about this one.
    fn witnesses(&self, node: Node) -> impl Iterator<Item = Node> {
        let look = self.look;
        let members = look.members.iter().map(|m| m.node);
        let others = members.filter(move |other| {
            other.name != node.name && !look.dead.contains(&other.incarnation)
        });
        let bases = others.clone().any(|other| other.name.kind == NodeKind::Base);
        // Cellapps alone are no witnesses about a cellapp: its entities are not theirs.
        let kind = match node.name.kind {
            NodeKind::Base if !bases => NodeKind::Cell,
            _ => NodeKind::Base,
        };
        others.filter(move |other| other.name.kind == kind)
    }

    /// Whether the manager heard it lately itself. Who is lost as well is no witness that must
    /// be waited for.
    fn is_heard(&self, node: Node) -> bool {
        let heard = self.look.asked.get(&node).and_then(|a| a.heard_ms);
        heard.is_some_and(|at| self.look.now_ms.saturating_sub(at) < self.config.silent_after_ms)
    }

    fn fresh_report(&self, from: Node) -> Option<&Report> {
        let age_max = self.config.silent_after_ms / 2;
        let fresh = |r: &&Report| {
            r.at_ms >= self.since_ms && self.look.now_ms.saturating_sub(r.at_ms) <= age_max
        };
        self.look.reports.get(&from).filter(fresh)
    }
}

fn is_gone(sight: Sight) -> bool {
    sight.absent && !sight.stands
}

fn names(nodes: impl Iterator<Item = Node>) -> String {
    let mut names: Vec<String> = nodes.map(|n| n.name.to_string()).collect();
    names.sort();
    names.join(", ")
}
