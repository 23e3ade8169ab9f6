//! How a process starts beside others, and what it learns of the map: on a store in this process.
#![allow(clippy::unwrap_used)]

use futures::FutureExt;
use marchland_common::cluster::{MapChange, MemberState};
use marchland_common::order::{CellId, Incarnation, Node, NodeKind, NodeName, SlotId, SpaceId};
use marchland_common::world::{Layout, Pos, Rect, Tree};
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{
    ClockValue, CoordClient, CoordOptions, Key, LeaderInfo, LogValue, MemberInfo, MetaValue,
    SlotValue, SpaceValue, Txn, Watcher, WatcherOptions,
};
use marchland_runtime::link::{LinkTimes, PROTO, incoming, server};
use marchland_runtime::process::{
    Bound, HealthBoard, Introduction, MapFeed, NoRecordsDoor, ProcessOptions, Seen, Shutdown,
    StartError, Unfounded, bind, prepare_dir, start,
};
use marchland_runtime::standin_server::{StandinOptions, serve};
use marchland_runtime::telemetry::Counters;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_secs(60);
const CELL: NodeName = NodeName { kind: NodeKind::Cell, number: 1 };

/// A store; it lives as long as the test's runtime.
async fn store() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    tokio::spawn(serve(listener, StandinOptions::default(), std::future::pending()));
    endpoint
}

fn options(etcd: &str) -> ProcessOptions {
    ProcessOptions {
        name: CELL,
        cluster: "test".to_owned(),
        etcd: vec![etcd.to_owned()],
        listen: "127.0.0.1:0".parse().unwrap(),
        advertise: None,
        dial_from: None,
        dir: PathBuf::from("nowhere"),
        seed: 1,
        step: Duration::from_millis(50),
        ttl: Duration::from_secs(30),
    }
}

/// A process that answers that it is there, and nothing else.
fn here(name: NodeName) -> NoRecordsDoor {
    let node = Node { name, incarnation: Incarnation(1) };
    let (health, counters) = (HealthBoard::default(), Counters::default());
    let about = Introduction { node, health, counters, drain: None };
    NoRecordsDoor { about, elsewhere: "ask somebody else" }
}

async fn bound(options: &ProcessOptions) -> Bound {
    bind(options, options.listen).await.unwrap()
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let options = options("nowhere:1");
    let first = bound(&options).await;
    let error = bind(&options, first.local).await.unwrap_err();
    assert!(matches!(error, StartError::Port { addr, .. } if addr == first.local));
    assert!(error.to_string().contains(&first.local.to_string()), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_a_missing_one_is_made() {
    let dir = tempfile::tempdir().unwrap();
    prepare_dir(&dir.path().join("a/b")).unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let error = prepare_dir(&file.join("below")).unwrap_err();
    assert!(error.to_string().contains("file/below"), "{error}");
}

#[tokio::test]
async fn a_store_that_is_not_there_is_named_within_a_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = listener.local_addr().unwrap().to_string();
    drop(listener);
    let options = options(&nowhere);
    let started = start(&options, "127.0.0.1:1".to_owned(), BTreeMap::new());
    let error = tokio::time::timeout(PATIENCE, started).await.unwrap().err().unwrap();
    assert!(matches!(error, StartError::Store { .. }), "{error}");
    assert!(error.to_string().contains(&nowhere), "{error}");
}

#[tokio::test]
async fn a_second_process_of_a_name_is_refused_while_the_first_answers_and_takes_over_after() {
    let etcd = store().await;
    let options = options(&etcd);
    let Bound { listener, advertised, .. } = bound(&options).await;
    let first = start(&options, advertised.clone(), BTreeMap::new()).await.unwrap();
    let door = server(&LinkTimes::STANDARD)
        .add_service(ProcessServer::new(here(CELL)))
        .serve_with_incoming(incoming(listener));
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let door = tokio::spawn(async move {
        tokio::select! {
            served = door => served.unwrap(),
            _ = ended => {}
        }
    });
    let second = bound(&options).await.advertised;
    let error = start(&options, second.clone(), BTreeMap::new()).await.err().unwrap();
    let StartError::Name { source, .. } = &error else { panic!("{error}") };
    assert!(source.to_string().contains("cell-1"), "{source}");
    // The first is gone without giving its name back.
    end.send(()).unwrap();
    door.await.unwrap();
    let again = start(&options, second, BTreeMap::new()).await.unwrap();
    assert!(again.registration.node().incarnation > first.registration.node().incarnation);
}

const META: MetaValue =
    MetaValue { cluster_id: 7, proto_min: PROTO, proto_max: PROTO, origin_wall_ms: None };

async fn put(coord: &CoordClient, key: Key, value: impl serde::Serialize) {
    let value = serde_json::to_vec(&value).unwrap();
    coord.txn(Txn::new().put(coord.keys().key(key), value)).await.unwrap();
}

/// A registered process, of another build perhaps.
fn member(number: u16, proto: u32) -> MemberInfo {
    MemberInfo {
        name: NodeName { kind: NodeKind::Cell, number },
        incarnation: None,
        link_addr: "127.0.0.1:1".to_owned(),
        operator_addr: String::new(),
        pid: 1,
        host: "elsewhere".to_owned(),
        version: "1".to_owned(),
        proto,
        state: marchland_runtime::coord::MemberState::Ready,
        extra: BTreeMap::new(),
    }
}

#[tokio::test]
async fn a_build_that_no_member_could_talk_to_does_not_join_and_names_both_protocols() {
    let etcd = store().await;
    let options = options(&etcd);
    let coord = CoordClient::connect(&[&etcd], CoordOptions::new("test")).await.unwrap();
    let other = member(2, PROTO + 6);
    put(&coord, Key::Member(other.name), &other).await;
    for (proto_min, proto_max, fits) in [(PROTO + 6, PROTO + 8, false), (PROTO, PROTO + 1, true)] {
        put(&coord, Key::Meta, MetaValue { proto_min, proto_max, ..META }).await;
        let started = start(&options, "127.0.0.1:1".to_owned(), BTreeMap::new()).await;
        let member = coord.get(&coord.keys().member(CELL)).await.unwrap();
        assert_eq!((started.is_ok(), member.is_some()), (fits, fits));
        if let Err(error) = started {
            assert!(matches!(error, StartError::Protocol(_)), "{error}");
            let text = error.to_string();
            let said = [format!("protocol {PROTO}"), format!("{proto_min} to {proto_max}")];
            assert!(said.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}

/// After the whole cluster was off, with another build.
#[tokio::test]
async fn a_cluster_in_which_nobody_is_there_takes_the_protocol_of_who_leads_it_next() {
    for (leader_speaks, founded) in [(PROTO, true), (PROTO + 6, false)] {
        let etcd = store().await;
        let mut map = Map::follow(&etcd).await;
        let others = MetaValue { proto_min: PROTO + 6, proto_max: PROTO + 6, ..META };
        map.put(Key::Meta, others).await;
        map.put(Key::Clock, ClockValue { origin_wall_ms: 5, step_us: 50_000 }).await;
        // What an earlier life of the same name said of itself counts for nothing.
        let old = member(CELL.number, PROTO + 6);
        map.put(Key::Member(CELL), &old).await;
        let started = start(&options(&etcd), "127.0.0.1:1".to_owned(), BTreeMap::new()).await;
        assert!(started.is_ok(), "{}", started.err().unwrap());
        let mut seen = map.feed.subscribe();
        let is_there = |s: &Arc<Seen>| s.clock.is_some() && !s.members.is_empty();
        tokio::time::timeout(PATIENCE, seen.wait_for(is_there)).await.unwrap().unwrap();
        assert_eq!(map.feed.founded().now_or_never(), None, "nobody leads");
        let leads = LeaderInfo {
            name: NodeName { kind: NodeKind::Manager, number: 1 },
            incarnation: Incarnation(9),
            operator_addr: String::new(),
            proto: leader_speaks,
        };
        map.put(Key::Leader, leads).await;
        tokio::time::timeout(PATIENCE, seen.wait_for(|s| s.leader.is_some()))
            .await
            .unwrap()
            .unwrap();
        if founded {
            assert_eq!(map.feed.founded().now_or_never(), None, "it has not said so yet");
            map.put(Key::Meta, META).await;
        }
        let said = tokio::time::timeout(PATIENCE, map.feed.founded()).await.unwrap();
        match said {
            Ok((meta, _)) => assert!(founded && meta == META),
            Err(error) => assert!(!founded && matches!(error, Unfounded::Protocol(_)), "{error}"),
        }
    }
}

struct Map {
    raw: etcd_client::Client,
    coord: CoordClient,
    feed: MapFeed,
    counters: Counters,
    told: Arc<Mutex<usize>>,
}

impl Map {
    async fn follow(etcd: &str) -> Self {
        let raw = etcd_client::Client::connect([etcd], None).await.unwrap();
        let coord = CoordClient::connect(&[etcd], CoordOptions::new("test")).await.unwrap();
        let root = coord.keys().root().to_owned();
        let watcher = Watcher::spawn(coord.clone(), root, WatcherOptions::default());
        let (counters, told) = (Counters::default(), Arc::new(Mutex::new(0)));
        let count = told.clone();
        let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |_| {
            *count.lock().unwrap() += 1;
        });
        Self { raw, coord, feed, counters, told }
    }

    async fn put(&mut self, key: Key, value: impl serde::Serialize) {
        let value = serde_json::to_vec(&value).unwrap();
        self.raw.put(self.coord.keys().key(key), value, None).await.unwrap();
    }

    /// Takes changes until `enough` of them came.
    async fn take(&self, enough: usize) -> Vec<MapChange> {
        let mut changes = Vec::new();
        let all = async {
            while changes.len() < enough {
                changes.extend(self.feed.take());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("the map never changed");
        changes
    }
}

fn layout(version: u64) -> Layout {
    let owner = Some(Node::new(NodeKind::Cell, 1, 9));
    Layout {
        space: SpaceId(3),
        version,
        bounds: Rect::new(Pos::new(0, 0), Pos::new(10, 10)),
        tree: Tree::Leaf { cell: CellId(1), owner },
    }
}

#[tokio::test]
async fn keys_become_inputs_of_a_core_and_the_newest_of_each_waits() {
    let etcd = store().await;
    let mut map = Map::follow(&etcd).await;
    let base = NodeName { kind: NodeKind::Base, number: 2 };
    map.put(Key::Slot(SlotId(5)), SlotValue { base }).await;
    let [MapChange::Slots(slots)] = &map.take(1).await[..] else { panic!() };
    assert_eq!((slots[0].slot, slots[0].base), (SlotId(5), base));
    let log = LogValue { incarnation: Incarnation(4), folder: "/logs/base-2".to_owned() };
    map.put(Key::Log(base), log.clone()).await;
    let mut seen = map.feed.subscribe();
    let says_so = seen.wait_for(|s| s.logs.get(&base).is_some_and(|(said, _)| *said == log));
    tokio::time::timeout(PATIENCE, says_so).await.unwrap().unwrap();
    map.put(Key::Space(SpaceId(3)), SpaceValue { cells: 1, layout: layout(1) }).await;
    assert_eq!(map.take(1).await, vec![MapChange::Layout(layout(1))]);
    map.put(Key::Dead(Incarnation(77)), "verdict").await;
    assert_eq!(map.take(1).await, vec![MapChange::Dead(vec![Incarnation(77)])]);
    let started = start(&options(&etcd), "127.0.0.1:7".to_owned(), BTreeMap::new()).await.unwrap();
    let [MapChange::Members(members)] = &map.take(1).await[..] else { panic!() };
    assert_eq!(members[0].node, started.registration.node());
    assert_eq!(members[0].state, MemberState::Serving);
    assert_eq!(map.feed.seen().peers()[0].addr, "127.0.0.1:7");
    assert!(*map.told.lock().unwrap() >= 2, "the dead and the members concern the links");
    // The last of many is what counts.
    for version in 2..=9 {
        map.put(Key::Space(SpaceId(3)), SpaceValue { cells: 1, layout: layout(version) }).await;
    }
    let mut seen = map.feed.subscribe();
    let newest = |s: &Arc<marchland_runtime::process::Seen>| {
        s.spaces.get(&SpaceId(3)).is_some_and(|space| space.layout.version == 9)
    };
    tokio::time::timeout(PATIENCE, seen.wait_for(newest)).await.unwrap().unwrap();
    assert_eq!(map.take(1).await, vec![MapChange::Layout(layout(9))]);
    let key = map.coord.keys().key(Key::Space(SpaceId(3)));
    map.raw.delete(key, None).await.unwrap();
    assert_eq!(map.take(1).await, vec![MapChange::SpaceGone(SpaceId(3))]);
    started.registration.close(PATIENCE).await.unwrap();
    assert_eq!(map.take(1).await, vec![MapChange::Members(vec![])]);
}

#[tokio::test]
async fn a_value_that_does_not_parse_is_counted_and_hurts_no_other() {
    let etcd = store().await;
    let mut map = Map::follow(&etcd).await;
    map.put(Key::Slot(SlotId(1)), "no slot").await;
    let founded = async {
        let clock = ClockValue { origin_wall_ms: 5, step_us: 50_000 };
        map.put(Key::Clock, clock).await;
        let meta = META;
        map.put(Key::Meta, meta).await;
        assert_eq!(map.feed.founded().await.unwrap(), (meta, clock));
    };
    tokio::time::timeout(PATIENCE, founded).await.unwrap();
    assert!(map.counters.snapshot()["map_malformed"] >= 1);
    assert!(map.feed.take().is_empty());
}

#[tokio::test]
async fn sigterm_asks_a_process_to_end() {
    let mut asked = Shutdown::on_signals().unwrap();
    assert!(!asked.is_asked());
    nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM).unwrap();
    tokio::time::timeout(PATIENCE, asked.asked()).await.unwrap();
    assert!(asked.is_asked());
}
