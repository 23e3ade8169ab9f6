//! The demo runs, hands entities over, audits itself and leaves nothing behind.

use crate::support::{Demo, Etcd, is_alive, last_json, march, until};
use serde_json::Value;

fn must_be_good(report: &Value) {
    assert_eq!(report["audit"], "pass", "{report:#}");
    assert_eq!(report["commands"]["unanswered"], 0, "{report:#}");
    assert_eq!(report["ticks_doubled"], 0, "{report:#}");
    assert!(report["commands"]["sent"].as_u64() > Some(50), "{report:#}");
    assert!(report["handoffs"]["committed"].as_u64() >= Some(20), "{report:#}");
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
