//! The whole cluster off and on again: everybody comes back, with what was confirmed.

use crate::client::{Client, command, runtime};
use crate::processes::Processes;
use crate::support::{Etcd, last_json};
use marchland_frontier_core::Method;
use marchland_proto::client::answer;
use marchland_runtime::coord::{CoordClient, CoordOptions, Key, MetaValue, Txn};
use marchland_runtime::link::PROTO;
use serde_json::Value;

const WOLVES: u32 = 20;

/// Starts everybody but the store; wolves are born only into an empty log.
pub fn start_all(cluster: &mut Processes, cells: &[&str], bases: u16) {
    cluster.manager(u16::try_from(cells.len()).unwrap(), bases);
    let wolves = (WOLVES / u32::from(bases)).to_string();
    for n in 1..=bases {
        cluster.server(&format!("base-{n}"), &["--wolves", &wolves]);
    }
    cells.iter().for_each(|name| cluster.server(name, &[]));
}

/// A client logs in and has something confirmed. What its entity holds durably then.
pub fn confirm(cluster: &Processes, account: &str) -> Value {
    let runtime = runtime();
    let mut client = runtime.block_on(Client::login(&cluster.gateway("base-1"), account));
    let write = Method::Write(format!("dear diary, {account}").into_bytes());
    runtime.block_on(async {
        let said = command(1, client.entity, write.name(), write.args());
        client.up.send(said).await.unwrap();
        let outcome = client.answer().await;
        assert!(matches!(outcome, answer::Outcome::Applied(_)), "{outcome:?}");
    });
    let seen = look(cluster, client.entity);
    assert!(seen["durable"]["diary"].as_str().is_some_and(|text| !text.is_empty()), "{seen:#}");
    seen
}

/// An entity as its base has it.
pub fn look(cluster: &Processes, entity: u64) -> Value {
    last_json(&cluster.ask(&["entity", "get", &entity.to_string(), "--json"]))
}

/// The same account plays the same entity, which holds what was confirmed, at the same base and
/// under a higher epoch; and everybody else is there too.
pub fn is_back(cluster: &Processes, account: &str, before: &Value) {
    cluster.until_populated(WOLVES + 1);
    let runtime = runtime();
    let client = runtime.block_on(Client::login(&cluster.gateway("base-1"), account));
    assert_eq!(client.entity, before["id"].as_u64().unwrap());
    let after = look(cluster, client.entity);
    assert_eq!(after["durable"], before["durable"]);
    assert_eq!(after["base"], before["base"]);
    assert!(after["epoch"].as_u64() > before["epoch"].as_u64(), "{after:#} after {before:#}");
    let listed = cluster.ask(&["entity", "ls", "--limit", "1000", "--json"]);
    let count = String::from_utf8_lossy(&listed.stdout).lines().count();
    assert_eq!(count, WOLVES as usize + 1, "nobody is lost and nobody is there twice");
}

/// The value of `meta`, changed first if that is asked for.
fn meta(cluster: &Processes, change: Option<&dyn Fn(&mut MetaValue)>) -> MetaValue {
    runtime().block_on(async {
        let options = CoordOptions::new("march");
        let coord = CoordClient::connect(&[cluster.etcd()], options).await.unwrap();
        let key = coord.keys().key(Key::Meta);
        let mut meta: MetaValue = coord.get(&key).await.unwrap().unwrap().json(&key).unwrap();
        if let Some(change) = change {
            change(&mut meta);
            let value = serde_json::to_vec(&meta).unwrap();
            coord.txn(Txn::new().put(key, value)).await.unwrap();
        }
        meta
    })
}

#[test]
fn a_cluster_that_is_off_goes_on_under_the_protocol_of_the_build_that_it_is_started_with() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1"], 1);
    cluster.until_populated(WOLVES);
    let (known, before) = (meta(&cluster, None), confirm(&cluster, "ann"));
    cluster.end();
    cluster.store();
    meta(&cluster, Some(&|meta| (meta.proto_min, meta.proto_max) = (PROTO - 1, PROTO - 1)));
    start_all(&mut cluster, &["cell-1"], 1);
    cluster.until_ready();
    assert_eq!(meta(&cluster, None), known, "its identity stays");
    is_back(&cluster, "ann", &before);
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn who_is_asked_to_end_together_comes_back_together_with_what_was_confirmed() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    cluster.until_populated(WOLVES);
    let before = confirm(&cluster, "ann");
    cluster.end();
    cluster.store();
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    is_back(&cluster, "ann", &before);
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn who_is_killed_together_with_etcd_comes_back_with_what_was_confirmed() {
    let mut etcd = Etcd::start();
    let mut cluster = Processes::at(&etcd.url);
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    cluster.until_populated(WOLVES);
    let before = confirm(&cluster, "ann");
    cluster.kill_all();
    etcd.killed_and_started_again();
    start_all(&mut cluster, &["cell-1", "cell-2"], 2);
    cluster.until_ready();
    is_back(&cluster, "ann", &before);
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn entities_of_a_cellapp_that_never_comes_back_go_on_at_those_that_do() {
    let mut cluster = Processes::lasting();
    start_all(&mut cluster, &["cell-1", "cell-2"], 1);
    cluster.until_ready();
    cluster.until_populated(WOLVES);
    let before = confirm(&cluster, "ann");
    cluster.kill_all();
    cluster.store();
    // Whoever owned ann: one of them is not started again.
    let gone = before["owner"].as_str().unwrap();
    let stays = ["cell-1", "cell-2"].into_iter().find(|name| *name != gone).unwrap();
    start_all(&mut cluster, &[stays], 1);
    is_back(&cluster, "ann", &before);
    cluster.end();
    cluster.must_not_fail_the_audit();
}
