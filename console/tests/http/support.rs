//! A small recording, and a console over it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use marchland_common::journal::{
    BundleRef, Event, JournalHeader, OwnerWhy, Record, Refused, TickRecord,
};
use marchland_common::msg::HandoffWhy;
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, Seq, Tick};
use marchland_console::{Console, Recorded, Rules, router};
use marchland_observe::Journals;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tower::ServiceExt;

pub const CELL: Node = Node::new(NodeKind::Cell, 1, 7);
pub const OTHER: Node = Node::new(NodeKind::Cell, 2, 9);
pub const BASE: Node = Node::new(NodeKind::Base, 1, 5);
pub const ENTITY: EntityId = EntityId(0x2a03);

fn stepped(seq: u64) -> Event {
    let (epoch, prev_digest) = (Epoch::of_grant(3), u64::MAX - 1);
    Event::Stepped { entity: ENTITY, epoch, seq: Seq(seq), prev_digest, digest: u64::MAX }
}

/// A record of nothing but these events.
pub fn blank(tick: Tick, events: Vec<Event>) -> TickRecord {
    TickRecord::without_core(tick, events)
}

fn record(tick: u64, received: Vec<BundleRef>, sent: Vec<BundleRef>, events: Vec<Event>) -> Record {
    Record::Tick(TickRecord { received, sent, ..blank(Tick(tick), events) })
}

fn header(node: Node) -> Record {
    Record::Header(JournalHeader {
        cluster: 77,
        node,
        build: "test".to_owned(),
        schema: 1,
        seed: 0,
        config: String::new(),
        segment: 0,
        wall_ms: 0,
    })
}

/// A cell that steps an entity and tells its base, which hands it over at tick 5; tick 7 of the
/// other cell is missing, and it refuses something at tick 8.
pub fn journals() -> Journals {
    let to_base = |n, tick| BundleRef { peer: BASE, n, src_tick: Tick(tick) };
    let from_cell = |n, tick| BundleRef { peer: CELL, n, src_tick: Tick(tick) };
    let (mut cell, mut base) = (vec![header(CELL)], vec![header(BASE)]);
    for tick in 1..=10 {
        cell.push(record(tick, vec![], vec![to_base(tick, tick)], vec![stepped(tick)]));
        let moved = Event::OwnerChanged {
            entity: ENTITY,
            epoch: Epoch::of_grant(4),
            seq: Seq(5),
            from: Some(CELL),
            to: OTHER,
            why: OwnerWhy::Handoff(HandoffWhy::Border),
            last_tick: Some(Tick(5)),
            lsn: Lsn(9),
        };
        let events = if tick == 5 { vec![moved] } else { vec![] };
        base.push(record(tick, vec![from_cell(tick, tick)], vec![], events));
    }
    cell.push(Record::End { why: "asked to end".to_owned() });
    let refused = Event::Refusal {
        reason: Refused::StaleEpoch,
        from: Some(CELL),
        entity: Some(ENTITY),
        count: 2,
    };
    let other = vec![
        header(OTHER),
        record(6, vec![], vec![], vec![]),
        Record::Gap { from: Tick(7), to: Tick(7) },
        record(8, vec![], vec![], vec![refused]),
    ];
    Journals::from_records(vec![(CELL, cell), (BASE, base), (OTHER, other)])
}

pub fn local() -> SocketAddr {
    "127.0.0.1:7680".parse().unwrap()
}

pub fn console() -> Console {
    Console::new(Arc::new(Recorded::of(journals())), None, Rules::new(local(), None))
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    pub fn error(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

pub async fn ask(app: Router, request: Request<Body>) -> Answer {
    let response = app.oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    Answer { status: parts.status, headers: parts.headers, body }
}

pub async fn get(path: &str) -> Answer {
    let request = Request::get(path).header("host", "127.0.0.1:7680").body(Body::empty()).unwrap();
    ask(router(console()), request).await
}
