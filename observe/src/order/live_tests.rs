//! Lines that come while journals are written are the lines that all of them give in the end.

#![allow(clippy::unwrap_used)]

use super::{Line, Live, OrderFilter, order};
use crate::journals::{Follow, Journals};
use crate::testing::{Plan, history, segment};
use marchland_common::journal::{Record, journal_file_name};
use marchland_common::order::{Node, NodeKind, Tick};
use std::collections::BTreeSet;
use std::io::Write;

fn servers() -> Vec<(Node, Vec<Record>)> {
    let mut journals = history(Plan { ticks: 80, ..Plan::new(6) }).journals;
    journals.retain(|(node, _)| node.name.kind != NodeKind::Client);
    journals
}

fn tick_of(record: &Record) -> u64 {
    match record {
        Record::Tick(tick) => tick.tick.0,
        Record::End { .. } => u64::MAX,
        Record::Header(_) | Record::Snapshot(_) | Record::Gap { .. } => 0,
    }
}

/// Gives everybody's records of some ticks, then asks for lines.
fn in_steps(live: &mut Live, step: u64) -> Vec<Line> {
    let journals = servers();
    let mut lines = Vec::new();
    for from in (0..).step_by(step as usize) {
        let mut any = false;
        for (node, records) in &journals {
            for record in records.iter().filter(|record| {
                let tick = tick_of(record).min(1_000);
                (from..from + step).contains(&tick)
            }) {
                live.push(*node, record.clone());
                any = true;
            }
        }
        lines.extend(live.lines(20));
        if !any && from > 1_000 {
            break;
        }
    }
    lines
}

#[test]
fn what_is_shown_bit_by_bit_is_what_all_gives_at_once() {
    let all: BTreeSet<String> = order(&Journals::from_records(servers()), &OrderFilter::default())
        .map(|line| line.id)
        .collect();
    for step in [1, 7] {
        let mut live = Live::new(OrderFilter::default());
        let lines = in_steps(&mut live, step);
        let ids: Vec<String> = lines.iter().map(|line| line.id.clone()).collect();
        let once: BTreeSet<String> = ids.iter().cloned().collect();
        assert_eq!(ids.len(), once.len(), "nothing is shown twice");
        assert_eq!(once, all);
        assert!(live.is_over());
        let causes = lines.iter().filter(|line| !line.cause.is_empty()).count();
        assert!(causes > 100, "{causes}");
    }
}

#[test]
fn nothing_that_happened_before_somebody_looked_is_shown() {
    let mut live = Live::from_now(OrderFilter::default());
    for (node, records) in servers() {
        for record in records.into_iter().filter(|record| tick_of(record) < 40) {
            live.push(node, record);
        }
    }
    assert_eq!(live.newest(), Tick(39));
    live.begin();
    assert!(live.lines(20).is_empty());
    for (node, records) in servers() {
        for record in records.into_iter().filter(|record| tick_of(record) >= 40) {
            live.push(node, record);
        }
    }
    let lines = live.lines(20);
    assert!(lines.len() > 500 && lines.iter().all(|line| line.tick >= 40));
    let journals = Journals::from_records(servers());
    let all = order(&journals, &OrderFilter::default());
    let expected: BTreeSet<String> =
        all.filter(|line| line.tick >= 40).map(|line| line.id).collect();
    assert_eq!(lines.into_iter().map(|line| line.id).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn one_that_is_silent_is_waited_for_only_so_long() {
    let mut live = Live::new(OrderFilter::default());
    let journals = servers();
    let silent = journals[0].0;
    for (node, records) in &journals {
        for record in records.iter().filter(|record| tick_of(record) < 60) {
            if *node != silent || tick_of(record) < 10 {
                live.push(*node, record.clone());
            }
        }
    }
    let lines = live.lines(20);
    assert!(lines.iter().any(|line| line.tick == 58), "the others went on");
    let mut live = Live::new(OrderFilter::default());
    for (node, records) in &journals {
        let until = if *node == silent { 50 } else { 60 };
        for record in records.iter().filter(|record| tick_of(record) < until) {
            live.push(*node, record.clone());
        }
    }
    let newest = live.lines(20).iter().map(|line| line.tick).max();
    assert_eq!(newest, Some(48), "it is waited for");
}

#[test]
fn files_that_grow_are_followed_by_whole_records_and_damage_is_told_once() {
    let temp = tempfile::tempdir().unwrap();
    let (node, records) = servers().remove(0);
    let bytes = segment(&records);
    let path = temp.path().join(journal_file_name(node, 0));
    let mut file = std::fs::File::create(&path).unwrap();
    let mut follow = Follow::new(temp.path());
    let mut found = Vec::new();
    for part in bytes.chunks(bytes.len() / 50 + 1) {
        file.write_all(part).unwrap();
        found.extend(follow.more().unwrap());
    }
    let ticks = |records: &[Record]| records.iter().map(tick_of).collect::<Vec<_>>();
    let found: Vec<Record> = found.into_iter().map(|(_, record)| record).collect();
    assert_eq!(ticks(&found), ticks(&records));
    assert!(follow.faults().is_empty() && follow.more().unwrap().is_empty());

    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    let other = temp.path().join(journal_file_name(Node { ..node }, 1));
    std::fs::write(&other, &damaged).unwrap();
    std::fs::write(temp.path().join("cell-9-1-000000.journal"), b"something else").unwrap();
    let some = follow.more().unwrap();
    assert!(!some.is_empty() && some.len() < records.len());
    let told = follow.faults();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|fault| fault.contains("a record is damaged")), "{told:?}");
    assert!(follow.more().unwrap().is_empty() && follow.faults().is_empty(), "told once");
}
