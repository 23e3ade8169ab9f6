//! Processes that end, asked or killed, while everybody talks to them.

use crate::client::{Client, runtime};
use crate::processes::Processes;
use crate::support::{last_json, until};
use marchland_proto::client::down;
use nix::sys::signal::Signal;

/// The id of any entity, and who owns it.
fn somebody(cluster: &Processes, wanted: impl Fn(&str) -> bool) -> String {
    let listed = cluster.ask(&["entity", "ls", "--limit", "200", "--json"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let entities = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let mut found = entities.filter(|e| wanted(e["owner"].as_str().unwrap_or_default()));
    found.next().unwrap_or_else(|| panic!("nobody like that: {text}"))["id"].to_string()
}

#[test]
fn who_is_asked_to_end_does_so_with_its_streams_open_and_whoever_stays_takes_over() {
    let mut cluster = Processes::of(2, 40);
    let gateway = cluster.gateway("base-1");
    let runtime = runtime();
    let mut client = runtime.block_on(Client::login(&gateway, "ann"));
    cluster.signal("cell-1", Signal::SIGTERM);
    assert_eq!(cluster.ended("cell-1").code(), Some(0), "{}", cluster.log_of("cell-1"));
    // It handed over what it had.
    let owner = |owner: &str| owner == "cell-2";
    let id = somebody(&cluster, owner);
    let seen = last_json(&cluster.ask(&["entity", "get", &id, "--json"]));
    assert_eq!(seen["owner"], "cell-2", "{seen:#}");
    cluster.signal("base-1", Signal::SIGINT);
    assert_eq!(cluster.ended("base-1").code(), Some(0), "{}", cluster.log_of("base-1"));
    // The client's stream ended as well; what came before that was for it.
    runtime.block_on(async {
        while let Some(what) = client.next().await {
            assert!(!matches!(what, down::What::Refused(_)), "{what:?}");
        }
    });
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn a_killed_cellapp_comes_back_at_its_address_as_another_life_and_is_handed_entities_again() {
    let mut cluster = Processes::new();
    cluster.manager(2, 1);
    cluster.server("base-1", &["--wolves", "40"]);
    cluster.server("cell-1", &[]);
    cluster.server("cell-2", &[]);
    cluster.until_ready();
    cluster.until_populated(40);
    let (door, first) = (cluster.door("cell-2"), cluster.health("cell-2").unwrap().incarnation);
    let id = somebody(&cluster, |owner| owner == "cell-1");
    // It dies with an order to hand something over to it under way.
    let ordered = std::thread::scope(|scope| {
        let order = scope.spawn(|| cluster.ask(&["handoff", &id, "--to", "cell-2", "--json"]));
        cluster.signal("cell-2", Signal::SIGKILL);
        order.join().unwrap()
    });
    let result = last_json(&ordered)["result"].clone();
    assert!(result.is_string(), "an order ends, whoever dies: {ordered:?}");
    assert_eq!(cluster.ended("cell-2").code(), None, "it was killed");
    cluster.server("cell-2", &["--listen", &door]);
    cluster.until_ready();
    cluster.until_populated(40);
    let second = cluster.health("cell-2").unwrap().incarnation;
    assert!(second > first, "{second} after {first}");
    let id = somebody(&cluster, |owner| owner == "cell-1");
    // Until its base has heard the new life, orders are aborted with that reason.
    let moved = until("an order to the new life to be carried out", || {
        let moved = last_json(&cluster.ask(&["handoff", &id, "--to", "cell-2", "--json"]));
        (moved["result"] != "aborted").then_some(moved)
    });
    assert_eq!((&moved["result"], &moved["owner"]), (&"committed".into(), &"cell-2".into()));
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn who_hung_while_another_process_took_its_name_ends_with_code_4_and_says_who_holds_it() {
    let mut cluster = Processes::new();
    cluster.manager(2, 1);
    cluster.server("base-1", &["--wolves", "20", "--ttl", "2s"]);
    cluster.server("cell-1", &["--ttl", "2s"]);
    cluster.server("cell-2", &[]);
    cluster.until_ready();
    cluster.until_populated(20);
    // A baseapp without its predecessor's log says so unless it is told to go on.
    for (name, more) in [("cell-1", &[][..]), ("base-1", &["--accept-loss"])] {
        cluster.signal(name, Signal::SIGSTOP);
        cluster.successor_elsewhere(name, more);
        cluster.signal(name, Signal::SIGCONT);
        assert_eq!(cluster.ended(name).code(), Some(4), "{}", cluster.log_of(name));
        let said = cluster.log_of(name);
        let why = ["name is now held by", "name is held by", "given up as Replaced by"];
        assert!(why.iter().any(|text| said.contains(text)), "{said}");
    }
}
