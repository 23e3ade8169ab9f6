//! What is full, too large or malformed hurts nobody but itself.

use crate::host::{BASE, CELL, CLUSTER, Host, OTHER_CELL, numbers, until};
use bytes::Bytes;
use marchland_chaos::Proxy;
use marchland_common::journal::{Event, Refused};
use marchland_common::link::{LinkLimits, ResetReason};
use marchland_common::order::{Incarnation, Node};
use marchland_proto::convert::node_to_wire;
use marchland_proto::link::link_client::LinkClient;
use marchland_proto::link::{Down, Frame, Hello, Resume, Up, down, up};
use marchland_runtime::link::{BUNDLE_BYTES_MAX, LinkConfig, LinkEvent, PROTO};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

#[tokio::test]
async fn a_tick_thread_that_stands_still_costs_nobody_a_connection_or_a_bundle() {
    let (mut cell, mut base) = (Host::start(CELL).await, Host::start(BASE).await);
    let proxy = Proxy::to(base.addr).unwrap();
    cell.knows(BASE, proxy.addr());
    // Small ones: unread, so many of them would end an HTTP/2 connection.
    for _ in 0..1_000 {
        cell.send(BASE, 0);
        tokio::task::yield_now().await;
    }
    until(|| cell.counters.snapshot()["link_messages"] == 1_000).await;
    assert_eq!(base.receive(1_000).await, numbers(1..=1_000));
    assert_eq!(proxy.counts().accepted, 1);
}

#[tokio::test]
async fn at_the_hard_limit_the_stream_is_given_up_told_and_begun_again() {
    let few = |node| {
        let ordered = LinkLimits { soft_items: 16, hard_items: 32, ..LinkLimits::ORDERED };
        LinkConfig { ordered, ..LinkConfig::new(CLUSTER, 5, node) }
    };
    let (mut cell, mut base) = (Host::with(few(CELL)).await, Host::with(few(BASE)).await);
    cell.knows(BASE, base.addr);
    until(|| cell.is_sending_to(BASE)).await;
    (0..33).for_each(|_| cell.send(BASE, 100));
    let lost = |event: &LinkEvent| matches!(event, LinkEvent::Lost { .. });
    let lost = cell.event(lost).await;
    assert_eq!(lost.lost_to(), Some(BASE));
    let LinkEvent::Lost { peer, frames, why, .. } = lost else { unreachable!() };
    assert_eq!((peer, frames, why), (BASE, 32, ResetReason::Overflow));
    let congested = |event: &LinkEvent| matches!(event, LinkEvent::Congested { peer: BASE, .. });
    assert_eq!(cell.count_of(congested), 1, "{:?}", cell.events);
    let reset = base.event(|event| matches!(event, LinkEvent::PeerReset { .. })).await;
    assert_eq!(reset.lost_to(), None, "the gap in the numbers says it there");
    cell.send(BASE, 100);
    assert_eq!(base.receive(1).await.last(), Some(&34));
}

#[tokio::test]
async fn a_bundle_above_the_limit_is_refused_by_its_number_and_the_link_stays_up() {
    let (mut cell, mut base) = (Host::start(CELL).await, Host::start(BASE).await);
    let proxy = Proxy::to(base.addr).unwrap();
    cell.knows(BASE, proxy.addr());
    cell.send(BASE, 10);
    cell.send(BASE, BUNDLE_BYTES_MAX);
    cell.send(BASE, 10);
    assert_eq!(base.receive(2).await, vec![1, 3]);
    let refused = cell.event(|event| matches!(event, LinkEvent::TooLarge { .. })).await;
    let entry =
        Event::Refusal { reason: Refused::TooLarge, from: Some(BASE), entity: None, count: 1 };
    assert_eq!((refused.refusal(), refused.lost_to()), (Some(entry), Some(BASE)));
    let LinkEvent::TooLarge { to, n, limit, .. } = refused else { unreachable!() };
    assert_eq!((to, n, limit), (BASE, 2, BUNDLE_BYTES_MAX));
    assert_eq!(proxy.counts().accepted, 1);
}

/// A peer that speaks the wire's own words.
pub struct Raw {
    pub ups: mpsc::Sender<Up>,
    pub downs: Streaming<Down>,
}

impl Raw {
    pub async fn dial(base: &Host) -> Self {
        let channel = tonic::transport::Endpoint::new(format!("http://{}", base.addr)).unwrap();
        let mut client = LinkClient::new(channel.connect().await.unwrap());
        let (ups, stream) = mpsc::channel(64);
        let downs = client.carry(ReceiverStream::new(stream)).await.unwrap().into_inner();
        Self { ups, downs }
    }

    pub async fn say(&self, what: up::What) {
        let _ = self.ups.send(Up { what: Some(what), padding: Bytes::new() }).await;
    }

    /// The next answer that is no credit; an error when the stream ends.
    pub async fn answer(&mut self) -> Result<down::What, tonic::Status> {
        loop {
            let ended = || tonic::Status::cancelled("ended");
            match self.downs.message().await?.ok_or_else(ended)?.what.unwrap() {
                down::What::Ack(_) => {}
                what => return Ok(what),
            }
        }
    }
}

pub fn hello(from: Node, to: Node) -> Hello {
    Hello {
        cluster: CLUSTER,
        proto_min: PROTO,
        proto_max: PROTO,
        schema_hash: 5,
        from: Some(node_to_wire(from)),
        to: Some(node_to_wire(to)),
        channel: 0,
        resume: Some(Resume::default()),
    }
}

fn frame(seq: u64, body: Vec<u8>) -> up::What {
    up::What::Frame(Frame { generation: 0, seq, phase_us: 0, body: body.into(), more: false })
}

#[tokio::test]
async fn garbage_ends_the_stream_it_came_on_is_counted_and_hurts_no_other() {
    let (mut cell, mut base) = (Host::start(CELL).await, Host::start(BASE).await);
    cell.knows(BASE, base.addr);
    until(|| cell.is_sending_to(BASE)).await;
    let garbage: [Vec<up::What>; 5] = [
        vec![frame(1, vec![0xff; 40])],
        vec![up::What::Hello(hello(OTHER_CELL, BASE))],
        vec![frame(1, vec![0; 5 << 20])],
        vec![frame(900, vec![8, 1]), frame(1, Vec::new())],
        vec![frame(1, vec![8, 1])],
    ];
    for (tried, ups) in garbage.into_iter().enumerate() {
        let stranger = Node { incarnation: Incarnation(100 + tried as u64), ..OTHER_CELL };
        let mut raw = Raw::dial(&base).await;
        raw.say(up::What::Hello(hello(stranger, BASE))).await;
        assert!(matches!(raw.answer().await, Ok(down::What::Welcome(_))));
        for what in ups {
            raw.say(what).await;
        }
        assert!(raw.answer().await.is_err(), "garbage {tried} was taken");
        until(|| base.counters.snapshot()["link_malformed"] == tried as u64 + 1).await;
    }
    let mut early = Raw::dial(&base).await;
    early.say(frame(1, vec![1])).await;
    assert_eq!(early.answer().await.unwrap_err().code(), tonic::Code::InvalidArgument);
    cell.send(BASE, 10);
    assert_eq!(base.receive(1).await, vec![1]);
    let ends = |event: &LinkEvent| matches!(event, LinkEvent::Disconnected { peer: CELL, .. });
    assert_eq!(base.count_of(ends), 0);
}
