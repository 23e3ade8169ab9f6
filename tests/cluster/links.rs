//! What goes over the links of real processes, and what a link does that swallows everything.

use crate::processes::Processes;
use crate::support::{Demo, free_port, last_json, until};
use marchland_chaos::{Direction, Proxy, Way};
use marchland_common::order::Node;
use marchland_observe::load;
use std::collections::BTreeMap;

/// Between each cellapp or baseapp and each of its peers, at most one bundle, one message and one
/// flush for each output moment.
#[test]
fn one_message_and_one_flush_for_each_peer_and_output_moment_of_a_whole_demo() {
    let demo = Demo::start(&["--bots", "20", "--wolves", "100", "--cells", "3"]);
    // Some hundred ticks of life.
    let ran = |status: &serde_json::Value| {
        let members = status["members"].as_array().unwrap().clone();
        members
            .into_iter()
            .filter(|m| m["kind"] == "cell" || m["kind"] == "base")
            .map(|m| (m["name"].as_str().unwrap().to_owned(), m["counters"].clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let counted = until("some hundred ticks", || {
        let counted = ran(&last_json(&demo.ask(&["status", "--json"])));
        let enough = |c: &serde_json::Value| c["ticks_run"].as_u64() > Some(150);
        (counted.len() == 5 && counted.values().all(enough)).then_some(counted)
    });
    let (_, report, dir) = demo.end_and_keep();
    assert_ne!(report["audit"], "fail", "{report:#}");
    let journals = load(&dir.path().join("demo").join("journals")).unwrap();
    let mut of_bundles: BTreeMap<String, u64> = BTreeMap::new();
    for process in journals.processes() {
        for at in 0..process.len() {
            let record = process.record(at).unwrap();
            let mut peers: Vec<Node> = record.sent.iter().map(|bundle| bundle.peer).collect();
            *of_bundles.entry(process.node().name.to_string()).or_default() += peers.len() as u64;
            peers.sort_unstable();
            let all = peers.len();
            peers.dedup();
            assert_eq!(
                peers.len(),
                all,
                "{} at {} {:?}",
                process.node(),
                record.tick,
                record.moment
            );
        }
    }
    for (name, counts) in counted {
        let count = |counter: &str| counts[counter].as_u64().unwrap();
        let (messages, flushes, bundles) =
            (count("link_messages"), count("link_flushes"), of_bundles[&name]);
        assert!(messages > 150 && flushes > 150, "{name}: {messages} messages, {flushes} flushes");
        // The journals go on for a while after the counters were read.
        assert!(messages <= bundles, "{name}: {messages} messages for {bundles} bundles");
        assert!(flushes <= messages, "{name}: {flushes} flushes for {messages} messages");
    }
}

#[test]
fn a_link_that_swallows_everything_is_noticed_at_both_ends_and_loses_nothing() {
    let io = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let io = io.unwrap();
    let mut cluster = Processes::new();
    cluster.manager(2, 1);
    cluster.server("base-1", &["--wolves", "60"]);
    cluster.server("cell-1", &[]);
    let door = format!("127.0.0.1:{}", free_port());
    let proxy = io.block_on(async { Proxy::to(door.parse().unwrap()).unwrap() });
    cluster.server_behind("cell-2", &door, &proxy.addr().to_string());
    cluster.until_ready();
    cluster.until_populated(60);
    let names = ["base-1", "cell-1", "cell-2"];
    let ended = |name: &str| cluster.count(name, "link_disconnections");
    let (before, connected) = (names.map(ended), cluster.count("base-1", "link_connections"));
    // Nothing comes to it any more, from anybody, and its answers go nowhere; what it dials itself
    // still works.
    proxy.set(Direction::Up, Way::Discard);
    proxy.set(Direction::Down, Way::Discard);
    until("the dialing ends to notice", || {
        (ended("base-1") > before[0] && ended("cell-1") > before[1]).then_some(())
    });
    until("the dialed end to notice both", || (ended("cell-2") >= before[2] + 2).then_some(()));
    assert!(proxy.counts().up.discarded > 0);
    io.block_on(proxy.heal());
    until("new connections", || {
        (cluster.count("base-1", "link_connections") > connected).then_some(())
    });
    cluster.until_ready();
    cluster.until_populated(60);
    let moved = until("entities to be handed over again", || {
        let moved = last_json(&cluster.ask(&["handoff", "--random", "6", "--json"]));
        (moved["committed"].as_u64() > Some(0)).then_some(moved)
    });
    assert_eq!(moved["timeout"], 0, "{moved:#}");
    for name in names {
        assert_eq!(cluster.count(name, "link_frames_lost"), 0, "{name}");
    }
    cluster.end();
    cluster.must_not_fail_the_audit();
}
