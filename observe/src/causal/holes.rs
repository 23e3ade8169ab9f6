//! What is not known of a span, in words: whoever says that two events are concurrent must say
//! what it could not see.

use super::graph::Life;
use super::id::Names;
use super::span::Span;
use crate::journals::Process;
use marchland_common::journal::BundleRef;
use marchland_common::order::{Node, NodeKind, Tick};
use std::collections::BTreeMap;

/// A span of ticks of one process of which its journal holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Whose journal.
    pub node: Node,
    /// The first tick.
    pub from: Tick,
    /// The last tick.
    pub to: Tick,
}

/// What is missing. See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    names: Names,
    gaps: Vec<Gap>,
    faults: Vec<String>,
    /// How many bundles of lives without a journal each life took in.
    strangers: BTreeMap<Node, u64>,
    never_sent: BTreeMap<(Node, Node), (u64, u64)>,
    cut: BTreeMap<Node, Tick>,
    circles: u64,
}

impl Holes {
    pub fn new(names: Names) -> Self {
        Self { names, ..Self::default() }
    }

    pub fn note_process(&mut self, process: &Process, span: Span) {
        let node = process.node();
        let gaps = process.gaps().iter().map(|(from, to)| (Tick(*from), Tick(*to)));
        let inside = gaps.filter(|(from, to)| *from <= span.to && *to >= span.from);
        self.gaps.extend(inside.map(|(from, to)| Gap { node, from, to }));
        let name = self.names.node(node);
        self.faults.extend(process.faults().iter().map(|fault| format!("{name}: {fault}")));
    }

    pub fn no_journal(&mut self, peer: Node, _at: Node) {
        *self.strangers.entry(peer).or_default() += 1;
    }

    /// A bundle whose sending was not found. Sent before the span it is nothing odd.
    pub fn not_sent(&mut self, at: Node, bundle: &BundleRef, sender: &Life) {
        let begins = sender.units.first().map(|unit| unit.tick);
        if begins.is_some_and(|begins| bundle.src_tick >= begins) {
            let entry = self.never_sent.entry((bundle.peer, at)).or_insert((bundle.n, 0));
            entry.1 += 1;
        }
    }

    pub fn cut_off(&mut self, node: Node, tick: Tick) {
        self.cut.entry(node).or_insert(tick);
    }

    pub fn circle(&mut self) {
        self.circles += 1;
    }

    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// In words.
    pub fn told(&self) -> Vec<String> {
        let name = |node: &Node| self.names.node(*node);
        let mut out = self.faults.clone();
        out.extend(self.gaps.iter().map(|Gap { node, from, to }| {
            format!(
                "{} has nothing of ticks {from} to {to}: what went through it then cannot be said",
                name(node)
            )
        }));
        out.extend(self.strangers.iter().filter(|(peer, _)| peer.name.kind != NodeKind::Client).map(
            |(peer, count)| {
                format!(
                    "there is no journal of {peer}, of which {count} bundles were taken in: what \
                     happened there, and whether it lies between two events, cannot be said"
                )
            },
        ));
        out.extend(self.never_sent.iter().map(|((from, to), (n, count))| {
            format!(
                "{} took in {count} bundles of {} that its journal does not send here, bundle {n} \
                 first",
                name(to),
                name(from)
            )
        }));
        out.extend(self.cut.iter().map(|(node, tick)| {
            format!(
                "of {} only what lies before tick {tick} was read: too much is there",
                name(node)
            )
        }));
        if self.circles > 0 {
            out.push(format!("{} moments wait for what they caused themselves", self.circles));
        }
        out
    }
}
