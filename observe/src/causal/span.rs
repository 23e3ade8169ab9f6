//! The records of a span of ticks, cut into units, and the edges between them.
//!
//! A unit is a run of facts of one life that come after the same messages. A server's output moment
//! is one: what it takes in comes first. A client's facts are cut at each answer that it heard.

use super::catalog::{Catalog, Place};
use super::graph::{At, Edge, Life, Unit, Via};
use super::holes::Holes;
use crate::journals::Journals;
use marchland_common::journal::{BundleRef, Event, TickRecord};
use marchland_common::order::{Node, NodeKind, SessionId, Tick};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Which ticks are looked at, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first tick.
    pub from: Tick,
    /// The last tick.
    pub to: Tick,
}

impl Span {
    /// Whether a tick lies in it.
    #[must_use]
    pub const fn holds(&self, tick: Tick) -> bool {
        self.from.0 <= tick.0 && tick.0 <= self.to.0
    }

    /// The span that holds both ticks, and what was under way around them.
    #[must_use]
    pub fn around(a: Tick, b: Tick, slack: u64) -> Self {
        let (from, to) = (a.min(b).0.saturating_sub(slack), a.max(b).0.saturating_add(slack));
        Self { from: Tick(from), to: Tick(to) }
    }
}

/// A bundle that was taken in, until its sending is found.
struct Taken {
    to: At,
    bundle: BundleRef,
}

/// What was read of a span.
pub(super) struct Read<'a> {
    journals: &'a Journals,
    catalog: &'a Catalog,
    units_max: usize,
    units: usize,
    pub lives: Vec<Life>,
    pub holes: Holes,
    index: FxHashMap<Node, u32>,
    sent: FxHashMap<(u32, u32), Vec<(u64, u32)>>,
    taken: Vec<Taken>,
    /// Where clients sent commands, and where bases answered them.
    asked: FxHashMap<(SessionId, u64), At>,
    answered: FxHashMap<(SessionId, u64), At>,
    /// Where bases took commands in, and where clients heard the answer.
    queued: BTreeMap<(SessionId, u64), At>,
    heard: BTreeMap<(SessionId, u64), At>,
}

impl<'a> Read<'a> {
    /// Reads a span of all journals.
    pub fn span(journals: &'a Journals, catalog: &'a Catalog, span: Span, max: usize) -> Self {
        let nodes = journals.processes().iter().map(|process| process.node());
        let mut read = Self {
            journals,
            catalog,
            units_max: max,
            units: 0,
            lives: Vec::new(),
            holes: Holes::new(catalog.names().clone()),
            index: nodes.zip(0..).collect(),
            sent: FxHashMap::default(),
            taken: Vec::new(),
            asked: FxHashMap::default(),
            answered: FxHashMap::default(),
            queued: BTreeMap::new(),
            heard: BTreeMap::new(),
        };
        for (proc, process) in journals.processes().iter().enumerate() {
            read.holes.note_process(process, span);
            read.life(proc as u32, process.node(), span);
        }
        read
    }

    fn life(&mut self, proc: u32, node: Node, span: Span) {
        let records = self.catalog.records(proc, span.from, span.to);
        let base = self.catalog.first(proc, records.start);
        self.lives.push(Life { node, base, ..Life::default() });
        for record in records {
            if self.units >= self.units_max {
                let place = Place { proc, record: record as u32, fact: 0 };
                self.holes.cut_off(node, self.catalog.tick_at(place));
                break;
            }
            if let Some(moment) = self.catalog.moment(self.journals, proc, record) {
                self.record(proc, record as u32, &moment);
            }
        }
        let life = &mut self.lives[proc as usize];
        life.facts = life.units.last().map_or(0, |unit| unit.first + unit.facts);
    }

    fn record(&mut self, proc: u32, record: u32, moment: &TickRecord) {
        let is_client = self.lives[proc as usize].node.name.kind == NodeKind::Client;
        let tick = match is_client {
            true => self.catalog.tick_at(Place { proc, record, fact: 0 }),
            false => moment.tick,
        };
        let base = self.lives[proc as usize].base;
        let first = (self.catalog.first(proc, record as usize) - base) as u32;
        self.begin(proc, first, tick);
        for (at, bundle) in (first..).zip(&moment.received) {
            self.taken.push(Taken { to: At { life: proc, fact: at }, bundle: *bundle });
        }
        let mut next = first + moment.received.len() as u32;
        for event in &moment.events {
            if is_client && matches!(event, Event::ClientAnswered { .. }) {
                self.begin(proc, next, tick);
            }
            self.event(At { life: proc, fact: next }, event);
            next += 1;
        }
        for (at, bundle) in (next..).zip(&moment.sent) {
            if let Some(to) = self.index.get(&bundle.peer) {
                self.sent.entry((proc, *to)).or_default().push((bundle.n, at));
            }
        }
        let end = next + moment.sent.len() as u32;
        if let Some(unit) = self.lives[proc as usize].units.last_mut() {
            unit.facts = end - unit.first;
        }
    }

    fn begin(&mut self, proc: u32, first: u32, tick: Tick) {
        let units = &mut self.lives[proc as usize].units;
        if let Some(last) = units.last_mut() {
            last.facts = first - last.first;
            if last.facts == 0 {
                units.pop();
                self.units -= 1;
            }
        }
        units.push(Unit { first, facts: 0, tick });
        self.units += 1;
    }

    fn event(&mut self, at: At, event: &Event) {
        match *event {
            Event::ClientSent { session, n, .. } => {
                self.asked.entry((session, n)).or_insert(at);
            }
            Event::CommandQueued { session, n, .. } => {
                self.queued.entry((session, n)).or_insert(at);
            }
            Event::CommandConfirmed { session, n, .. }
            | Event::CommandAnswered { session, n, .. } => {
                self.answered.entry((session, n)).or_insert(at);
            }
            Event::ClientAnswered { session, n, .. } => {
                self.heard.entry((session, n)).or_insert(at);
            }
            _ => {}
        }
    }

    /// The edges into each life, in the order of its facts.
    pub fn edges(&mut self) {
        let mut edges = Vec::new();
        for sent in self.sent.values_mut() {
            sent.sort_unstable();
        }
        for Taken { to, bundle } in &self.taken {
            let me = self.lives[to.life as usize].node;
            let Some(sender) = self.index.get(&bundle.peer).copied() else {
                self.holes.no_journal(bundle.peer, me);
                continue;
            };
            let sent = self.sent.get(&(sender, to.life));
            let found = sent.and_then(|sent| {
                let at = sent.binary_search_by_key(&bundle.n, |(n, _)| *n).ok()?;
                Some(sent[at].1)
            });
            match found {
                Some(fact) => {
                    let from = At { life: sender, fact };
                    edges.push(Edge { from, to: *to, via: Via::Bundle(bundle.n) });
                }
                None => self.holes.not_sent(me, bundle, &self.lives[sender as usize]),
            }
        }
        edges.extend(self.talks(&self.queued, &self.asked, Via::Command));
        edges.extend(self.talks(&self.heard, &self.answered, Via::Answer));
        edges.extend(self.logs());
        for edge in edges {
            self.lives[edge.to.life as usize].incoming.push(edge);
        }
        self.lives.iter_mut().for_each(|life| life.incoming.sort_unstable_by_key(|e| e.to.fact));
    }

    fn talks(
        &self,
        heard: &BTreeMap<(SessionId, u64), At>,
        said: &FxHashMap<(SessionId, u64), At>,
        via: impl Fn(SessionId, u64) -> Via,
    ) -> Vec<Edge> {
        let pairs =
            heard.iter().filter_map(|(key, to)| said.get(key).map(|from| (key, *from, *to)));
        let edge = |(key, from, to): (&(SessionId, u64), At, At)| {
            (from.life != to.life).then(|| Edge { from, to, via: via(key.0, key.1) })
        };
        pairs.filter_map(edge).collect()
    }

    /// A later life of a base goes on from the log of the lives before it.
    fn logs(&self) -> Vec<Edge> {
        let mut lives: Vec<(Node, u32)> =
            self.index.iter().map(|(node, at)| (*node, *at)).collect();
        lives.retain(|(node, at)| {
            node.name.kind == NodeKind::Base && self.lives[*at as usize].facts > 0
        });
        lives.sort_unstable();
        let next = lives.windows(2).filter(|pair| pair[0].0.name == pair[1].0.name);
        let edge = |pair: &[(Node, u32)]| {
            let (earlier, later) = (pair[0].1, pair[1].1);
            // Only its beginning rests on the log.
            let begins = self.lives[later as usize].base == self.catalog.first(later, 0);
            let fact = self.lives[earlier as usize].facts - 1;
            let from = At { life: earlier, fact };
            begins.then_some(Edge { from, to: At { life: later, fact: 0 }, via: Via::Log })
        };
        next.filter_map(edge).collect()
    }
}
