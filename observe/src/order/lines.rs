//! The merged order as lines: one event each, with what it is about and what caused it.

use crate::causal::EventId;
use crate::facts::{self, About, Kind};
use crate::journals::Journals;
use crate::merge::{At, Step, Walk};
use marchland_common::journal::{BundleRef, Event, TickRecord};
use marchland_common::order::{EntityId, Node, Tick};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One event of the merged order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its name: `cell-1@7:31`.
    pub id: String,
    /// The process.
    pub proc: String,
    /// Its life.
    pub inc: u64,
    /// Its tick.
    pub tick: u64,
    /// The event's number in its journal: see [`EventId`].
    pub n: u64,
    /// What happened.
    pub kind: String,
    /// To which entity.
    pub entity: Option<u64>,
    /// Under which grant.
    pub epoch: Option<u64>,
    /// At which step, or ghost sequence.
    pub seq: Option<u64>,
    /// Which command (`s<session>/<n>`), message (`<source>:<number>`) or bundle (`b<number>`).
    pub msg: Option<String>,
    /// Which other process.
    pub peer: Option<String>,
    /// Which shown events of other processes it follows from: `cell-1@7:31`.
    pub cause: Vec<String>,
    /// The event in a few words.
    pub text: String,
}

/// Which events are shown. The default shows all but bundles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// Only what concerns this entity.
    pub entity: Option<EntityId>,
    /// Only ticks from here on.
    pub from: Option<Tick>,
    /// Only ticks up to here.
    pub to: Option<Tick>,
    /// Bundles too; only without an entity.
    pub bundles: bool,
}

impl OrderFilter {
    fn shows(&self, tick: Tick, about: &About) -> bool {
        self.entity.is_none_or(|entity| about.concerns(entity)) && self.shows_tick(tick)
    }

    fn shows_tick(&self, tick: Tick) -> bool {
        self.from.is_none_or(|from| from <= tick) && self.to.is_none_or(|to| tick <= to)
    }
}

/// The line of one event, without its causes.
#[must_use]
pub(crate) fn line_at(node: Node, tick: Tick, n: u64, event: &Event) -> Line {
    let About { entity, epoch, seq, msg, peer, .. } = facts::about(event);
    Line {
        id: EventId { node, n }.to_string(),
        proc: node.name.to_string(),
        inc: node.incarnation.0,
        tick: tick.0,
        n,
        kind: Kind::of(event).name().to_owned(),
        entity: entity.map(|entity| entity.0),
        epoch: epoch.map(|epoch| epoch.grant()),
        seq: seq.map(|seq| seq.0),
        msg,
        peer: peer.map(|peer| peer.to_string()),
        cause: Vec::new(),
        text: facts::text(event),
    }
}

/// The events of all journals in an order that no cause contradicts; equal journals give equal
/// lines.
#[must_use]
pub fn order<'a>(journals: &'a Journals, filter: &OrderFilter) -> Lines<'a> {
    let count = journals.processes().len();
    Lines {
        nodes: journals.processes().iter().map(|process| process.node()).collect(),
        walk: Walk::new(journals),
        filter: filter.clone(),
        next_n: journals.first_numbers(),
        shown: vec![Vec::new(); count],
        places: 0,
        ready: VecDeque::new(),
    }
}

/// An event that was shown.
#[derive(Clone)]
struct Shown {
    record: u32,
    n: u64,
    /// How many were shown before it.
    place: u64,
    msg: Option<String>,
}

/// Iterator over the merged order; see [`order`].
pub struct Lines<'a> {
    walk: Walk<'a>,
    nodes: Vec<Node>,
    filter: OrderFilter,
    next_n: Vec<u64>,
    /// The shown events of each process.
    shown: Vec<Vec<Shown>>,
    /// How many events were shown.
    places: u64,
    ready: VecDeque<Line>,
}

impl Lines<'_> {
    fn take(&mut self, step: &Step<'_>) {
        let proc = step.proc as usize;
        let (node, moment) = (self.nodes[proc], &*step.moment);
        let first = self.next_n[proc];
        let first_event = first + moment.received.len() as u64;
        let first_sent = first_event + moment.events.len() as u64;
        self.next_n[proc] = first_sent + moment.sent.len() as u64;
        let bundles = self.filter.bundles && self.filter.shows_tick(moment.tick);
        if bundles && self.filter.entity.is_none() {
            for (n, bundle) in (first..).zip(&moment.received) {
                let line = bundle_line(node, moment, n, "received", bundle);
                self.ready.push_back(line);
            }
        }
        for (index, event) in moment.events.iter().enumerate() {
            let about = facts::about(event);
            if !self.filter.shows(moment.tick, &about) {
                continue;
            }
            let n = first_event + index as u64;
            let at = At { proc: step.proc, record: step.record, event: index as u32 };
            let mut line = line_at(node, moment.tick, n, event);
            let causes = self.causes(at, &about, Kind::of(event));
            line.cause = causes.iter().map(ToString::to_string).collect();
            let (record, place, msg) = (step.record, self.places, about.msg);
            self.shown[proc].push(Shown { record, n, place, msg });
            self.places += 1;
            self.ready.push_back(line);
        }
        if bundles && self.filter.entity.is_none() {
            for (n, bundle) in (first_sent..).zip(&moment.sent) {
                let line = bundle_line(node, moment, n, "sent", bundle);
                self.ready.push_back(line);
            }
        }
    }

    /// The shown events of other processes that an event follows from: the newest about the same
    /// command or message; else the newest of the process that the event names; else, for what
    /// only another process can have brought about, the newest of each process that is news here.
    fn causes(&mut self, at: At, about: &About, kind: Kind) -> Vec<EventId> {
        let past = |other: usize| {
            let known = self.walk.clocks().known(at, other as u32);
            let shown = &self.shown[other];
            &shown[..shown.partition_point(|shown| shown.record < known)]
        };
        let others = || (0..self.nodes.len()).filter(|other| *other != at.proc as usize);
        if let Some(msg) = &about.msg {
            let same = |shown: &&Shown| shown.msg.as_ref() == Some(msg);
            let newest = others().filter_map(|other| {
                past(other).iter().rev().take(NEAR).find(same).map(|shown| (other, shown))
            });
            if let Some((other, shown)) = newest.max_by_key(|(_, shown)| shown.place) {
                return vec![EventId { node: self.nodes[other], n: shown.n }];
            }
        }
        let peer = about.peer.and_then(|peer| self.walk.proc(peer)).map(|peer| peer as usize);
        if let Some(peer) = peer.filter(|peer| *peer != at.proc as usize) {
            let node = self.nodes[peer];
            let newest = past(peer).last();
            return newest.map(|shown| EventId { node, n: shown.n }).into_iter().collect();
        }
        if !matches!(kind, Kind::Unfrozen | Kind::Deactivated | Kind::GhostEnded) {
            return Vec::new();
        }
        let newest: Vec<(At, EventId)> = others()
            .filter_map(|other| {
                let shown = past(other).last()?;
                let id = EventId { node: self.nodes[other], n: shown.n };
                Some((At::record(other as u32, shown.record), id))
            })
            .collect();
        let clocks = self.walk.clocks();
        let is_older = |a: At| newest.iter().any(|(b, _)| b.proc != a.proc && clocks.before(a, *b));
        newest.iter().filter(|(a, _)| !is_older(*a)).map(|(_, id)| *id).collect()
    }
}

/// How far back a command or message is looked for in each journal, in shown events.
const NEAR: usize = 512;

/// A line for a record as a whole: the bundles that it took in and sent.
#[must_use]
pub(crate) fn moment_line(node: Node, moment: &TickRecord, n: u64) -> Line {
    let list = |bundles: &[BundleRef]| {
        let names = bundles.iter().map(|bundle| format!("{} b{}", bundle.peer, bundle.n));
        names.collect::<Vec<_>>().join(", ")
    };
    let (received, sent) = (list(&moment.received), list(&moment.sent));
    Line {
        id: EventId { node, n }.to_string(),
        proc: node.name.to_string(),
        inc: node.incarnation.0,
        tick: moment.tick.0,
        n,
        kind: "moment".to_owned(),
        entity: None,
        epoch: None,
        seq: None,
        msg: None,
        peer: None,
        cause: Vec::new(),
        text: format!("{:?} of tick {}: in [{received}], out [{sent}]", moment.moment, moment.tick),
    }
}

fn bundle_line(node: Node, moment: &TickRecord, n: u64, kind: &str, bundle: &BundleRef) -> Line {
    let cause = match kind {
        "received" => vec![format!("{} b{}", bundle.peer, bundle.n)],
        _ => Vec::new(),
    };
    Line {
        id: EventId { node, n }.to_string(),
        proc: node.name.to_string(),
        inc: node.incarnation.0,
        tick: moment.tick.0,
        n,
        kind: kind.to_owned(),
        entity: None,
        epoch: None,
        seq: None,
        msg: Some(format!("b{}", bundle.n)),
        peer: Some(bundle.peer.to_string()),
        cause,
        text: format!("{kind} b{} ({})", bundle.n, bundle.peer),
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        while self.ready.is_empty() {
            let step = self.walk.next()?;
            self.take(&step);
        }
        self.ready.pop_front()
    }
}
