//! The demo runs, hands entities over, audits itself and leaves nothing behind.

use crate::support::{Demo, Etcd, is_alive, last_json, march, until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn must_be_good(report: &Value) {
    assert_eq!(report["audit"], "pass", "{report:#}");
    assert_eq!(report["commands"]["unanswered"], 0, "{report:#}");
    assert_eq!(report["ticks_doubled"], 0, "{report:#}");
    assert!(report["commands"]["sent"].as_u64() > Some(50), "{report:#}");
    assert!(report["handoffs"]["committed"].as_u64() >= Some(20), "{report:#}");
    let gaps = report["handoffs"]["gap"].as_object().unwrap().values();
    let ended = gaps.filter_map(Value::as_u64).sum::<u64>();
    assert!(ended > 0 && Some(ended) <= report["handoffs"]["committed"].as_u64(), "{report:#}");
}

#[test]
fn a_demo_with_the_stand_in_passes_its_own_audit() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("demo");
    let output = march()
        .args(["demo", "--for", "6s", "--json", "--bots", "40", "--dir", dir.to_str().unwrap()])
        .output()
        .unwrap();
    let report = last_json(&output);
    must_be_good(&report);
    assert_eq!(output.status.code(), Some(0));
    let again = march().args(["audit", dir.to_str().unwrap(), "--json"]).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "the same journals, judged again");
    assert_eq!(last_json(&again)["verdict"], "pass");
    the_audit_reads_the_logs_too(&dir);
}

fn audited(dir: &Path) -> Value {
    last_json(&march().args(["audit", dir.to_str().unwrap(), "--json"]).output().unwrap())
}

/// The largest segment of a base's log.
fn segment_of(log: &Path) -> PathBuf {
    let files = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path());
    let segments = files.filter(|path| path.extension().is_some_and(|end| end == "wal"));
    segments.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

/// Spoils what is on the disks of bases whose journals are right.
fn the_audit_reads_the_logs_too(dir: &Path) {
    let log = dir.join("journals/log-base-1");
    let segment = segment_of(&log);
    let whole = fs::read(&segment).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&segment, &damaged).unwrap();
    let verdict = audited(dir);
    assert_eq!(verdict["verdict"], "fail", "{verdict:#}");
    assert!(verdict["invariants"]["log-is-whole"]["violations"].as_u64() > Some(0));
    assert_eq!(fs::read(&segment).unwrap(), damaged, "an audit repairs nothing");

    // An end that is torn off is no damage, but it had been durable.
    fs::write(&segment, &whole[..middle]).unwrap();
    let verdict = audited(dir);
    assert_eq!(verdict["verdict"], "fail", "{verdict:#}");
    assert!(verdict["invariants"]["log-as-told"]["violations"].as_u64() > Some(0));
    assert_eq!(fs::read(&segment).unwrap().len(), middle, "an audit cuts nothing");

    fs::write(&segment, &whole).unwrap();
    assert_eq!(audited(dir)["verdict"], "pass");
    fs::rename(&log, dir.join("elsewhere")).unwrap();
    let verdict = audited(dir);
    assert_eq!(verdict["verdict"], "incomplete", "{verdict:#}");
    let missing = "the log of base-1 is not here";
    assert!(verdict["incomplete"].as_array().unwrap().contains(&missing.into()), "{verdict:#}");
}

#[test]
fn a_cluster_that_nobody_plays_in_passes_and_its_audit_says_what_did_not_happen() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("demo");
    let output = march()
        .args(["demo", "--for", "5s", "--json", "--bots", "0", "--dir", dir.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(last_json(&output)["audit"], "pass", "{:#}", last_json(&output));
    let verdict = audited(&dir);
    assert_eq!(verdict["verdict"], "pass", "{verdict:#}");
    assert_eq!(verdict["not_applicable"]["command-once"], "no command was sent", "{verdict:#}");
    assert_eq!(verdict["not_applicable"]["view-never-back"], "no client played", "{verdict:#}");
    assert!(verdict["invariants"]["single-owner"]["checked"].as_u64() > Some(100));
}

#[test]
fn a_demo_with_a_real_etcd_passes_its_own_audit() {
    let etcd = Etcd::start();
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("demo");
    let output = march()
        .args(["demo", "--for", "6s", "--json", "--bots", "40", "--etcd", &etcd.url])
        .args(["--dir", dir.to_str().unwrap()])
        .output()
        .unwrap();
    must_be_good(&last_json(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn no_process_outlives_its_demo_however_the_demo_ends() {
    let demo = Demo::start(&["--bots", "2", "--wolves", "20"]);
    let pids: Vec<u64> =
        demo.file()["pids"].as_object().unwrap().values().filter_map(Value::as_u64).collect();
    assert!(pids.len() >= 6 && pids.iter().all(|pid| is_alive(*pid)));
    drop(demo);
    until("all children to be gone", || (!pids.iter().any(|pid| is_alive(*pid))).then_some(()));
}
