//! A process's link plane behind a real listener, and a bundle to send.

use bytes::Bytes;
use marchland_common::msg::{Bundle, CellToBase, Header, Moment, Msg, Outgoing, SCHEMA};
use marchland_common::order::{EntityId, Node, NodeKind, Tick};
use marchland_runtime::journal::ReleaseTicket;
use marchland_runtime::link::{
    Drained, LinkConfig, LinkEvent, LinkPlane, LinkTick, Observation, PeerAddr, incoming, server,
};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::{SharedClock, monotonic_ns};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

pub const CELL: Node = Node::new(NodeKind::Cell, 1, 11);
pub const OTHER_CELL: Node = Node::new(NodeKind::Cell, 2, 13);
pub const BASE: Node = Node::new(NodeKind::Base, 1, 12);
pub const CLUSTER: u64 = 7;
/// How long a condition may take on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Host {
    pub plane: LinkPlane,
    pub tick: LinkTick,
    pub observations: crossbeam_channel::Receiver<Observation>,
    pub counters: Counters,
    pub addr: SocketAddr,
    pub events: Vec<LinkEvent>,
    next_n: u64,
}

impl Host {
    pub async fn start(node: Node) -> Self {
        Self::with(LinkConfig::new(CLUSTER, 5, node)).await
    }

    pub async fn with(config: LinkConfig) -> Self {
        let times = config.times;
        let counters = Counters::default();
        let clock = SharedClock::new(50_000_000);
        clock.set_origin(monotonic_ns().into());
        let io = tokio::runtime::Handle::current();
        let (plane, tick, observations) = LinkPlane::start(config, clock, &counters, &io);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let router = server(&times).add_service(plane.service());
        tokio::spawn(async move {
            router.serve_with_incoming(incoming(listener)).await.unwrap();
        });
        let events = Vec::new();
        Self { plane, tick, observations, counters, addr, events, next_n: 1 }
    }

    pub fn knows(&self, node: Node, addr: SocketAddr) {
        self.plane.set_peers(vec![PeerAddr { node, addr: addr.to_string() }]);
    }

    /// Sends the next bundle, with `bytes` of content.
    pub fn send(&mut self, to: Node, bytes: usize) {
        let bundle = notice(self.next_n, bytes);
        self.next_n += 1;
        self.tick.send(vec![Outgoing { to, bundle }], ReleaseTicket::open()).unwrap();
    }

    pub fn sent(&self) -> u64 {
        self.next_n - 1
    }

    pub fn drain(&mut self) -> Drained {
        let mut drained = self.tick.drain();
        self.events.append(&mut drained.events);
        drained
    }

    /// Drains until `count` bundles came; their numbers.
    pub async fn receive(&mut self, count: usize) -> Vec<u64> {
        let mut got = Vec::new();
        let all = async {
            while got.len() < count {
                got.extend(self.drain().frames.iter().map(|frame| frame.bundle.n));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, all).await;
        assert!(done.is_ok(), "only {} of {count} bundles came: {:?}", got.len(), self.events);
        got
    }

    /// Drains until an event is there that `wanted` accepts.
    pub async fn event(&mut self, wanted: impl Fn(&LinkEvent) -> bool) -> LinkEvent {
        let found = async {
            loop {
                self.drain();
                if let Some(event) = self.events.iter().find(|event| wanted(event)) {
                    return event.clone();
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("the event never came: {:?}", self.events))
    }

    pub fn count_of(&self, wanted: impl Fn(&LinkEvent) -> bool) -> usize {
        self.events.iter().filter(|event| wanted(event)).count()
    }

    pub fn is_sending_to(&self, peer: Node) -> bool {
        self.plane.evidence().iter().any(|e| e.peer == peer && e.sending)
    }
}

/// Waits for a condition that no event tells.
pub async fn until(mut condition: impl FnMut() -> bool) {
    let reached = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("the condition was never reached");
}

pub fn notice(n: u64, bytes: usize) -> Bundle {
    let payload = Bytes::from((0..bytes).map(|i| (i as u64 ^ n) as u8).collect::<Vec<u8>>());
    let msg = CellToBase::Notice { entity: EntityId(257), payload };
    Bundle {
        n,
        src_tick: Tick(n),
        moment: Moment::Flush,
        phase_us: 0,
        header: Header::CellToBase { steps: n, accepting: true, schema: SCHEMA },
        msgs: vec![Msg::CellToBase(msg)],
    }
}

pub fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<u64> {
    range.collect()
}
