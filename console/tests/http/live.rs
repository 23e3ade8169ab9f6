//! A console over processes that run: what they write and show reaches browsers, and nobody else
//! waits for a browser that does not take it.

use crate::sockets::{Socket, next, open, served};
use crate::support::{Answer, ask, local};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use futures::SinkExt;
use marchland_common::journal::{Event, Record, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Epoch, Incarnation, Lsn, Node, NodeKind, Seq, Tick};
use marchland_console::frame::{StoreState, VerdictState};
use marchland_console::{Console, Live, Realm, Rules, router};
use marchland_proto::observer::{Dot, PassportReply, World};
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{LeaseProof, Member, MemberInfo, MemberState};
use marchland_runtime::link::{LinkConfig, LinkPlane};
use marchland_runtime::observe::{Desk, ObserveDoor, Questions, RecordTee, Stage, TeeEnd};
use marchland_runtime::process::{HealthBoard, Introduction, NoRecordsDoor, Seen};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::SharedClock;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tonic::transport::{Channel, Endpoint};

/// Patience, no measurement.
const SOON: Duration = Duration::from_secs(30);
const ENTITY: EntityId = EntityId(0x101);

/// A cellapp as an observer sees it: everything but a core.
struct Process {
    node: Node,
    addr: String,
    tee: TeeEnd,
    stage: Stage,
    questions: Questions,
    _plane: LinkPlane,
}

impl Process {
    async fn start(node: Node) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let (health, counters) = (HealthBoard::default(), Counters::default());
        health.figures(40, 2, 1, 0, 0);
        for (name, us) in [("tick_us_p50", 900), ("tick_us_p99", 1_800)] {
            counters.counter(name).set(us);
        }
        let (tee, stage, (desk, questions)) = (RecordTee::default(), Stage::default(), Desk::new());
        let io = tokio::runtime::Handle::current();
        let clock = SharedClock::new(50_000_000);
        let (plane, _, _) = LinkPlane::start(LinkConfig::new(1, 1, node), clock, &counters, &io);
        let now = tokio::time::Instant::now();
        let (_, lease) = watch::channel(LeaseProof::granted(now, Duration::from_secs(5)));
        let end = tee.end();
        let door = ObserveDoor::new(node, Some(stage.clone()), tee, desk, plane.clone(), lease);
        let about = Introduction { node, health, counters, drain: None };
        let server = tonic::transport::Server::builder()
            .add_service(door.service())
            .add_service(ProcessServer::new(NoRecordsDoor { about, elsewhere: "" }));
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        tokio::spawn(server.serve_with_incoming(incoming));
        Self { node, addr, tee: end, stage, questions, _plane: plane }
    }

    fn member(&self) -> Member {
        let info = MemberInfo {
            name: self.node.name,
            incarnation: None,
            link_addr: self.addr.clone(),
            operator_addr: self.addr.clone(),
            pid: 1,
            host: String::new(),
            version: String::new(),
            proto: 1,
            state: MemberState::Ready,
            extra: BTreeMap::new(),
        };
        Member { info, incarnation: self.node.incarnation, mod_revision: 1, lease: 1 }
    }

    /// Writes a tick in which the entity was handed over and stepped.
    fn write(&mut self, tick: u64) {
        let (entity, epoch) = (ENTITY, Epoch::of_grant(tick));
        let to = Node::new(NodeKind::Cell, 2, 9);
        let first = Event::FirstStep { entity, epoch, owner: to, first_tick: Tick(tick) };
        let durable = Event::Durable { lsn: Lsn(tick) };
        let stepped = Event::Stepped { entity, epoch, seq: Seq(tick), prev_digest: 1, digest: 2 };
        let record = TickRecord {
            moment: Moment::Flush,
            input: Bytes::from(vec![7; 1_000]),
            ..crate::support::blank(Tick(tick), vec![first, durable, stepped])
        };
        self.tee.note(&Record::Tick(record));
    }

    fn show(&self, tick: u64) {
        if self.stage.is_wanted(Tick(tick)) {
            let dot = Dot { entity: ENTITY.0, space: 1, x: 5, y: -6, epoch: 3, ..Dot::default() };
            self.stage.show(World {
                name: self.node.name.to_string(),
                incarnation: self.node.incarnation.0,
                tick,
                kinds: vec!["wolf".to_owned()],
                reals: vec![dot],
                ..World::default()
            });
        }
    }
}

struct TestRealm(watch::Sender<Arc<Seen>>);

impl TestRealm {
    fn of(processes: &[&Process]) -> Arc<Self> {
        let realm = Arc::new(Self(watch::channel(Arc::default()).0));
        realm.set(processes);
        realm
    }

    fn set(&self, processes: &[&Process]) {
        let members = processes.iter().map(|process| process.member()).collect();
        self.0.send_replace(Arc::new(Seen { members, ..Seen::default() }));
    }
}

impl Realm for TestRealm {
    fn cluster(&self) -> String {
        "test".to_owned()
    }

    fn seen(&self) -> Arc<Seen> {
        self.0.borrow().clone()
    }

    fn changes(&self) -> watch::Receiver<Arc<Seen>> {
        self.0.subscribe()
    }

    fn channel(&self, addr: &str) -> Option<Channel> {
        Some(Endpoint::from_shared(format!("http://{addr}")).ok()?.connect_lazy())
    }

    fn reasons(&self) -> Vec<String> {
        Vec::new()
    }

    fn store(&self) -> StoreState {
        StoreState { ok: true, age_ms: 3, revision: 12 }
    }

    fn verdicts(&self) -> Vec<VerdictState> {
        Vec::new()
    }
}

fn console(realm: &Arc<TestRealm>) -> Console {
    Console::new(Arc::new(Live::new(realm.clone())), None, Rules::new(local(), None))
}

async fn watching(console: Console, watch: &str) -> Socket {
    let mut socket = open(served(console).await).await.unwrap();
    socket.send(Message::text(watch)).await.unwrap();
    socket
}

/// The next frame of a kind, while the process goes on ticking.
async fn frame(socket: &mut Socket, process: &mut Process, tick: &mut u64, t: &str) -> Value {
    let found = async {
        loop {
            *tick += 1;
            process.write(*tick);
            process.show(*tick);
            while let Ok(frame) = timeout(Duration::from_millis(5), next(socket)).await {
                let frame = frame.expect("the socket stays open");
                if frame["t"] == t {
                    return frame;
                }
            }
        }
    };
    timeout(SOON, found).await.unwrap()
}

async fn get(console: Console, path: &str) -> Answer {
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    ask(router(console), request).await
}

const WATCH: &str = "{\"t\":\"watch\",\"world\":true,\"events\":true}";

#[tokio::test]
async fn what_a_process_writes_and_shows_reaches_a_browser_that_watches() {
    let mut process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let mut socket = watching(console(&realm), WATCH).await;
    let mut tick = 0;
    let events = frame(&mut socket, &mut process, &mut tick, "events").await;
    let kinds: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["FirstStep"], "facts of every tick are left out until they are asked for");
    assert_eq!(events["left_out"], 2);
    let id = events["events"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("cell-1@7:"), "{id}");
    let world = frame(&mut socket, &mut process, &mut tick, "world").await;
    assert_eq!(world["reals"][0], serde_json::json!(["257", "wolf", 5, -6, 3]));
    let cluster = frame(&mut socket, &mut process, &mut tick, "cluster").await;
    let state = &cluster["processes"][0];
    assert_eq!((&state["state"], &state["reals"]), (&"serving".into(), &2.into()));
    assert_eq!(state["budget"]["total"], serde_json::json!([900, 1_800]));
    assert!(state["lease_ms"].as_u64().unwrap() <= 5_000);
}

#[tokio::test]
async fn the_last_minute_can_be_asked_for_page_by_page_and_says_where_it_begins() {
    let mut process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let console = console(&realm);
    let mut socket = watching(console.clone(), WATCH).await;
    let mut tick = 500;
    frame(&mut socket, &mut process, &mut tick, "world").await;
    let page = get(console.clone(), "/api/events?kind=FirstStep,Stepped").await.json();
    let events = page["events"].as_array().unwrap();
    assert!(events.len() >= 2 && events.len().is_multiple_of(2), "{events:?}");
    assert_eq!(page["gaps"][0]["from"], 0, "what was before it listened is a gap: {page}");
    let hello = get(console.clone(), "/api/hello").await.json();
    let first = hello["first_tick"].as_u64().unwrap();
    assert!(first > 500 && first <= tick);
    let then = get(console.clone(), &format!("/api/world?tick={}", tick + 9)).await.json();
    assert_eq!(then["worlds"][0]["process"], "cell-1");
    assert_eq!(get(console, "/api/world?tick=1").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn causes_and_owners_of_the_last_minute_are_told_under_the_names_that_events_have() {
    let mut process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let console = console(&realm);
    let mut socket = watching(console.clone(), WATCH).await;
    let mut tick = 500;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let frame = frame(&mut socket, &mut process, &mut tick, "events").await;
        let events = frame["events"].as_array().unwrap();
        heard.extend(events.iter().map(|event| event["id"].as_str().unwrap().to_owned()));
    }
    let (a, b) = (&heard[0], &heard[1]);
    let told = get(console.clone(), &format!("/api/explain?a={a}&b={b}")).await.json();
    assert_eq!(told["relation"], "before", "{told}");
    assert_eq!(told["a"]["kind"], "FirstStep", "the same fact has the same number: {told}");
    let past = get(console.clone(), &format!("/api/past?event={b}")).await.json();
    assert!(past["past"].as_array().unwrap().contains(&a.as_str().into()), "{past}");
    let owners = get(console.clone(), "/api/ownership?entity=257").await.json();
    assert_eq!(owners["spans"][0]["process"], "cell-1", "{owners}");
    let gone = get(console, "/api/past?event=cell-1@7:9999999").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nobody_is_looked_at_while_nobody_looks() {
    let process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let console = console(&realm);
    assert_eq!(get(console.clone(), "/api/cluster").await.status, StatusCode::OK);
    assert!(!process.stage.is_wanted(Tick(2)), "how somebody is, is no picture");
    let socket = watching(console, WATCH).await;
    let wanted = async {
        while !process.stage.is_wanted(Tick(2)) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, wanted).await.unwrap();
    drop(socket);
}

#[tokio::test]
async fn a_later_life_takes_the_place_of_the_one_before() {
    let mut old = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&old]);
    let mut socket = watching(console(&realm), WATCH).await;
    let mut tick = 0;
    frame(&mut socket, &mut old, &mut tick, "world").await;
    let mut new = Process::start(Node { incarnation: Incarnation(30), ..old.node }).await;
    realm.set(&[&new]);
    let unwatched = async {
        while old.stage.is_wanted(Tick(2)) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, unwatched).await.unwrap();
    let later = async {
        loop {
            let world = frame(&mut socket, &mut new, &mut tick, "world").await;
            if world["incarnation"] == "30" {
                return world;
            }
        }
    };
    timeout(SOON, later).await.unwrap();
}

#[tokio::test]
async fn a_browser_that_takes_nothing_holds_nobody_up_and_others_miss_nothing() {
    let mut process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let addr = served(console(&realm)).await;
    let everything = "{\"t\":\"watch\",\"world\":true,\"events\":true,\"kinds\":[\"*\"]}";
    let mut stalled = open(addr).await.unwrap();
    stalled.send(Message::text(everything)).await.unwrap();
    let mut reads = open(addr).await.unwrap();
    reads.send(Message::text(everything)).await.unwrap();
    let mut tick = 0;
    let first = frame(&mut reads, &mut process, &mut tick, "events").await;
    let mut last = first["events"][0]["tick"].as_u64().unwrap();
    for _ in 0..200 {
        let events = frame(&mut reads, &mut process, &mut tick, "events").await;
        let at = events["events"][0]["tick"].as_u64().unwrap();
        assert!(at <= last + 1, "tick {at} came after {last}");
        last = at;
    }
    drop(stalled);
}

#[tokio::test]
async fn a_listener_that_falls_behind_finds_a_gap_where_it_was_not() {
    let mut process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    let console = console(&realm);
    let mut socket = watching(console.clone(), WATCH).await;
    let mut tick = 0;
    frame(&mut socket, &mut process, &mut tick, "events").await;
    // More at once than waits for a listener: it cannot have taken any of it.
    for _ in 0..1_000 {
        tick += 1;
        process.write(tick);
    }
    let gap = frame(&mut socket, &mut process, &mut tick, "gap").await;
    assert_eq!(gap["process"], "cell-1");
    assert!(gap["lost"].as_u64().unwrap() > 0, "how many is known by their numbers: {gap}");
    let page = get(console, "/api/events").await.json();
    let gaps = page["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|g| g["from"].as_u64() > Some(0)), "{gaps:?}");
}

#[tokio::test]
async fn an_entity_is_shown_as_each_process_has_it_with_the_fields_that_differ() {
    let (one, two) = (Node::new(NodeKind::Cell, 1, 7), Node::new(NodeKind::Cell, 2, 9));
    let (real, ghost) = (Process::start(one).await, Process::start(two).await);
    let realm = TestRealm::of(&[&real, &ghost]);
    let answers = |process: &Process, role: &str, gold: &str, state_tick| {
        let fields = [("gold".to_owned(), gold.to_owned()), ("name".to_owned(), "wolf".to_owned())];
        let (role, fields) = (role.to_owned(), fields.into_iter().collect());
        let reply =
            PassportReply { role, fields, tick: 90, state_tick, epoch: 3, ..Default::default() };
        process.questions.answer(|_| reply.clone());
    };
    let asked = tokio::spawn(get(console(&realm), "/api/entity/257"));
    while !asked.is_finished() {
        answers(&real, "real", "5", 90);
        answers(&ghost, "ghost", "4", 88);
        sleep(Duration::from_millis(5)).await;
    }
    let passport = asked.await.unwrap().json();
    assert_eq!(passport["differs"], serde_json::json!(["gold"]), "{passport}");
    let row = |at: usize| &passport["rows"][at];
    assert_eq!((&row(0)["role"], &row(0)["age_ticks"]), (&"real".into(), &0.into()));
    assert_eq!((&row(1)["role"], &row(1)["age_ticks"]), (&"ghost".into(), &2.into()));
}

#[tokio::test]
async fn an_entity_that_nobody_knows_is_not_found_and_who_is_silent_is_named() {
    let process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let realm = TestRealm::of(&[&process]);
    // No tick answers.
    let answer = get(console(&realm), "/api/entity/257").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let text = answer.json()["error"]["message"].to_string();
    assert!(text.contains("cell-1@7"), "{text}");
}

#[tokio::test]
async fn a_process_that_is_not_there_is_shown_as_unreachable() {
    let process = Process::start(Node::new(NodeKind::Cell, 1, 7)).await;
    let mut away = process.member();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    away.info.operator_addr = free.to_string();
    let realm = TestRealm::of(&[]);
    realm.0.send_replace(Arc::new(Seen { members: vec![away], ..Seen::default() }));
    let cluster = get(console(&realm), "/api/cluster").await.json();
    assert_eq!(cluster["processes"][0]["state"], "unreachable");
    assert_eq!(cluster["store"]["revision"], 12);
    assert!(TcpStream::connect(free).await.is_err());
}
