//! What an audit cannot see, and why its verdict is then none.

use super::options::AuditOptions;
use super::pass::Cx;
use super::rules::{self, Subjects};
use super::verdict::Findings;
use crate::journals::{Journals, Process};
use crate::merge::Oddity;
use marchland_common::journal::TickRecord;
use marchland_common::order::{Node, NodeKind, NodeName, Tick};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Which journals are there and whole.
#[derive(Debug, Default)]
pub struct Sight {
    whole: FxHashMap<Node, bool>,
    /// The same, by process.
    whole_procs: Vec<bool>,
    /// Lives that took part without a journal; true if somebody heard them.
    absent: BTreeMap<Node, bool>,
    servers_are_whole: bool,
    /// Bases by name: whether the journals of all their lives are whole, and whether all ended in
    /// order.
    bases: BTreeMap<NodeName, (bool, bool)>,
}

const fn is_server(node: &Node) -> bool {
    matches!(node.name.kind, NodeKind::Cell | NodeKind::Base)
}

impl Sight {
    /// What the journals say of themselves.
    pub fn of(journals: &Journals) -> Self {
        // A base goes on from the log of its earlier lives: what they did is a part of it.
        let is_part = |life: Node, of: Node| {
            life == of || life.name == of.name && life < of && of.name.kind == NodeKind::Base
        };
        let sees = |node: Node| {
            let mut parts = journals.processes().iter().filter(|p| is_part(p.node(), node));
            parts.all(Process::is_whole)
        };
        let nodes = journals.processes().iter().map(Process::node);
        let whole_procs: Vec<bool> = nodes.clone().map(sees).collect();
        let whole = nodes.zip(whole_procs.iter().copied()).collect();
        let mut servers = journals.processes().iter().filter(|p| is_server(&p.node()));
        let servers_are_whole = servers.all(Process::is_whole);
        let mut bases: BTreeMap<NodeName, (bool, bool)> = BTreeMap::new();
        for process in journals.processes().iter().filter(|p| p.kind() == NodeKind::Base) {
            let base = bases.entry(process.node().name).or_insert((true, true));
            base.0 &= process.is_whole();
            base.1 &= process.end().is_some();
        }
        Self { whole, whole_procs, absent: BTreeMap::new(), servers_are_whole, bases }
    }

    /// Notes whom a record speaks with.
    pub fn note(&mut self, moment: &TickRecord) {
        let heard = moment.received.iter().map(|bundle| (bundle.peer, true));
        let told = moment.sent.iter().map(|bundle| (bundle.peer, false));
        for (peer, is_heard) in heard.chain(told) {
            if !self.whole.contains_key(&peer) {
                *self.absent.entry(peer).or_default() |= is_heard;
            }
        }
    }

    /// Whether everything that this life did is known, and what it goes on from.
    pub fn sees(&self, node: Node) -> bool {
        self.whole.get(&node).copied().unwrap_or(false)
    }

    /// The same, by process.
    pub fn sees_proc(&self, proc: u32) -> bool {
        self.whole_procs.get(proc as usize).copied().unwrap_or(false)
    }

    /// Whether everything that all cellapps and baseapps did is known.
    pub fn sees_servers(&self) -> bool {
        self.servers_are_whole && !self.absent.keys().any(is_server)
    }

    /// Whether everything that all lives of a base did is known, as far as one can tell by now.
    pub fn sees_log(&self, base: NodeName) -> bool {
        let is_whole = self.bases.get(&base).is_some_and(|(whole, _)| *whole);
        is_whole && !self.absent.keys().any(|node| node.name == base)
    }

    /// Whether all lives of a base that left journals ended in order.
    pub fn ended(&self, base: NodeName) -> bool {
        self.bases.get(&base).is_some_and(|(_, ended)| *ended)
    }

    /// Whether everything that all lives of a kind did is known, as far as one can tell by now.
    pub fn sees_all(&self, kind: NodeKind) -> bool {
        let of_kind = |node: &Node| node.name.kind == kind;
        let mut known = self.whole.iter().filter(|(node, _)| of_kind(node)).peekable();
        known.peek().is_some() && known.all(|(_, whole)| *whole) && !self.absent.keys().any(of_kind)
    }
}

/// What was not checked.
pub struct Gaps {
    /// Everything that keeps the verdict from being complete, for people.
    pub incomplete: Vec<String>,
    /// What the journals prove to have had nothing to check, by name, and why.
    pub not_applicable: BTreeMap<String, String>,
}

/// What was not checked, and whether that matters. Journals that are not all there prove nothing.
pub fn gaps(
    journals: &Journals,
    cx: &Cx<'_>,
    subjects: &Subjects,
    counts: &[(&str, &Findings)],
) -> Gaps {
    let mut incomplete = unseen(journals, cx);
    let is_whole = incomplete.is_empty();
    let mut not_applicable = BTreeMap::new();
    let excused = &cx.options.out_of_scope;
    for name in excused {
        if !rules::TABLE.iter().any(|rule| rule.invariant.name == name) {
            incomplete.push(format!("`{name}` is out of scope, and is no invariant"));
        }
    }
    for (row, (name, findings)) in counts.iter().enumerate() {
        if findings.checked > 0 || excused.contains(*name) {
            continue;
        }
        match subjects.absent(row).filter(|_| is_whole) {
            Some(why) => {
                not_applicable.insert((*name).to_owned(), why.to_owned());
            }
            None => incomplete.push(format!("`{name}` was never checked")),
        }
    }
    Gaps { incomplete, not_applicable }
}

/// Everything that is not in the journals and should be, for people.
fn unseen(journals: &Journals, cx: &Cx<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if journals.processes().is_empty() {
        out.push("there is no journal".to_owned());
    }
    out.extend(journals.strays().iter().cloned());
    journals.processes().iter().for_each(|process| judge_process(process, cx, &mut out));
    for (node, is_heard) in &cx.sight.absent {
        // Whoever was killed before it said anything may have left nothing.
        if *is_heard || !cx.options.killed.contains(node) {
            out.push(format!("{node} took part and left no journal"));
        }
    }
    for log in &cx.state.unknown_logs {
        out.push(format!("{log} went on from a log whose writer left no journal"));
    }
    out.extend(cx.oddities.iter().filter_map(|oddity| odd(journals, oddity)));
    out.extend(unseen_clients(cx));
    out.extend(unseen_logs(cx));
    out
}

fn judge_process(process: &Process, cx: &Cx<'_>, out: &mut Vec<String>) {
    let node = process.node();
    out.extend(process.faults().iter().map(|fault| format!("{node}: {fault}")));
    for (from, to) in process.gaps() {
        out.push(format!("{node} could not keep ticks {from} to {to}"));
    }
    if process.end().is_none() && !cx.options.killed.contains(&node) {
        out.push(format!("{node} neither ended in order nor is known to be killed"));
    }
}

/// A client writes down what it sends before it sends it: who is heard and has written nothing is
/// missing.
fn unseen_clients(cx: &Cx<'_>) -> Option<String> {
    if cx.options.out_of_scope.contains("terminal") {
        return None;
    }
    let sessions = &cx.state.sessions;
    let mut unseen = sessions.iter().filter(|(_, seen)| !**seen).map(|(session, _)| session);
    let first = unseen.next()?;
    let count = unseen.count() + 1;
    Some(format!("clients of {count} sessions left no journal, that of session {first} the first"))
}

/// What a base wrote is on its disk; journals alone only say so.
fn unseen_logs(cx: &Cx<'_>) -> Vec<String> {
    if AuditOptions::LOGS.iter().all(|name| cx.options.out_of_scope.contains(*name)) {
        return Vec::new();
    }
    let unseen = cx.state.logs.keys().filter(|base| !cx.written.contains_key(base));
    unseen.map(|base| format!("the log of {base} is not here")).collect()
}

fn odd(journals: &Journals, oddity: &Oddity) -> Option<String> {
    let place = |at: &crate::merge::At| {
        let process = journals.processes().get(at.proc as usize)?;
        let tick = process.record(at.record as usize).map_or(Tick(0), |moment| moment.tick);
        Some((process.node(), tick))
    };
    match oddity {
        // Where both journals are whole this is a violation, which the rule of bundles tells.
        Oddity::NeverSent { .. } => None,
        Oddity::Circle { at } => {
            let (node, tick) = place(at)?;
            Some(format!("{node} at tick {tick} waits for what it caused itself"))
        }
        Oddity::Undecodable { at } => {
            let (node, _) = place(at)?;
            Some(format!("{node}: record {} does not decode", at.record))
        }
    }
}
