//! Pages of events out of journals: bounded in size and in time.

use super::index::Life;
use crate::frame::Recorded;
use crate::source::{Cursor, EventsAsk, EventsPage, GapSpan};
use marchland_common::journal::TickRecord;
use marchland_common::order::Node;
use marchland_observe::Journals;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long a page may take. What was not looked at by then is on the next one.
const PAGE_MAX: Duration = Duration::from_secs(3);

/// A page: tick by tick, and in a tick by moment and name.
pub(super) fn page(journals: &Journals, lives: &[Life], ask: &EventsAsk) -> EventsPage {
    let (from, to) = (ask.from.unwrap_or(0), ask.to.unwrap_or(u64::MAX));
    let after = ask.after.unwrap_or_default();
    let from = from.max(after.tick);
    let is_wanted = |life: &&Life| ask.process.is_none_or(|name| name == life.node.name);
    let lives: Vec<&Life> = lives.iter().filter(is_wanted).collect();
    let mut page = EventsPage { gaps: gaps(journals, &lives, from, to), ..EventsPage::default() };
    let began = Instant::now();
    let ticks: BTreeSet<u64> = ticks_of(&lives, from, to);
    for tick in ticks {
        let skip = if tick == after.tick { after.told } else { 0 };
        let mut told = 0;
        for (node, first, record) in &records_at(journals, &lives, tick) {
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

fn ticks_of(lives: &[&Life], from: u64, to: u64) -> BTreeSet<u64> {
    let of = |life: &&Life| life.span(from, to).map(|place| life.at(place).0).collect::<Vec<_>>();
    lives.iter().flat_map(of).collect()
}

/// The records of a tick, with the numbers of their first facts, by moment and name.
fn records_at<'a>(
    journals: &'a Journals,
    lives: &[&Life],
    tick: u64,
) -> Vec<(Node, u64, Cow<'a, TickRecord>)> {
    let mut records = Vec::new();
    for life in lives {
        let Some(process) = journals.process(life.node) else { continue };
        for place in life.span(tick, tick) {
            let (_, number, first) = life.at(place);
            if let Some(record) = process.record(number as usize) {
                records.push((life.node, first, record));
            }
        }
    }
    records.sort_by_key(|(node, first, record)| (record.moment, *node, *first));
    records
}

fn gaps(journals: &Journals, lives: &[&Life], from: u64, to: u64) -> Vec<GapSpan> {
    let mut gaps = Vec::new();
    for life in lives {
        let Some(process) = journals.process(life.node) else { continue };
        let span = |from: u64, to: u64, why: &str| GapSpan {
            process: life.node.name.to_string(),
            incarnation: life.node.incarnation.to_string(),
            from,
            to,
            why: why.to_owned(),
        };
        for (first, last) in process.gaps() {
            if *first <= to && *last >= from {
                gaps.push(span(*first, *last, "the journal says that it could not keep them"));
            }
        }
        for fault in process.faults() {
            let (first, last) = (life.first_tick().unwrap_or(0), life.last_tick().unwrap_or(0));
            gaps.push(span(first, last, fault));
        }
    }
    gaps
}
