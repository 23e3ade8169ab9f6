//! The first fact in which two recordings differ.
//!
//! Lives are compared by their process's name and by which of its lives they are: incarnations are
//! given by the store and say nothing. What comes first is the difference with the smallest (tick,
//! moment, name), so that one that only follows from another is not told before it.

mod values;

use crate::causal::{Fact, What};
use crate::journals::{Journals, Process};
use marchland_common::journal::TickRecord;
use marchland_common::msg::Moment;
use marchland_common::order::{Node, NodeKind, NodeName, Tick};
use std::collections::BTreeMap;
pub use values::FieldDiff;
use values::Lives;

/// Where two recordings part.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The process.
    pub process: NodeName,
    /// Which of its lives, from 0.
    pub life: usize,
    /// The tick.
    pub tick: Tick,
    /// Where in it.
    pub moment: Moment,
    /// The fact of the first recording; none if it has no more.
    pub first: Option<Fact>,
    /// The fact of the second.
    pub second: Option<Fact>,
    /// The fields that differ, when both facts are of one kind.
    pub fields: Vec<FieldDiff>,
    /// What it is, for people.
    pub what: &'static str,
    /// Whether what came in from outside differed already: then the difference comes from there.
    /// None where the journals do not hold it.
    pub input_differs: Option<bool>,
}

/// What a comparison says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The first difference; none if what was compared is equal.
    pub first: Option<Divergence>,
    /// In how many lives something differs.
    pub differing: usize,
    /// How many lives were compared.
    pub lives: usize,
    /// How many facts were found equal.
    pub equal: u64,
    /// What could not be compared, for people.
    pub left_out: Vec<String>,
}

/// Compares two recordings, or one process of them. Clients are compared only when they are named:
/// they are as fast as their machine.
#[must_use]
pub fn compare(a: &Journals, b: &Journals, only: Option<NodeName>) -> Comparison {
    let lives = (Lives::of(a), Lives::of(b));
    let (in_a, in_b) = (by_name(a, only), by_name(b, only));
    let mut out = Comparison::default();
    for (name, first) in &in_a {
        let Some(second) = in_b.get(name) else {
            out.left_out.push(format!("{name} is only in the first recording"));
            continue;
        };
        if first.len() != second.len() {
            let (a, b) = (first.len(), second.len());
            out.left_out
                .push(format!("{name} has {a} lives in the first recording, {b} in the second"));
        }
        for (life, (a, b)) in first.iter().zip(second).enumerate() {
            out.lives += 1;
            for process in [a, b] {
                let gaps = process.gaps().iter();
                let gaps =
                    gaps.map(|(from, to)| format!("{name} could not keep ticks {from} to {to}"));
                out.left_out
                    .extend(gaps.chain(process.faults().iter().map(|f| format!("{name}: {f}"))));
            }
            let mut pair = Pair { name: *name, life, a, b, lives: (&lives.0, &lives.1) };
            if let Some(found) = pair.first(&mut out.equal) {
                out.differing += 1;
                let key = |d: &Divergence| (d.tick, d.moment, d.process);
                if out.first.as_ref().is_none_or(|known| key(&found) < key(known)) {
                    out.first = Some(found);
                }
            }
        }
    }
    let missing = in_b.keys().filter(|name| !in_a.contains_key(*name));
    out.left_out.extend(missing.map(|name| format!("{name} is only in the second recording")));
    out
}

fn by_name(journals: &Journals, only: Option<NodeName>) -> BTreeMap<NodeName, Vec<&Process>> {
    let mut out: BTreeMap<NodeName, Vec<&Process>> = BTreeMap::new();
    for process in journals.processes() {
        let name = process.node().name;
        let wanted = only.map_or(name.kind != NodeKind::Client, |only| only == name);
        if wanted {
            out.entry(name).or_default().push(process);
        }
    }
    out
}

struct Pair<'a> {
    name: NodeName,
    life: usize,
    a: &'a Process,
    b: &'a Process,
    lives: (&'a Lives, &'a Lives),
}

impl Pair<'_> {
    fn first(&mut self, equal: &mut u64) -> Option<Divergence> {
        let (mut n_a, mut n_b) = (self.a.first_number(), self.b.first_number());
        for index in 0..self.a.len().max(self.b.len()) {
            let (a, b) = (self.a.record(index), self.b.record(index));
            let (a, b) = (a.as_deref(), b.as_deref());
            if let Some(found) = self.moment((a, n_a), (b, n_b), equal) {
                return Some(found);
            }
            n_a += a.map_or(0, count);
            n_b += b.map_or(0, count);
        }
        None
    }

    fn moment(
        &self,
        (a, n_a): (Option<&TickRecord>, u64),
        (b, n_b): (Option<&TickRecord>, u64),
        equal: &mut u64,
    ) -> Option<Divergence> {
        let facts_a = a.map(|record| facts(self.a.node(), record, n_a)).unwrap_or_default();
        let facts_b = b.map(|record| facts(self.b.node(), record, n_b)).unwrap_or_default();
        let here = a.or(b)?;
        let blank = |what| Divergence {
            process: self.name,
            life: self.life,
            tick: a.map_or(here.tick, |a| b.map_or(a.tick, |b| a.tick.min(b.tick))),
            moment: here.moment,
            first: facts_a.first().cloned(),
            second: facts_b.first().cloned(),
            fields: Vec::new(),
            what,
            input_differs: self.input_differs(a, b),
        };
        let (Some(a), Some(b)) = (a, b) else {
            return Some(blank("one recording ends here and the other one goes on"));
        };
        if (a.tick, a.moment) != (b.tick, b.moment) {
            return Some(blank("another tick or moment follows"));
        }
        for at in 0..facts_a.len().max(facts_b.len()) {
            let (first, second) = (facts_a.get(at), facts_b.get(at));
            let fields = values::differ(first, second, self.lives);
            if fields.as_ref().is_some_and(Vec::is_empty) {
                *equal += 1;
                continue;
            }
            let (first, second) = (first.cloned(), second.cloned());
            let fields = fields.unwrap_or_default();
            return Some(Divergence { first, second, fields, ..blank("a fact differs") });
        }
        (a.digest != b.digest).then(|| {
            blank("all facts are equal and the state is not: march replay names the field")
        })
    }

    fn input_differs(&self, a: Option<&TickRecord>, b: Option<&TickRecord>) -> Option<bool> {
        let (a, b) = (a?, b?);
        let known = !a.input.is_empty() && !b.input.is_empty();
        // Inputs name lives; only between equal ones can they be compared as they are.
        (known && self.lives.0 == self.lives.1).then(|| a.input != b.input)
    }
}

fn count(record: &TickRecord) -> u64 {
    (record.received.len() + record.events.len() + record.sent.len()) as u64
}

fn facts(node: Node, record: &TickRecord, first: u64) -> Vec<Fact> {
    let received = record.received.iter().copied().map(What::Received);
    let events = record.events.iter().cloned().map(What::Event);
    let sent = record.sent.iter().copied().map(What::Sent);
    let all = received.chain(events).chain(sent);
    let fact = |(n, what)| {
        let id = crate::causal::EventId { node, n };
        Fact { id, tick: record.tick, moment: record.moment, what }
    };
    (first..).zip(all).map(fact).collect()
}

#[cfg(test)]
mod tests;
