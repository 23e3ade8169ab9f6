//! Journals from files: whole, torn, damaged, misplaced.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing::{History, Plan, history, segment};
use crate::{AuditOptions, Outcome, audit};
use marchland_common::journal::journal_file_name;
use std::fs;
use std::path::Path;

fn small() -> History {
    history(Plan { entities: 4, busy_until: 30, ticks: 140, ..Plan::new(3) })
}

fn judged(dir: &Path) -> crate::Verdict {
    let options = AuditOptions { answer_within: 100, ..AuditOptions::default() };
    let options = options.without(&["handed-over-in-time", "tick-not-doubled"]);
    let options = options.without(&AuditOptions::LOGS);
    audit(&load(dir).unwrap(), &options)
}

#[test]
fn a_folder_gives_the_same_verdict_as_the_records_in_memory() {
    let (history, dir) = (small(), tempfile::tempdir().unwrap());
    history.write(dir.path());
    fs::create_dir(dir.path().join("base-1")).unwrap();
    fs::write(dir.path().join("base-1/000001.wal"), b"a log, which is no journal").unwrap();
    let loaded = load(dir.path()).unwrap();
    let plain = Journals::from_records(history.journals);
    assert_eq!(loaded.processes().len(), plain.processes().len());
    for (a, b) in loaded.processes().iter().zip(plain.processes()) {
        assert_eq!((a.node(), a.len(), a.end()), (b.node(), b.len(), b.end()));
        assert_eq!(a.header(), b.header());
        assert!((0..a.len()).all(|at| a.record(at) == b.record(at)));
    }
    let options = AuditOptions::default();
    assert_eq!(audit(&loaded, &options), audit(&plain, &options));
}

#[test]
fn segments_of_a_life_go_on_in_their_order_and_a_missing_one_is_told() {
    let (history, dir) = (small(), tempfile::tempdir().unwrap());
    history.write(dir.path());
    let (node, records) = &history.journals[0];
    let half = records.len() / 2;
    let header = |number: u32| match &records[0] {
        Record::Header(header) => {
            Record::Header(JournalHeader { segment: number, ..header.clone() })
        }
        other => panic!("{other:?} is no header"),
    };
    let later: Vec<Record> = [header(1)].into_iter().chain(records[half..].to_vec()).collect();
    fs::write(dir.path().join(journal_file_name(*node, 0)), segment(&records[..half])).unwrap();
    fs::write(dir.path().join(journal_file_name(*node, 1)), segment(&later)).unwrap();
    let whole = load(dir.path()).unwrap();
    assert_eq!(whole.process(*node).unwrap().len(), records.len() - 2);
    assert_eq!(judged(dir.path()).verdict, Outcome::Pass);

    fs::remove_file(dir.path().join(journal_file_name(*node, 0))).unwrap();
    let cut = load(dir.path()).unwrap();
    let faults = cut.process(*node).unwrap().faults();
    assert_eq!(faults, ["segments 0 to 0 are missing"]);
    let verdict = judged(dir.path());
    assert!(verdict.violated().is_empty(), "{:?}", verdict.violations);
    assert_eq!(verdict.verdict, Outcome::Incomplete);
}

#[test]
fn a_torn_end_loses_nothing_that_had_an_effect_and_damage_is_told() {
    let (history, dir) = (small(), tempfile::tempdir().unwrap());
    history.write(dir.path());
    let name = journal_file_name(history.journals[1].0, 0);
    let path = dir.path().join(name);
    let bytes = fs::read(&path).unwrap();
    let node = history.journals[1].0;

    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let torn = load(dir.path()).unwrap();
    assert!(torn.process(node).unwrap().is_whole());
    assert_eq!(torn.process(node).unwrap().end(), None);

    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let broken = load(dir.path()).unwrap();
    assert!(broken.process(node).unwrap().faults()[0].contains("damaged at byte"));
    let verdict = judged(dir.path());
    assert!(verdict.violated().is_empty(), "{:?}", verdict.violations);
    assert_eq!(verdict.verdict, Outcome::Incomplete);

    for cut in [0, 3, 19, 25] {
        fs::write(&path, &bytes[..cut]).unwrap();
        let begun = load(dir.path()).unwrap();
        assert!(begun.process(node).unwrap().is_empty(), "{cut}");
    }
}

#[test]
fn files_that_are_no_journal_are_told_and_nobody_s_are_strays() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.journal"), b"dear diary").unwrap();
    fs::write(dir.path().join("cell-1-5-000000.journal"), b"no journal either").unwrap();
    fs::write(dir.path().join("cell-2-6-000000.txt"), b"passed over").unwrap();
    let journals = load(dir.path()).unwrap();
    assert_eq!(journals.processes().len(), 1);
    assert!(!journals.processes()[0].is_whole());
    assert_eq!(journals.strays().len(), 1);
    assert!(journals.strays()[0].contains("notes.journal"));
    assert_eq!(judged(dir.path()).verdict, Outcome::Incomplete);
}

#[test]
fn a_file_under_another_s_name_is_told() {
    let (history, dir) = (small(), tempfile::tempdir().unwrap());
    history.write(dir.path());
    let (mine, other) = (history.journals[0].0, history.journals[1].0);
    let path = |node| dir.path().join(journal_file_name(node, 0));
    fs::rename(path(mine), dir.path().join(journal_file_name(mine, 7))).unwrap();
    let journals = load(dir.path()).unwrap();
    assert!(journals.process(mine).unwrap().faults()[0].contains("says that it is segment 0"));
    fs::copy(path(other), dir.path().join("copy.journal")).unwrap();
    let journals = load(dir.path()).unwrap();
    assert_eq!(journals.process(other).unwrap().faults(), ["segment 0 is there twice"]);
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let error = load(&missing).unwrap_err();
    assert!(error.to_string().contains("nowhere"));
    assert!(load(dir.path()).unwrap().processes().is_empty());
}
