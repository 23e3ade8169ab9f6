//! Processes that are drained and started again under load, and what nobody notices of it.

use crate::failover::{PLAY_TICKS, demo, lives, must_pass_and_keep, send, status};
use crate::support::{Demo, last_json, stderr, until};
use marchland_common::journal::{Event, TickRecord};
use marchland_common::order::NodeKind;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::path::Path;

/// How many bots play, each with one login.
const BOTS: usize = 40;

fn member<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    status["members"].as_array().unwrap().iter().find(|m| m["name"] == name)
}

fn cells_of(status: &Value, name: &str) -> usize {
    let spaces = status["spaces"].as_array().unwrap().iter();
    let cells = spaces.flat_map(|s| s["cells"].as_array().unwrap());
    cells.filter(|c| c["owner"] == name).count()
}

/// Drains it, waits until nothing is left there, and looks.
fn drain(demo: &Demo, name: &str) {
    let output = demo.ask(&["drain", name, "--wait", "--json"]);
    let drained = last_json(&output);
    assert_eq!(output.status.code(), Some(0), "{drained:#} {}", stderr(&output));
    assert_eq!((&drained["ordered"], &drained["drained"]), (&true.into(), &true.into()));
    let status = status(demo);
    let member = member(&status, name).unwrap_or_else(|| panic!("{name} stays: {status:#}"));
    assert_eq!(member["state"], "draining", "{member:#}");
    let left = ["reals", "entities", "slots"].map(|what| member[what].as_u64());
    assert_eq!((left, cells_of(&status, name)), ([Some(0); 3], 0), "{member:#}");
}

/// Asks it to end; whoever looks after the demo starts it again. Waits until it has its share.
fn restart(demo: &Demo, name: &str) {
    let before = lives(&status(demo))[name];
    send(demo, name, Signal::SIGTERM);
    until("it to be there again with its share", || {
        let status = status(demo);
        let is_next = lives(&status).get(name).is_some_and(|life| *life != before);
        let slots = member(&status, name)?["slots"].as_u64()?;
        let has_share =
            if name.starts_with("base") { slots >= 100 } else { cells_of(&status, name) > 0 };
        (is_next && has_share && status["ready"] == true).then_some(())
    });
}

/// How often something happened at processes of a kind.
fn count(journals: &Path, kind: NodeKind, what: impl Fn(&str, &Event) -> bool) -> usize {
    let journals = marchland_observe::load(journals).unwrap();
    let processes = journals.processes().iter().filter(|p| p.node().name.kind == kind);
    let all = processes.map(|process| {
        let name = process.node().name.to_string();
        let records = (0..process.len()).filter_map(|i| process.record(i));
        let of_record = |r: &TickRecord| r.events.iter().filter(|e| what(&name, e)).count();
        records.map(|record| of_record(&record)).sum::<usize>()
    });
    all.sum()
}

#[test]
fn who_is_drained_gives_everything_away_and_serves_again_after_a_restart_and_no_client_notices() {
    let demo = demo(&[]);
    let settled = status(&demo)["tick"].as_u64().unwrap() + PLAY_TICKS / 2;
    until("bots to play", || (status(&demo)["tick"].as_u64()? > settled).then_some(()));

    drain(&demo, "base-1");
    assert_eq!(member(&status(&demo), "base-2").unwrap()["slots"], 256);
    restart(&demo, "base-1");
    // Whoever is only asked to end gives its slots away as well, in the time that it has.
    restart(&demo, "base-2");

    let hasty = demo.ask(&["drain", "cell-2", "--wait", "--within", "100ms", "--json"]);
    let left = last_json(&hasty);
    assert_eq!(hasty.status.code(), Some(5), "{left:#} {}", stderr(&hasty));
    assert_eq!((&left["ordered"], &left["drained"]), (&true.into(), &false.into()));
    drain(&demo, "cell-2");
    restart(&demo, "cell-2");

    let (restored, left) = must_pass_and_keep(demo);
    assert!(restored.is_empty(), "nobody lost an owner: {restored:?}");
    let journals = left.path().join("demo/journals");
    let logins = count(&journals, NodeKind::Client, |_, event| {
        matches!(event, Event::ClientWelcome { resumed: false, .. })
    });
    assert_eq!(logins, BOTS, "no client logged in anew");
    let given = count(&journals, NodeKind::Base, |name, event| {
        name == "base-2" && matches!(event, Event::SlotGiven { .. })
    });
    assert!(given >= 256, "base-2 gave away its share twice: {given}");
}

#[test]
fn an_order_to_drain_that_makes_no_sense_is_refused_with_its_exit_code() {
    let nowhere = ["--cluster", "http://127.0.0.1:1"];
    for (args, code) in [
        (&["drain", "moon"][..], 2),
        (&["drain"], 2),
        (&["drain", "cell-1", "--wait", "--within", "5"], 2),
        (&["drain", "cell-1", "--wait", "--within", "10ms"], 2),
        (&["drain", "cell-1"], 6),
    ] {
        let output = crate::support::run(&[args, &nowhere].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
