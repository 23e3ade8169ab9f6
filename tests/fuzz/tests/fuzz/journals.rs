//! Journals: records, files, and what an audit makes of them.

use crate::recorded::{Counts, record, record_little, ticks};
use marchland_common::journal::frame::{FrameWriter, write_header};
use marchland_common::journal::{
    JOURNAL_FORMAT, JOURNAL_RECORD_MAX, Record, decode_record, encode_record, journal_file_name,
};
use marchland_common::order::Node;
use marchland_common::rng::Rng;
use marchland_fuzz::{Words, damaged, each_round, examples, pick};
use marchland_observe::{AuditOptions, Journals, audit, load, summary};
use std::path::Path;

/// What a decoder may reserve for each byte that it is given.
const BYTES_PER_BYTE: u64 = 200;
const BYTES_BESIDE: u64 = 64 << 10;

/// A journal with every kind of event.
fn every_event() -> Record {
    let events = examples(&mut Rng(2), &Words::default().with(1..9), 8);
    let report = record_little();
    let tick = ticks(&report.journals[0].1).next().unwrap().clone();
    Record::Tick(marchland_common::journal::TickRecord { events, ..tick })
}

#[test]
fn every_record_comes_back_equal_and_damaged_it_is_read_or_refused() {
    let report = record();
    let mut records: Vec<Record> = examples(&mut Rng(8), &Words::default().with(1..9), 20);
    records.push(every_event());
    for (_, journal) in &report.journals {
        records.extend(journal.iter().step_by(17).cloned());
    }
    let corpus: Vec<Vec<u8>> = records.iter().map(|r| encode_record(r).unwrap()).collect();
    let mut counts = Counts::default();
    let mut take = |bytes: &[u8]| {
        let mut read = None;
        let cost = allocation_counter::measure(|| read = decode_record(bytes).ok());
        let most = BYTES_PER_BYTE * bytes.len() as u64 + BYTES_BESIDE;
        assert!(cost.bytes_max <= most, "{} bytes took {}", bytes.len(), cost.bytes_max);
        let Some(record) = read else { return counts.add("refused") };
        let again = encode_record(&record).unwrap();
        assert_eq!(decode_record(&again).as_ref(), Ok(&record));
        counts.add("read");
    };
    corpus.iter().for_each(|bytes| take(bytes));
    each_round("journal records", 20_000, |rng| {
        let (bytes, other) = (pick(rng, &corpus), pick(rng, &corpus));
        take(&damaged(rng, bytes, other));
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        assert!(["read", "refused"].iter().all(|name| counts.of(name) > 3_000), "{counts:?}");
    }
}

fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let salt = write_header(&JOURNAL_FORMAT, &[], &mut bytes);
    let writer = FrameWriter::new(salt, JOURNAL_RECORD_MAX);
    for payload in payloads {
        // An empty record cannot be written.
        let _ = writer.write(payload, &mut bytes);
    }
    bytes
}

/// Every journal of a run as payloads.
fn payloads() -> Vec<(Node, Vec<Vec<u8>>)> {
    let encoded = |records: Vec<Record>| -> Vec<Vec<u8>> {
        records.iter().map(|record| encode_record(record).unwrap()).collect()
    };
    record_little().journals.into_iter().map(|(node, records)| (node, encoded(records))).collect()
}

fn write(dir: &Path, node: Node, bytes: &[u8]) {
    std::fs::write(dir.join(journal_file_name(node, 0)), bytes).unwrap();
}

fn ask_everything(journals: &Journals) {
    let verdict = audit(journals, &AuditOptions::default());
    assert_eq!(verdict.violations.len().min(1), usize::from(!verdict.violated().is_empty()));
    let _ = summary(journals);
}

#[test]
fn a_damaged_file_gives_a_beginning_of_the_journal_and_nothing_else() {
    let journals = payloads();
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<Vec<u8>> = journals.iter().map(|(_, records)| segment(records)).collect();
    for ((node, _), bytes) in journals.iter().zip(&files) {
        write(dir.path(), *node, bytes);
    }
    each_round("journal files", 60, |rng| {
        let at = rng.below(files.len() as u64) as usize;
        let node = journals[at].0;
        let other = pick(rng, &files);
        write(dir.path(), node, &damaged(rng, &files[at], other));
        let read = load(dir.path()).unwrap();
        if let Some(process) = read.process(node) {
            let whole = journals[at].1.iter().map(|bytes| decode_record(bytes).unwrap());
            let mut whole = whole.filter_map(|record| match record {
                Record::Tick(tick) => Some(tick),
                _ => None,
            });
            for index in 0..process.len() {
                assert_eq!(process.record(index).map(|r| r.into_owned()), whole.next(), "{index}");
            }
        }
        write(dir.path(), node, &files[at]);
    });
}

#[test]
fn records_that_are_whole_around_any_content_do_not_make_an_audit_panic() {
    let journals = payloads();
    let every_event = encode_record(&every_event()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    each_round("audits", 60, |rng| {
        for (node, records) in &journals {
            let mut records = records.clone();
            for _ in 0..rng.below(12) {
                let at = rng.below(records.len() as u64) as usize;
                let decoded = decode_record(&records[at]).unwrap();
                let spoiled = (0..20).find_map(|_| {
                    let bytes = damaged(rng, &records[at], &every_event);
                    decode_record(&bytes).ok().filter(|record| *record != decoded).map(|_| bytes)
                });
                records[at] = spoiled.unwrap_or_else(|| every_event.clone());
            }
            write(dir.path(), *node, &segment(&records));
        }
        ask_everything(&load(dir.path()).unwrap());
    });
}
