//! Processes that stand still and go on.

use crate::processes::Processes;
use crate::support::{last_json, until};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// What each server does now and then, by the counter of it, and how often at most.
const PERIODIC: [(&str, Duration); 4] = [
    ("etcd_watch_questions", Duration::from_millis(500)),
    ("etcd_self_checks", Duration::from_millis(1_250)),
    ("etcd_lease_renewals", Duration::from_millis(1_600)),
    ("etcd_lists", Duration::from_secs(15)),
];
const SERVERS: [&str; 3] = ["cell-1", "cell-2", "base-1"];

/// How long they stand still: many periods of each job in `make soak`, some of the frequent ones
/// here.
fn pause() -> Duration {
    Duration::from_secs(if std::env::var_os("MARCH_SOAK").is_some() { 20 } else { 3 })
}

/// Everything on a host stands still at once, as when a laptop is closed: nobody is missed by
/// anybody, and nobody makes up for what it did not do.
#[test]
fn processes_that_stood_still_go_on_and_make_up_for_nothing() {
    let mut cluster = Processes::of(2, 40);
    let everybody = || SERVERS.iter().chain(&["manager-1"]);
    until("every frequent job to have begun", || {
        let begun = |name| PERIODIC[..3].iter().all(|(job, _)| cluster.count(name, job) > 0);
        SERVERS.iter().all(|name| begun(name)).then_some(())
    });
    // One of them has just looked at its own key, so that what it makes up for shows exactly.
    let (watched, job) = ("cell-1", "etcd_self_checks");
    let looked = cluster.count(watched, job);
    until("it to look again", || (cluster.count(watched, job) > looked).then_some(()));
    let asked = Instant::now();
    let before = SERVERS.map(|name| cluster.counters(name));
    everybody().for_each(|name| cluster.signal(name, Signal::SIGSTOP));
    let stopped = Instant::now();
    std::thread::sleep(pause());
    let stood_still = stopped.elapsed();
    everybody().for_each(|name| cluster.signal(name, Signal::SIGCONT));
    // A few ticks after waking, whatever was due has begun.
    for (name, before) in SERVERS.iter().zip(&before) {
        until("ticks after the pause", || {
            (cluster.count(name, "ticks_run") > before["ticks_run"] + 10).then_some(())
        });
    }
    let after = SERVERS.map(|name| cluster.counters(name));
    let ran = asked.elapsed() - stood_still;
    for ((name, before), after) in SERVERS.iter().zip(&before).zip(&after) {
        for (counter, period) in PERIODIC {
            let count = |counts: &std::collections::BTreeMap<String, u64>| {
                counts.get(counter).copied().unwrap_or(0)
            };
            let begun = count(after) - count(before);
            // In its time, and once for all that was missed; one more may have been due just then.
            let just_then = u128::from((*name, counter) != (watched, job));
            let in_time = just_then + ran.as_millis() / period.as_millis();
            // After so long a pause each looks at its own key before it goes on.
            let asks = if counter == "etcd_self_checks" { "pauses_long" } else { "" };
            let asked = u128::from(after.get(asks).copied().unwrap_or(0));
            assert!(
                u128::from(begun) <= in_time + 1 + asked,
                "{name} began {counter} {begun} times in {ran:?}"
            );
        }
        assert!(after["ticks_dropped"] > before["ticks_dropped"], "{name} dropped what it missed");
    }
    cluster.until_ready();
    cluster.until_populated(40);
    let moved = last_json(&cluster.ask(&["handoff", "--random", "6", "--json"]));
    assert!(moved["committed"].as_u64() > Some(0), "{moved:#}");
    cluster.end();
    cluster.must_not_fail_the_audit();
}

/// Two that stand still until the store has forgotten them: they cannot know whether their lives
/// were given up meanwhile, and ask before they take anything in.
#[test]
fn who_was_stopped_until_its_lease_ended_asks_the_store_before_it_goes_on() {
    const STOPPED: [&str; 2] = ["cell-1", "base-1"];
    let mut cluster = Processes::new();
    cluster.manager(2, 1);
    cluster.server("base-1", &["--wolves", "40", "--ttl", "2s"]);
    cluster.server("cell-1", &["--ttl", "2s"]);
    cluster.server("cell-2", &[]);
    cluster.until_ready();
    cluster.until_populated(40);
    let before = STOPPED.map(|name| cluster.health(name).unwrap().incarnation);
    STOPPED.iter().for_each(|name| cluster.signal(name, Signal::SIGSTOP));
    until("both leases to end", || {
        let status = cluster.status();
        let members = status["members"].as_array()?;
        let names: Vec<&str> = members.iter().filter_map(|m| m["name"].as_str()).collect();
        let forgotten = STOPPED.iter().all(|name| !names.contains(name));
        (forgotten && names.contains(&"cell-2")).then_some(())
    });
    STOPPED.iter().for_each(|name| cluster.signal(name, Signal::SIGCONT));
    for (name, incarnation) in STOPPED.iter().zip(before) {
        until("an answer of the store", || {
            (cluster.count(name, "pauses_proven") > 0).then_some(())
        });
        assert_eq!(cluster.count(name, "pauses_unanswered"), 0, "{}", cluster.log_of(name));
        assert_eq!(cluster.health(name).unwrap().incarnation, incarnation, "the same life");
    }
    cluster.until_ready();
    cluster.until_populated(40);
    until("a handoff", || {
        let moved = last_json(&cluster.ask(&["handoff", "--random", "6", "--json"]));
        (moved["committed"].as_u64() > Some(0)).then_some(())
    });
    cluster.end();
    cluster.must_not_fail_the_audit();
}
