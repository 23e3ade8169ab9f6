//! Who may speak: every mismatch of a greeting has its own refusal, and a newer life ends the
//! older one.

use crate::host::{BASE, CELL, CLUSTER, Host, OTHER_CELL, numbers, until};
use crate::limits::{Raw, hello};
use marchland_common::order::{Incarnation, Node};
use marchland_proto::convert::node_to_wire;
use marchland_proto::link::{Hello, Resume, down, up};
use marchland_runtime::link::{LinkConfig, LinkEvent, PROTO};

async fn refusal(base: &Host, hello: Hello) -> (String, bool) {
    let mut raw = Raw::dial(base).await;
    raw.say(up::What::Hello(hello)).await;
    match raw.answer().await {
        Ok(down::What::Refusal(refusal)) => (refusal.code, refusal.may_retry),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_mismatch_has_its_own_refusal() {
    let base = Host::start(BASE).await;
    base.plane.bury(&[CELL]);
    let good = || hello(OTHER_CELL, BASE);
    let other_life = Node { incarnation: Incarnation(99), ..BASE };
    let cases = [
        (Hello { cluster: 8, ..good() }, "other-cluster", false),
        (
            Hello { proto_min: PROTO + 1, proto_max: PROTO + 2, ..good() },
            "no-common-protocol",
            false,
        ),
        (hello(OTHER_CELL, other_life), "wrong-destination", true),
        (hello(other_life, BASE), "own-name", false),
        (hello(CELL, BASE), "old-incarnation", false),
        (Hello { channel: 9, ..good() }, "unknown-channel", false),
        (
            Hello { resume: Some(Resume { sending: 0, receiving: 7, last_received: 0 }), ..good() },
            "cannot-resume",
            true,
        ),
    ];
    for (hello, code, may_retry) in cases {
        assert_eq!(refusal(&base, hello).await, (code.to_owned(), may_retry));
        assert_eq!(base.plane.refusals()[code], 1);
    }
    let mut raw = Raw::dial(&base).await;
    raw.say(up::What::Hello(Hello { from: None, ..good() })).await;
    assert_eq!(raw.answer().await.unwrap_err().code(), tonic::Code::InvalidArgument);
    assert_eq!(node_to_wire(BASE).number, 1);
}

#[tokio::test]
async fn a_process_of_another_cluster_is_told_so_once_and_stays_without_a_link() {
    let mut cell = Host::with(LinkConfig::new(CLUSTER + 1, 5, CELL)).await;
    let base = Host::start(BASE).await;
    cell.knows(BASE, base.addr);
    let refused = cell.event(|event| matches!(event, LinkEvent::HelloRefused { .. })).await;
    let LinkEvent::HelloRefused { peer, code, message } = refused else { unreachable!() };
    assert_eq!((peer, code.as_str()), (BASE, "other-cluster"));
    assert!(message.contains("check the address"), "{message}");
    until(|| base.plane.refusals().get("other-cluster").is_some_and(|n| *n >= 2)).await;
    cell.drain();
    assert_eq!(cell.count_of(|event| matches!(event, LinkEvent::HelloRefused { .. })), 1);
    assert!(!cell.is_sending_to(BASE));
}

#[tokio::test]
async fn a_newer_life_ends_the_links_of_the_older_one_and_its_waiting_words_count_no_more() {
    let mut base = Host::start(BASE).await;
    let mut old = Host::start(CELL).await;
    old.knows(BASE, base.addr);
    (0..3).for_each(|_| old.send(BASE, 10));
    until(|| base.observations.len() == 3).await;
    let newer = Node { incarnation: Incarnation(50), ..CELL };
    let mut new = Host::start(newer).await;
    new.knows(BASE, base.addr);
    until(|| new.is_sending_to(BASE)).await;
    let drained = base.drain();
    assert_eq!(drained.stale, vec![(CELL, 3)]);
    assert!(drained.frames.is_empty());
    old.send(BASE, 10);
    let refused = old.event(|event| matches!(event, LinkEvent::HelloRefused { .. })).await;
    let LinkEvent::HelloRefused { code, .. } = refused else { unreachable!() };
    assert_eq!(code, "old-incarnation");
    (0..2).for_each(|_| new.send(BASE, 10));
    assert_eq!(base.receive(2).await, numbers(1..=2));
}

#[tokio::test]
async fn what_waits_for_a_life_that_is_declared_dead_comes_back_counted() {
    let mut cell = Host::start(CELL).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    cell.knows(BASE, closed.local_addr().unwrap());
    drop(closed);
    (0..4).for_each(|_| cell.send(BASE, 10));
    until(|| cell.plane.evidence().iter().any(|e| e.peer == BASE && e.is_absent())).await;
    cell.plane.bury(&[BASE]);
    let retired = LinkEvent::Retired { peer: BASE, unsent: 4, untaken: 0 };
    assert_eq!(cell.event(|event| *event == retired).await, retired);
    assert!(cell.plane.evidence().is_empty());
    cell.send(BASE, 10);
    let no_link = LinkEvent::NoLink { to: BASE, n: 5 };
    assert_eq!(cell.event(|event| *event == no_link).await, no_link);
    assert!(no_link.refusal().is_some() && retired.refusal().is_some());
}
