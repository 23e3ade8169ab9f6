//! Where each fact of some journals stands, by its number and by its tick.
//!
//! A catalogue is made by reading every record once and keeps sixteen bytes for each, so that spans
//! of very long journals can be read afterwards without what lies around them.

use super::id::{EventId, Names, NoEvent};
use super::{Fact, What};
use crate::journals::{Journals, Process};
use marchland_common::journal::{Event, TickRecord};
use marchland_common::order::{Node, NodeKind, Tick};
use std::borrow::Cow;
use std::ops::Range;

/// The place of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The process, as an index into [`Journals::processes`].
    pub proc: u32,
    /// Which of its records.
    pub record: u32,
    /// Which fact of that record.
    pub fact: u32,
}

/// One life's records.
#[derive(Clone, Debug)]
struct Life {
    node: Node,
    /// The number of the first fact of each record; one more at the end.
    firsts: Vec<u64>,
    /// The newest tick up to each record: records of a sound journal never go back.
    ticks: Vec<u64>,
}

/// The catalogue of some journals. See the module.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    lives: Vec<Life>,
    names: Names,
}

/// How many facts a record tells.
pub(super) fn facts_in(moment: &TickRecord) -> u64 {
    (moment.received.len() + moment.events.len() + moment.sent.len()) as u64
}

/// The tick of a record. A client has none of its own: it stands at the newest one that it had
/// seen.
fn tick_of(kind: NodeKind, moment: &TickRecord) -> Option<Tick> {
    if kind != NodeKind::Client {
        return Some(moment.tick);
    }
    let seen = moment.events.iter().filter_map(|event| match event {
        Event::ClientSaw { tick, .. } => Some(*tick),
        _ => None,
    });
    seen.max()
}

impl Life {
    fn of(process: &Process) -> Self {
        let (mut firsts, mut ticks) = (vec![process.first_number()], Vec::new());
        let (mut next, mut newest) = (process.first_number(), 0);
        for index in 0..process.len() {
            if let Some(moment) = process.record(index) {
                next += facts_in(&moment);
                let tick = tick_of(process.kind(), &moment);
                newest = tick.map_or(newest, |tick| tick.0.max(newest));
            }
            firsts.push(next);
            ticks.push(newest);
        }
        Self { node: process.node(), firsts, ticks }
    }
}

impl Catalog {
    /// Reads all journals once.
    #[must_use]
    pub fn of(journals: &Journals) -> Self {
        let lives = journals.processes().iter().map(Life::of).collect();
        Self { lives, names: Names::of(journals) }
    }

    /// How lives and facts are called.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// The place of a fact.
    ///
    /// # Errors
    /// [`NoEvent`] when there is no such life, or no such number in its journal.
    pub fn find(&self, id: EventId) -> Result<Place, NoEvent> {
        let proc = self.lives.iter().position(|life| life.node == id.node);
        let proc = proc.ok_or_else(|| NoEvent::NoJournal(id.node.to_string()))?;
        let firsts = &self.lives[proc].firsts;
        let (from, end) = (firsts[0], firsts[firsts.len() - 1]);
        if !(from..end).contains(&id.n) {
            let to = end.saturating_sub(1);
            return Err(NoEvent::NoSuchNumber { node: id.node, n: id.n, from, to });
        }
        let record = firsts.partition_point(|first| *first <= id.n) - 1;
        let fact = (id.n - firsts[record]) as u32;
        Ok(Place { proc: proc as u32, record: record as u32, fact })
    }

    /// The fact that a text names, if it is there.
    ///
    /// # Errors
    /// [`NoEvent`] when the text names no fact of these journals.
    pub fn named(&self, text: &str) -> Result<EventId, NoEvent> {
        let id = self.names.parse(text)?;
        self.find(id).map(|_| id)
    }

    /// The name of the fact at a place.
    #[must_use]
    pub fn id(&self, place: Place) -> EventId {
        let life = &self.lives[place.proc as usize];
        let first = life.firsts.get(place.record as usize).copied().unwrap_or(0);
        EventId { node: life.node, n: first + u64::from(place.fact) }
    }

    /// The number of the first fact of a record.
    pub(crate) fn first(&self, proc: u32, record: usize) -> u64 {
        self.lives[proc as usize].firsts[record]
    }

    /// The records of a life whose ticks may lie in a span, both ends included.
    #[must_use]
    pub fn records(&self, proc: u32, from: Tick, to: Tick) -> Range<usize> {
        let ticks = &self.lives[proc as usize].ticks;
        let start = ticks.partition_point(|tick| *tick < from.0);
        let end = ticks.partition_point(|tick| *tick <= to.0);
        start..end.max(start)
    }

    /// How many facts all journals hold in a span.
    #[must_use]
    pub fn count(&self, from: Tick, to: Tick) -> u64 {
        let of = |proc| {
            let records = self.records(proc, from, to);
            let firsts = &self.lives[proc as usize].firsts;
            firsts[records.end] - firsts[records.start]
        };
        (0..self.lives.len() as u32).map(of).sum()
    }

    /// The first and the last tick of all journals; none when they are empty.
    #[must_use]
    pub fn ticks(&self) -> Option<(Tick, Tick)> {
        let servers = self.lives.iter().filter(|life| life.node.name.kind != NodeKind::Client);
        let ends: Vec<(u64, u64)> =
            servers.filter_map(|life| Some((*life.ticks.first()?, *life.ticks.last()?))).collect();
        let from = ends.iter().map(|(from, _)| *from).min()?;
        let to = ends.iter().map(|(_, to)| *to).max()?;
        Some((Tick(from), Tick(to)))
    }

    /// The newest tick of a life up to a record: where a client's facts stand.
    pub(super) fn tick_at(&self, place: Place) -> Tick {
        let ticks = &self.lives[place.proc as usize].ticks;
        Tick(ticks.get(place.record as usize).copied().unwrap_or(0))
    }

    /// Reads one fact.
    ///
    /// # Errors
    /// [`NoEvent`] when it is not there.
    pub fn fact(&self, journals: &Journals, id: EventId) -> Result<Fact, NoEvent> {
        let place = self.find(id)?;
        let moment = self.moment(journals, place.proc, place.record as usize);
        let fact = moment.and_then(|moment| self.fact_of(place, &moment));
        fact.ok_or_else(|| NoEvent::NoJournal(id.node.to_string()))
    }

    /// Reads a record; none if it does not decode.
    pub(super) fn moment<'a>(
        &self,
        journals: &'a Journals,
        proc: u32,
        record: usize,
    ) -> Option<Cow<'a, TickRecord>> {
        journals.processes().get(proc as usize)?.record(record)
    }

    /// A fact of a record that was read.
    pub(super) fn fact_of(&self, place: Place, moment: &TickRecord) -> Option<Fact> {
        let (received, events) = (moment.received.len(), moment.events.len());
        let at = place.fact as usize;
        let what = if at < received {
            What::Received(*moment.received.get(at)?)
        } else if at < received + events {
            What::Event(moment.events.get(at - received)?.clone())
        } else {
            What::Sent(*moment.sent.get(at - received - events)?)
        };
        let id = self.id(place);
        let tick = match (id.node.name.kind, &what) {
            (NodeKind::Client, What::Event(Event::ClientSaw { tick, .. })) => *tick,
            (NodeKind::Client, _) => self.tick_at(place),
            _ => moment.tick,
        };
        Some(Fact { id, tick, moment: moment.moment, what })
    }
}
