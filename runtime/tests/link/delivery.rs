//! Bundles arrive once each, in order, whole, and cheaply.

use crate::host::{BASE, CELL, Host, OTHER_CELL, notice, numbers, until};
use bytes::Bytes;
use marchland_common::link::ChannelId;
use marchland_common::msg::{CellToCell, Header, Msg, Offload, Outgoing};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SignalWindow, Tick};
use marchland_common::rng::Rng;
use marchland_common::time::{EntityTime, Timers};
use marchland_common::world::{EntityState, Outbox, Place};
use marchland_runtime::journal::{ReleaseTicket, Written};

async fn pair() -> (Host, Host) {
    let (cell, base) = (Host::start(CELL).await, Host::start(BASE).await);
    cell.knows(BASE, base.addr);
    until(|| cell.is_sending_to(BASE)).await;
    (cell, base)
}

#[tokio::test]
async fn one_message_and_one_flush_for_each_peer_and_output_moment() {
    let (mut cell, mut base) = pair().await;
    let other = Host::start(OTHER_CELL).await;
    cell.knows(OTHER_CELL, other.addr);
    until(|| cell.is_sending_to(OTHER_CELL)).await;
    for moment in 1..=40 {
        cell.send(BASE, 300 * moment);
        assert_eq!(base.receive(1).await, vec![moment as u64]);
        // The connection rests before the next moment, as it does between ticks.
        until(|| {
            let counts = cell.plane.counts();
            let to_base = counts.iter().find(|(peer, ..)| *peer == BASE).unwrap().2;
            to_base.flushes == moment as u64
        })
        .await;
    }
    for (peer, channel, counts) in cell.plane.counts() {
        let moments = if (peer, channel) == (BASE, ChannelId::ORDERED) { 40 } else { 0 };
        assert_eq!((counts.messages, counts.flushes), (moments, moments), "{peer} {channel:?}");
    }
}

#[tokio::test]
async fn nothing_leaves_before_its_record_is_written_and_the_order_of_the_moments_holds() {
    let (mut cell, mut base) = pair().await;
    let written = Written::new();
    for n in 1..=3 {
        let bundles = vec![Outgoing { to: BASE, bundle: notice(n, 10) }];
        cell.tick.send(bundles, written.ticket(n)).unwrap();
    }
    // A later moment without a record waits behind those with one.
    let bundles = vec![Outgoing { to: BASE, bundle: notice(4, 10) }];
    cell.tick.send(bundles, ReleaseTicket::open()).unwrap();
    for _ in 0..100 {
        assert_eq!(base.drain().frames.len(), 0);
        tokio::task::yield_now().await;
    }
    written.advance(2);
    assert_eq!(base.receive(2).await, vec![1, 2]);
    written.advance(3);
    assert_eq!(base.receive(2).await, vec![3, 4]);
    let bundles = vec![Outgoing { to: BASE, bundle: notice(5, 10) }];
    cell.tick.send(bundles, written.ticket(4)).unwrap();
    drop(written);
    let never = marchland_runtime::link::LinkEvent::NeverReleased { bundles: 1 };
    assert_eq!(cell.event(|event| *event == never).await, never);
}

#[tokio::test]
async fn bundles_come_by_sender_and_number_and_say_when_they_left() {
    let (mut cell, mut base) = pair().await;
    let mut other = Host::start(OTHER_CELL).await;
    other.knows(BASE, base.addr);
    (0..5).for_each(|_| other.send(BASE, 8));
    (0..5).for_each(|_| cell.send(BASE, 8));
    // Ten of them wait before the first drain looks.
    until(|| base.observations.len() == 10).await;
    let frames = base.drain().frames;
    let order: Vec<_> = frames.iter().map(|frame| (frame.from, frame.bundle.n)).collect();
    let expected: Vec<_> =
        [CELL, OTHER_CELL].iter().flat_map(|from| (1..=5).map(move |n| (*from, n))).collect();
    assert_eq!(order, expected);
    let said = base.observations.try_iter().find(|said| said.peer == CELL).unwrap();
    assert_eq!(said.sample.tick, Tick(1));
    assert!(said.arrived_ns > 0);
    // It left during its tick, which had begun one step after tick 0, or was late for it.
    assert!(said.sample.phase_ns > -50_000_000);
}

#[tokio::test]
async fn a_bundle_of_many_frames_arrives_whole_and_in_its_place() {
    let (mut cell, mut base) = pair().await;
    cell.send(BASE, 10);
    cell.send(BASE, 9 << 20);
    cell.send(BASE, 10);
    let mut frames = Vec::new();
    until(|| {
        frames.extend(base.drain().frames);
        frames.len() == 3
    })
    .await;
    for (frame, n) in frames.iter().zip(1..) {
        let sizes = [10, 9 << 20, 10];
        let mut expected = notice(n, sizes[n as usize - 1]);
        expected.phase_us = frame.bundle.phase_us;
        assert!(frame.bundle == expected, "bundle {n} differs");
    }
}

#[tokio::test]
async fn a_large_offload_takes_the_bulk_channel_and_reaches_the_core_with_the_next_bundle() {
    let (mut one, mut two) = (Host::start(CELL).await, Host::start(OTHER_CELL).await);
    one.knows(OTHER_CELL, two.addr);
    let offload = offload(1 << 20);
    let msgs = vec![Msg::CellToCell(CellToCell::Offload(Box::new(offload.clone())))];
    let bundle = marchland_common::msg::Bundle { msgs, header: Header::Peer, ..notice(1, 0) };
    let bundles = vec![Outgoing { to: OTHER_CELL, bundle }];
    one.tick.send(bundles, ReleaseTicket::open()).unwrap();
    let mut got = Vec::new();
    let mut n = 1;
    until(|| {
        n += 1;
        let bundle =
            marchland_common::msg::Bundle { msgs: vec![], header: Header::Peer, ..notice(n, 0) };
        let bundles = vec![Outgoing { to: OTHER_CELL, bundle }];
        one.tick.send(bundles, ReleaseTicket::open()).unwrap();
        got.extend(two.drain().frames.into_iter().flat_map(|frame| frame.bundle.msgs));
        !got.is_empty()
    })
    .await;
    assert!(got == vec![Msg::CellToCell(CellToCell::Offload(Box::new(offload)))]);
    let bulk = |(_, channel, _): &&(_, ChannelId, _)| *channel == ChannelId::BULK;
    assert!(one.plane.counts().iter().find(bulk).unwrap().2.messages >= 4);
}

fn offload(scratch: usize) -> Offload {
    let state = EntityState {
        kind: KindId(1),
        place: Place::default(),
        props: Vec::new(),
        time: EntityTime(0),
        rng: Rng(1),
        timers: Timers::default(),
        commands: Default::default(),
        inbox: Default::default(),
        outbox: Outbox::default(),
        pin: None,
        destroyed: false,
    };
    Offload {
        entity: EntityId(257),
        epoch: Epoch(2),
        seq: Seq(3),
        digest: 4,
        state,
        ghost_seq: Seq(0),
        ghost_since: Epoch(2),
        hosts: Vec::new(),
        witnesses: Vec::new(),
        signals: SignalWindow::default(),
        scratch: Bytes::from(vec![3; scratch]).to_vec(),
    }
}

#[tokio::test]
async fn planes_end_in_bounded_time_while_their_streams_are_open() {
    let (mut cell, mut base) = pair().await;
    base.knows(CELL, cell.addr);
    cell.send(BASE, 10);
    assert_eq!(base.receive(1).await, numbers(1..=1));
    let limit = std::time::Duration::from_millis(500);
    let ended = async {
        base.drain();
        cell.plane.shutdown(limit).await;
        base.plane.shutdown(limit).await;
        until(|| !cell.is_sending_to(BASE)).await;
    };
    tokio::time::timeout(crate::host::PATIENCE, ended).await.expect("open streams held it up");
}
