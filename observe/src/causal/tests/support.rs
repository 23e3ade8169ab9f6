//! Journals by hand, and the order of causes worked out the slow way.

use crate::causal::{Catalog, EventId, Graph, Span};
use crate::journals::Journals;
use marchland_common::journal::{BundleRef, Event, Record, TickRecord};
use marchland_common::order::{Lsn, Node, NodeKind, SessionId, Tick};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const ALL: Span = Span { from: Tick(0), to: Tick(u64::MAX) };
pub const A: Node = Node::new(NodeKind::Cell, 1, 5);
pub const B: Node = Node::new(NodeKind::Cell, 2, 6);
pub const C: Node = Node::new(NodeKind::Base, 1, 7);

/// `received` says who sent which bundle in which tick of its own.
pub fn moment(
    tick: u64,
    received: &[(Node, u64, u64)],
    sent: &[(Node, u64)],
    events: Vec<Event>,
) -> Record {
    let bundle = |peer, n, src_tick| BundleRef { peer, n, src_tick: Tick(src_tick) };
    Record::Tick(TickRecord {
        received: received.iter().map(|(peer, n, at)| bundle(*peer, *n, *at)).collect(),
        sent: sent.iter().map(|(peer, n)| bundle(*peer, *n, tick)).collect(),
        ..TickRecord::without_core(Tick(tick), events)
    })
}

/// So many events that say nothing.
pub fn facts(count: u64) -> Vec<Event> {
    (0..count).map(|n| Event::Durable { lsn: Lsn(n) }).collect()
}

pub fn id(node: Node, n: u64) -> EventId {
    EventId { node, n }
}

pub fn graph(journals: &Journals) -> (Catalog, Graph) {
    let catalog = Catalog::of(journals);
    let graph = Graph::of(journals, &catalog, ALL);
    (catalog, graph)
}

/// All facts of some journals, with the edges between them: program order, bundles, commands and
/// their answers, and the logs that later lives of bases go on from.
pub struct Slow {
    pub ids: Vec<EventId>,
    next: BTreeMap<EventId, Vec<EventId>>,
    last: BTreeMap<EventId, Vec<EventId>>,
}

impl Slow {
    pub fn of(journals: &Journals) -> Self {
        let mut slow = Self { ids: Vec::new(), next: BTreeMap::new(), last: BTreeMap::new() };
        let mut ends: BTreeMap<(Node, Node, u64), [Option<EventId>; 2]> = BTreeMap::new();
        let mut talks: BTreeMap<(bool, SessionId, u64), [Option<EventId>; 2]> = BTreeMap::new();
        let mut lives: Vec<(Node, EventId, EventId)> = Vec::new();
        for process in journals.processes() {
            let node = process.node();
            let mut n = 0;
            for index in 0..process.len() {
                let Some(moment) = process.record(index) else { continue };
                for bundle in &moment.received {
                    ends.entry((bundle.peer, node, bundle.n)).or_default()[1] = Some(id(node, n));
                    n += 1;
                }
                for event in &moment.events {
                    note_talk(event, id(node, n), &mut talks);
                    n += 1;
                }
                for bundle in &moment.sent {
                    ends.entry((node, bundle.peer, bundle.n)).or_default()[0] = Some(id(node, n));
                    n += 1;
                }
            }
            slow.ids.extend((0..n).map(|n| id(node, n)));
            (1..n).for_each(|n| slow.edge(id(node, n - 1), id(node, n)));
            if node.name.kind == NodeKind::Base && n > 0 {
                lives.push((node, id(node, 0), id(node, n - 1)));
            }
        }
        for pair in ends.values().chain(talks.values()) {
            if let [Some(from), Some(to)] = pair {
                slow.edge(*from, *to);
            }
        }
        for pair in lives.windows(2).filter(|pair| pair[0].0.name == pair[1].0.name) {
            slow.edge(pair[0].2, pair[1].1);
        }
        slow
    }

    fn edge(&mut self, from: EventId, to: EventId) {
        self.next.entry(from).or_default().push(to);
        self.last.entry(to).or_default().push(from);
    }

    /// Whatever a fact can have caused, itself included.
    pub fn future(&self, from: EventId) -> BTreeSet<EventId> {
        reach(&self.next, from)
    }

    /// Whatever can have caused a fact, itself included.
    pub fn past(&self, from: EventId) -> BTreeSet<EventId> {
        reach(&self.last, from)
    }
}

fn reach(edges: &BTreeMap<EventId, Vec<EventId>>, from: EventId) -> BTreeSet<EventId> {
    let (mut seen, mut todo) = (BTreeSet::from([from]), VecDeque::from([from]));
    while let Some(at) = todo.pop_front() {
        for next in edges.get(&at).into_iter().flatten() {
            if seen.insert(*next) {
                todo.push_back(*next);
            }
        }
    }
    seen
}

fn note_talk(
    event: &Event,
    at: EventId,
    talks: &mut BTreeMap<(bool, SessionId, u64), [Option<EventId>; 2]>,
) {
    let (key, end) = match *event {
        Event::ClientSent { session, n, .. } => ((false, session, n), 0),
        Event::CommandQueued { session, n, .. } => ((false, session, n), 1),
        Event::CommandConfirmed { session, n, .. } | Event::CommandAnswered { session, n, .. } => {
            ((true, session, n), 0)
        }
        Event::ClientAnswered { session, n, .. } => ((true, session, n), 1),
        _ => return,
    };
    talks.entry(key).or_default()[end].get_or_insert(at);
}
