//! Pages of events out of records, live or from a folder: bounded in size and in time.

use crate::frame::Recorded;
use crate::source::{Cursor, EventsAsk, EventsPage, GapSpan};
use marchland_common::journal::TickRecord;
use marchland_common::order::Node;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a page may take. What was not looked at by then is on the next one.
const PAGE_MAX: Duration = Duration::from_secs(3);

/// The records of one life, in order. Ticks never fall.
pub(crate) trait Life {
    /// Whose.
    fn node(&self) -> Node;
    /// The places of the records from a tick to a tick, both included.
    fn span(&self, from: u64, to: u64) -> Range<usize>;
    /// The tick of a record.
    fn tick(&self, place: usize) -> u64;
    /// A record, with the number of the first thing in it; none if it does not read.
    fn read(&self, place: usize) -> Option<(u64, Cow<'_, TickRecord>)>;
    /// What is missing: from, to, why.
    fn gaps(&self) -> Vec<(u64, u64, String)>;
}

/// How many things a record tells, each with a number.
pub(crate) fn things_in(record: &TickRecord) -> u64 {
    (record.received.len() + record.events.len() + record.sent.len()) as u64
}

/// A page: tick by tick, and in a tick by moment and name.
pub(crate) fn page<L: Life>(lives: &[L], ask: &EventsAsk) -> EventsPage {
    let (from, to) = (ask.from.unwrap_or(0), ask.to.unwrap_or(u64::MAX));
    let after = ask.after.unwrap_or_default();
    let from = from.max(after.tick);
    let is_wanted = |life: &&L| ask.process.is_none_or(|name| name == life.node().name);
    let lives: Vec<&L> = lives.iter().filter(is_wanted).collect();
    let mut page = EventsPage { gaps: gaps(&lives, from, to), ..EventsPage::default() };
    let began = Instant::now();
    let ticks: BTreeSet<u64> = ticks_of(&lives, from, to);
    for tick in ticks {
        let skip = if tick == after.tick { after.told } else { 0 };
        let mut told = 0;
        for (node, first, record) in &records_at(&lives, tick) {
            let recorded = Recorded { node: *node, record, first: *first };
            for item in recorded.items() {
                told += 1;
                if told <= skip || !ask.takes(item) {
                    continue;
                }
                if page.events.len() >= ask.limit {
                    return cut(page, Cursor { tick, told: told - 1 });
                }
                page.events.push(recorded.json(item));
            }
        }
        if began.elapsed() > PAGE_MAX {
            return cut(page, Cursor { tick: tick + 1, told: 0 });
        }
    }
    page
}

fn cut(mut page: EventsPage, next: Cursor) -> EventsPage {
    (page.more, page.next) = (true, Some(next.to_string()));
    page
}

fn ticks_of<L: Life>(lives: &[&L], from: u64, to: u64) -> BTreeSet<u64> {
    let of = |life: &&L| life.span(from, to).map(|place| life.tick(place)).collect::<Vec<_>>();
    lives.iter().flat_map(of).collect()
}

/// The records of a tick, with the numbers of the first things in them, by moment and name.
fn records_at<'a, L: Life>(lives: &[&'a L], tick: u64) -> Vec<(Node, u64, Cow<'a, TickRecord>)> {
    let mut records = Vec::new();
    for life in lives {
        for place in life.span(tick, tick) {
            if let Some((first, record)) = life.read(place) {
                records.push((life.node(), first, record));
            }
        }
    }
    records.sort_by_key(|(node, first, record)| (record.moment, *node, *first));
    records
}

fn gaps<L: Life>(lives: &[&L], from: u64, to: u64) -> Vec<GapSpan> {
    let mut gaps = Vec::new();
    for life in lives {
        let node = life.node();
        let spans =
            life.gaps().into_iter().filter(|(first, last, _)| *first <= to && *last >= from);
        gaps.extend(spans.map(|(from, to, why)| GapSpan {
            process: node.name.to_string(),
            incarnation: node.incarnation.to_string(),
            from,
            to,
            why,
        }));
    }
    gaps
}
