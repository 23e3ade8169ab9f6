//! A baseapp that is lost and not started again: what it kept goes on at another one, from its log.
//! One that only stands still is never replaced.

use crate::client::{Client, runtime};
use crate::failover::{PLAY_TICKS, demo, must_pass_and_keep, send, status};
use crate::off_on::{confirm, look};
use crate::processes::Processes;
use crate::support::until;
use marchland_common::journal::Event;
use marchland_common::order::{NodeKind, SlotId, Tick};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// How many bots play in a demo, each with one login.
const BOTS: usize = 40;
/// How many wolves each of two baseapps creates.
const WOLVES: &str = "10";

/// Two baseapps and two cellapps, and what somebody has whom the first baseapp keeps.
fn cluster() -> (Processes, Value) {
    let mut cluster = Processes::new();
    let all = ["--cells", "2", "--bases", "2", "--take-over-after", "1s"];
    cluster.server("manager-1", &all);
    for name in ["base-1", "base-2"] {
        start_base(&mut cluster, name);
    }
    ["cell-1", "cell-2"].iter().for_each(|name| cluster.server(name, &[]));
    cluster.until_ready();
    cluster.until_populated(20);
    let accounts = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"];
    let of_first = accounts.iter().map(|account| confirm(&cluster, account));
    let seen = of_first.into_iter().find(|seen| seen["base"] == "base-1");
    (cluster, seen.expect("one of eight is of the first baseapp"))
}

fn start_base(cluster: &mut Processes, name: &str) {
    cluster.server(name, &["--wolves", WOLVES, "--ttl", "2s"]);
}

/// How many slots a member keeps, while nothing is missing.
fn slots(status: &Value, name: &str) -> Option<u64> {
    let members = status["members"].as_array()?;
    let member = members.iter().find(|m| m["name"] == name)?;
    member["slots"].as_u64().filter(|_| status["ready"] == true)
}

/// What was confirmed; a wolf that bites changes other things.
fn diary(seen: &Value) -> &Value {
    &seen["durable"]["diary"]
}

fn until_slots(cluster: &Processes, of: &str, wanted: u64) {
    until(&format!("{of} to keep {wanted} slots"), || {
        (slots(&cluster.status(), of) == Some(wanted)).then_some(())
    });
}

#[test]
fn what_a_lost_baseapp_kept_goes_on_at_the_other_one_and_it_comes_back_empty_and_gets_its_share() {
    let (mut cluster, before) = cluster();
    let id = before["id"].as_u64().unwrap();
    cluster.signal("base-1", Signal::SIGKILL);
    cluster.ended("base-1");
    until_slots(&cluster, "base-2", 256);
    cluster.until_populated(20);
    let after = look(&cluster, id);
    assert_eq!((&after["base"], diary(&after)), (&"base-2".into(), diary(&before)));
    start_base(&mut cluster, "base-1");
    until_slots(&cluster, "base-1", 128);
    let after = look(&cluster, id);
    assert_eq!(diary(&after), diary(&before));
    let listed = cluster.ask(&["entity", "ls", "--limit", "1000", "--json"]);
    let listed = String::from_utf8_lossy(&listed.stdout).lines().count();
    assert!((20..=33).contains(&listed), "wolves are born only once: {listed}");
    // It serves: whoever comes in there is played.
    let runtime = runtime();
    let client = runtime.block_on(Client::login(&cluster.gateway("base-1"), "zoe"));
    assert_ne!(client.entity, id);
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn a_baseapp_that_stands_still_is_not_replaced_and_the_status_says_what_its_slots_wait_for() {
    let (mut cluster, before) = cluster();
    cluster.signal("base-1", Signal::SIGSTOP);
    let lost = until("somebody to be refused the log", || {
        let status = cluster.status();
        let lost = status["lost"].as_array()?.iter().find(|l| l["state"] == "refused").cloned();
        lost.filter(|_| status["ready"] == false)
    });
    assert_eq!((&lost["name"], &lost["slots"]), (&"base-1".into(), &128.into()), "{lost:#}");
    assert_eq!(lost["takers"][0], "base-2", "{lost:#}");
    assert!(lost["reason"].as_str().unwrap().contains("base-2 says: "), "{lost:#}");
    let status = cluster.status();
    let members = status["members"].as_array().unwrap();
    let other = members.iter().find(|m| m["name"] == "base-2").unwrap();
    assert_eq!(other["slots"], 128, "{other:#}");
    // It was given up. Its next life has its slots, be it that the other one had them for a moment.
    cluster.signal("base-1", Signal::SIGCONT);
    assert_eq!(cluster.ended("base-1").code(), Some(4), "{}", cluster.log_of("base-1"));
    start_base(&mut cluster, "base-1");
    cluster.until_ready();
    until_slots(&cluster, "base-1", 128);
    let after = look(&cluster, before["id"].as_u64().unwrap());
    assert_eq!(diary(&after), diary(&before));
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn clients_of_a_lost_baseapp_go_on_at_the_other_one_and_nobody_logs_in_anew() {
    let demo = demo(&["--no-restart", "--take-over-after", "2s"]);
    let settled = status(&demo)["tick"].as_u64().unwrap() + PLAY_TICKS / 2;
    until("bots to play", || (status(&demo)["tick"].as_u64()? > settled).then_some(()));
    let lost = status(&demo)["tick"].as_u64().unwrap();
    send(&demo, "base-1", Signal::SIGKILL);
    until("the other one to keep everything", || {
        (slots(&status(&demo), "base-2") == Some(256)).then_some(())
    });
    let (restored, left) = must_pass_and_keep(demo);
    assert!(restored.is_empty(), "nobody lost an owner: {restored:?}");
    let journals = left.path().join("demo/journals");
    let (slots, logins) = (adopted(&journals), logins(&journals));
    assert_eq!((slots.len(), logins), (128, BOTS), "no client logged in anew");
    let last = slots.values().max().unwrap().0;
    eprintln!("killed about tick {lost}, the last slot served elsewhere in tick {last}");
}

/// When each slot was first served from another's log.
fn adopted(journals: &Path) -> BTreeMap<SlotId, Tick> {
    let mut slots = BTreeMap::new();
    for (tick, event) in events(journals, NodeKind::Base) {
        if let Event::SlotAdopted { slot, .. } = event {
            slots.entry(slot).or_insert(tick);
        }
    }
    slots
}

fn logins(journals: &Path) -> usize {
    let all = events(journals, NodeKind::Client).into_iter();
    all.filter(|(_, event)| matches!(event, Event::ClientWelcome { resumed: false, .. })).count()
}

fn events(journals: &Path, kind: NodeKind) -> Vec<(Tick, Event)> {
    let journals = marchland_observe::load(journals).unwrap();
    let processes = journals.processes().iter().filter(|p| p.node().name.kind == kind);
    let records = processes.flat_map(|p| (0..p.len()).filter_map(move |i| p.record(i)));
    records.flat_map(|r| r.events.clone().into_iter().map(move |e| (r.tick, e))).collect()
}
