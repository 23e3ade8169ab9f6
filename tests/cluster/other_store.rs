//! Logs and stores that do not belong together, and logs that are lost or damaged: a baseapp stops
//! before it writes, and says what to do.

use crate::client::{Client, runtime};
use crate::off_on::{confirm, is_back, look, start_all};
use crate::processes::Processes;
use crate::support::{last_json, march, stderr, until};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

/// Every file of a folder, but for the lock.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let file = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    entries.map(file).filter(|(name, _)| name != "LOCK").collect()
}

fn recover(cluster: &Processes, more: &[&str]) -> Output {
    let dir = cluster.journals();
    march()
        .args(["recover", "--new-etcd", "--json", "--etcd", cluster.etcd(), "--dir"])
        .arg(dir)
        .args(more)
        .output()
        .unwrap()
}

/// Removes what the store knew.
fn forget(cluster: &Processes) {
    for end in ["", ".log", ".lock"] {
        let _ = std::fs::remove_file(format!("{}{end}", cluster.store_file().display()));
    }
}

#[test]
fn an_empty_store_is_refused_until_the_logs_made_it_theirs_and_then_everybody_comes_back() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    cluster.until_populated(20);
    let before = confirm(&cluster, "ann");
    let tick = cluster.status()["tick"].as_u64().unwrap();
    let in_use = recover(&cluster, &[]);
    assert_eq!(in_use.status.code(), Some(4), "{}", stderr(&in_use));
    assert!(stderr(&in_use).contains("in use"), "{}", stderr(&in_use));
    cluster.kill_all();
    forget(&cluster);
    cluster.store();
    // A manager founds the empty store anew.
    cluster.manager(2, 2);
    let logs = [1, 2].map(|n| cluster.journals().join(format!("log-base-{n}")));
    let written = logs.each_ref().map(|log| content(log));
    for name in ["base-1", "base-2"] {
        let refused = cluster.refused(name, &[]);
        assert_eq!(refused.status.code(), Some(4), "{}", stderr(&refused));
        let said = stderr(&refused);
        assert!(said.contains("foreign store") && said.contains("recover --new-etcd"), "{said}");
    }
    assert!(written == logs.each_ref().map(|log| content(log)), "nothing was written to a log");
    cluster.end_one("manager-1");
    // The logs of one baseapp are not those of all.
    let one = march()
        .args(["recover", "--new-etcd", "--etcd", cluster.etcd(), "--dir"])
        .arg(&logs[0])
        .output()
        .unwrap();
    assert_eq!(one.status.code(), Some(4), "{}", stderr(&one));
    // A manager leads until its lease is over.
    let recovered = until("the store to be nobody's", || {
        Some(recover(&cluster, &[])).filter(|done| !stderr(done).contains("in use"))
    });
    assert_eq!(recovered.status.code(), Some(0), "{}", stderr(&recovered));
    let said = last_json(&recovered);
    assert!(said["revision"].as_u64() > said["floor"].as_u64(), "{said:#}");
    assert_eq!((&said["slots"], said["logs"].as_array().unwrap().len()), (&256.into(), 2));
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    is_back(&cluster, "ann", &before);
    assert!(cluster.status()["tick"].as_u64().unwrap() > tick, "the cluster's ticks go on");
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn a_name_that_keeps_slots_does_not_begin_without_its_log_unless_the_loss_is_accepted() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1"], 1);
    cluster.until_populated(20);
    let before = confirm(&cluster, "ann");
    cluster.end();
    cluster.store();
    cluster.manager(1, 1);
    let log = cluster.journals().join("log-base-1");
    std::fs::remove_dir_all(&log).unwrap();
    let refused = cluster.refused("base-1", &[]);
    assert_eq!(refused.status.code(), Some(4), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("log lost"), "{}", stderr(&refused));
    assert!(!log.exists(), "nothing was written");
    cluster.server("base-1", &["--accept-loss"]);
    cluster.server("cell-1", &[]);
    cluster.until_ready();
    let again = runtime().block_on(Client::login(&cluster.gateway("base-1"), "ann"));
    let lost = before["id"].as_u64().unwrap();
    assert!(again.entity > 1 << 46 && lost < 1 << 46, "{} after {lost}", again.entity);
    assert_eq!(look(&cluster, again.entity)["durable"]["diary"].as_str().unwrap_or(""), "");
    cluster.end();
}

#[test]
fn a_log_with_a_damaged_place_is_not_served_and_not_written_to() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1"], 1);
    cluster.until_populated(20);
    confirm(&cluster, "ann");
    cluster.end();
    let log = cluster.journals().join("log-base-1");
    let mut segments = content(&log);
    segments.retain(|name, _| name.ends_with(".wal"));
    let (name, mut bytes) = segments.pop_first().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(log.join(&name), &bytes).unwrap();
    cluster.store();
    cluster.manager(1, 1);
    let written = content(&log);
    let refused = cluster.refused("base-1", &[]);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(4), "{said}");
    for word in ["damaged log", &name, "at byte", "whole", "starting again does not help"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(written == content(&log), "nothing was written to it");
    cluster.end();
}
