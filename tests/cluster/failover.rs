//! Processes that are lost - killed, hung, back from the dead - and what becomes of their entities;
//! managers that are lost, and what that changes.

use crate::replay::replayed;
use crate::support::{Demo, Etcd, last_json, signal, stderr, until};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind, Tick};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// In how many ticks an audit sees each thing at least once.
pub const PLAY_TICKS: u64 = 120;

/// How long leases live, and what is longer: short here, as people run it in `make soak`.
fn leases() -> (&'static str, Duration) {
    match std::env::var_os("MARCH_SOAK") {
        Some(_) => ("5s", Duration::from_secs(8)),
        None => ("2s", Duration::from_millis(3_500)),
    }
}

fn outlive_a_lease() {
    std::thread::sleep(leases().1);
}

pub fn demo(more: &[&str]) -> Demo {
    let small = ["--bots", "40", "--wolves", "60", "--ttl", leases().0];
    Demo::start(&[&small, more].concat())
}

fn pid(demo: &Demo, name: &str) -> u32 {
    let pid = demo.file()["pids"][name].as_u64().unwrap_or_else(|| panic!("{name} has no pid"));
    u32::try_from(pid).unwrap()
}

pub fn send(demo: &Demo, name: &str, what: Signal) {
    signal(pid(demo, name), what);
}

pub fn status(demo: &Demo) -> Value {
    last_json(&demo.ask(&["status", "--json"]))
}

/// The lives that are registered, by name.
pub fn lives(status: &Value) -> BTreeMap<String, u64> {
    let members = status["members"].as_array().unwrap();
    let life =
        |m: &Value| (m["name"].as_str().unwrap().to_owned(), m["incarnation"].as_u64().unwrap());
    members.iter().map(life).collect()
}

fn owners_of_cells(status: &Value) -> BTreeSet<String> {
    let spaces = status["spaces"].as_array().unwrap().iter();
    let cells = spaces.flat_map(|s| s["cells"].as_array().unwrap());
    cells.map(|c| c["owner"].as_str().unwrap().to_owned()).collect()
}

/// A counter of all managers together: whichever of them leads.
fn counted(status: &Value, counter: &str) -> u64 {
    let members = status["members"].as_array().unwrap().iter();
    members.filter_map(|m| m["counters"][counter].as_u64()).sum()
}

/// Every entity with its owner's life.
fn owned(demo: &Demo) -> Vec<(u64, String, u64)> {
    let listed = demo.ask(&["entity", "ls", "--limit", "10000", "--json"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let entities = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let brief = |e: Value| {
        Some((e["id"].as_u64()?, e["owner"].as_str()?.to_owned(), e["incarnation"].as_u64()?))
    };
    entities.filter_map(brief).collect()
}

/// Waits until the cluster is ready, three cellapps own cells, and whoever lives is owned by a life
/// that is registered.
fn until_whole(demo: &Demo, but: Option<(&str, u64)>) -> Value {
    until("the cluster to be whole again", || {
        let status = status(demo);
        let lives = lives(&status);
        if status["ready"] != true || owners_of_cells(&status).len() != 3 {
            return None;
        }
        if but.is_some_and(|(name, old)| lives.get(name).is_none_or(|life| *life == old)) {
            return None;
        }
        let owned = owned(demo);
        let lives_on = |(_, owner, life): &(u64, String, u64)| lives.get(owner) == Some(life);
        (owned.len() >= 60 && owned.iter().all(lives_on)).then_some(status)
    })
}

/// For each entity that was restored after a verdict: ticks from its last one to its first.
fn restores(journals: &Path) -> Vec<u64> {
    let journals = marchland_observe::load(journals).unwrap();
    let (mut last, mut gaps) = (BTreeMap::<EntityId, Tick>::new(), Vec::new());
    for process in journals.processes().iter().filter(|p| p.node().name.kind == NodeKind::Base) {
        for record in (0..process.len()).filter_map(|i| process.record(i)) {
            for event in &record.events {
                match event {
                    Event::OwnerChanged { entity, why, last_tick: Some(tick), .. }
                        if format!("{why:?}") == "Verdict" =>
                    {
                        last.insert(*entity, *tick);
                    }
                    Event::FirstStep { entity, first_tick, .. } => {
                        gaps.extend(last.remove(entity).map(|l| first_tick.0.saturating_sub(l.0)));
                    }
                    _ => {}
                }
            }
        }
    }
    gaps.sort_unstable();
    gaps
}

/// Plays for long enough that an audit sees each thing at least once, ends the demo, and holds its
/// report against what must be true whatever died.
fn must_pass(demo: Demo) -> Vec<u64> {
    must_pass_and_keep(demo).0
}

/// The same, with the folder that it left.
pub fn must_pass_and_keep(demo: Demo) -> (Vec<u64>, tempfile::TempDir) {
    let played = status(&demo)["tick"].as_u64().unwrap() + PLAY_TICKS;
    until("everybody to have played", || (status(&demo)["tick"].as_u64()? > played).then_some(()));
    let (_, report, left) = demo.end_and_keep();
    let dir = left.path().join("demo");
    let why = || last_json(&crate::support::run(&["audit", dir.to_str().unwrap(), "--json"]));
    assert_eq!(report["audit"], "pass", "{report:#} {:#}", why());
    assert_eq!(report["commands"]["unanswered"], 0, "{report:#}");
    let (code, again) = replayed(&dir, &[]);
    assert_eq!(code, 0, "every life does again what it did: {again:#}");
    let gaps = restores(&dir.join("journals"));
    let (half, all) = (gaps.get(gaps.len() / 2), gaps.last());
    eprintln!("restored {} entities; ticks without one: p50 {half:?}, most {all:?}", gaps.len());
    (gaps, left)
}

#[test]
fn the_entities_of_a_killed_cellapp_live_on_and_its_next_life_gets_cells_again() {
    let demo = demo(&[]);
    let before = lives(&status(&demo))["cell-2"];
    let old_pid = pid(&demo, "cell-2");
    send(&demo, "cell-2", Signal::SIGKILL);
    let whole = until_whole(&demo, Some(("cell-2", before)));
    assert!(counted(&whole, "verdicts_dead") + counted(&whole, "verdicts_replaced") <= 1);
    assert_ne!(pid(&demo, "cell-2"), old_pid, "cluster.json names the new process");
    assert!(!must_pass(demo).is_empty(), "somebody was restored");
}

#[test]
fn a_cellapp_that_hung_for_longer_than_its_lease_comes_back_as_another_life_of_the_same_process() {
    let demo = demo(&[]);
    let before = lives(&status(&demo))["cell-2"];
    let its_pid = pid(&demo, "cell-2");
    send(&demo, "cell-2", Signal::SIGSTOP);
    until("its entities to live elsewhere", || {
        let owned = owned(&demo);
        (owned.len() >= 60 && owned.iter().all(|(_, owner, _)| owner != "cell-2")).then_some(())
    });
    outlive_a_lease();
    send(&demo, "cell-2", Signal::SIGCONT);
    let whole = until_whole(&demo, Some(("cell-2", before)));
    assert_eq!(counted(&whole, "verdicts_silent"), 1);
    assert_eq!(pid(&demo, "cell-2"), its_pid, "nobody had to start it again");
    assert!(!must_pass(demo).is_empty(), "somebody was restored");
}

#[test]
fn a_store_that_hangs_for_longer_than_every_lease_takes_nothing_from_anybody() {
    let etcd = Etcd::start();
    let demo = demo(&["--etcd", &etcd.url]);
    let before = lives(&status(&demo));
    signal(etcd.pid(), Signal::SIGSTOP);
    outlive_a_lease();
    signal(etcd.pid(), Signal::SIGCONT);
    let whole = until_whole(&demo, None);
    assert_eq!(lives(&whole), before, "everybody goes on as the same life");
    for verdict in ["verdicts_dead", "verdicts_silent", "verdicts_replaced"] {
        assert_eq!(counted(&whole, verdict), 0, "{verdict}");
    }
    assert!(must_pass(demo).is_empty(), "nobody was restored");
}

#[test]
fn without_its_leading_manager_a_cluster_goes_on_and_another_one_leads() {
    let demo = demo(&["--managers", "2", "--no-restart"]);
    let before = lives(&status(&demo));
    send(&demo, "manager-1", Signal::SIGKILL);
    // Orders go to the bases, whoever leads.
    let moved = last_json(&demo.ask(&["handoff", "--random", "6", "--json"]));
    assert!(moved["committed"].as_u64() > Some(0), "{moved:#}");
    // What needs a leader is refused in words until there is one.
    let created = until("a leader to make a space", || {
        let asked = demo.ask(&["space", "create", "7", "--bounds", "0", "0", "50", "50", "--json"]);
        let refused = asked.status.code() == Some(0);
        assert!(refused || stderr(&asked).contains("lead"), "{}", stderr(&asked));
        refused.then(|| last_json(&asked))
    });
    assert_eq!(created["done"], true, "{created:#}");
    // The new leader judges: a cellapp that dies now is missed.
    send(&demo, "cell-2", Signal::SIGKILL);
    until("its entities to live elsewhere", || {
        let owned = owned(&demo);
        (owned.len() >= 60 && owned.iter().all(|(_, owner, _)| owner != "cell-2")).then_some(())
    });
    let after =
        until("the cluster to be ready", || Some(status(&demo)).filter(|s| s["ready"] == true));
    let spaces: Vec<_> =
        after["spaces"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect();
    assert_eq!(spaces, [1, 2, 7], "spaces outlive whoever was asked for them");
    let alike = |name: &str| lives(&after).get(name) == before.get(name);
    assert!(["base-1", "base-2", "cell-1", "cell-3", "manager-2"].into_iter().all(alike));
    must_pass(demo);
}

#[test]
fn a_leader_that_hung_for_longer_than_its_lease_leads_no_more_and_passes_on_what_it_is_asked() {
    let demo = demo(&["--managers", "2"]);
    let managers = demo.file()["managers"].clone();
    let first = managers[0].as_str().unwrap().to_owned();
    let create = |at: &str, id: &str| {
        let bounds = ["--bounds", "0", "0", "50", "50"];
        let args = [&["space", "create", id][..], &bounds, &["--cluster", at, "--json"]].concat();
        crate::support::run(&args)
    };
    send(&demo, "manager-1", Signal::SIGSTOP);
    until("the other one to lead", || {
        (create(managers[1].as_str().unwrap(), "7").status.code() == Some(0)).then_some(())
    });
    send(&demo, "manager-1", Signal::SIGCONT);
    until("the first one to know that it leads no more", || {
        (create(&first, "8").status.code() == Some(0)).then_some(())
    });
    let whole = until_whole(&demo, None);
    assert_eq!(whole["spaces"].as_array().unwrap().len(), 4, "{whole:#}");
    for verdict in ["verdicts_dead", "verdicts_silent", "verdicts_replaced"] {
        assert_eq!(counted(&whole, verdict), 0, "nobody else was lost: {verdict}");
    }
    assert!(must_pass(demo).is_empty(), "nobody was restored");
}
