//! Connections break; streams do not.

use crate::host::{BASE, CELL, Host, numbers, until};
use marchland_chaos::{Direction, Proxy, Way};
use marchland_runtime::link::{LinkEvent, LinkTimes};
use std::time::Duration;

async fn pair_over_a_proxy() -> (Host, Host, Proxy) {
    let (cell, base) = (Host::start(CELL).await, Host::start(BASE).await);
    let proxy = Proxy::to(base.addr).unwrap();
    cell.knows(BASE, proxy.addr());
    until(|| cell.is_sending_to(BASE)).await;
    (cell, base, proxy)
}

const fn is_end(event: &LinkEvent) -> bool {
    matches!(event, LinkEvent::Disconnected { .. })
}

#[tokio::test]
async fn each_bundle_arrives_once_and_in_order_over_connections_that_end_in_mid_frame() {
    let (mut cell, mut base, proxy) = pair_over_a_proxy().await;
    // Above what one data frame carries, or no connection could ever get anything across.
    proxy.cut_each_after(Some(70_000));
    proxy.cut();
    let mut got = Vec::new();
    for n in 0..300 {
        cell.send(BASE, n * 37 % 3_000);
        got.extend(base.drain().frames.iter().map(|frame| frame.bundle.n));
        tokio::task::yield_now().await;
    }
    got.extend(base.receive(300 - got.len()).await);
    assert_eq!(got, numbers(1..=300));
    assert!(proxy.counts().accepted > 5, "only {} connections", proxy.counts().accepted);
    cell.drain();
    assert_eq!(cell.count_of(|event| matches!(event, LinkEvent::Lost { .. })), 0);
}

#[tokio::test]
async fn cuts_at_any_moment_lose_and_repeat_nothing() {
    let (mut cell, mut base, proxy) = pair_over_a_proxy().await;
    let mut got = Vec::new();
    for round in 1..=12_u64 {
        (0..7).for_each(|_| cell.send(BASE, 900));
        for _ in 0..round * 3 {
            tokio::task::yield_now().await;
        }
        proxy.cut();
        until(|| {
            got.extend(base.drain().frames.iter().map(|frame| frame.bundle.n));
            got.len() as u64 == cell.sent()
        })
        .await;
    }
    assert_eq!(got, numbers(1..=84));
}

/// Nothing is closed: only the questions that stay unanswered tell, at both ends.
async fn both_ends_notice_and_go_on(silent: &[Direction], way: Way) {
    let (mut cell, mut base, proxy) = pair_over_a_proxy().await;
    cell.send(BASE, 10);
    assert_eq!(base.receive(1).await, vec![1]);
    silent.iter().for_each(|direction| proxy.set(*direction, way));
    cell.event(is_end).await;
    base.event(is_end).await;
    (0..5).for_each(|_| cell.send(BASE, 10));
    // No answer to a greeting can come through, or no greeting.
    assert!(!cell.is_sending_to(BASE));
    proxy.heal().await;
    assert_eq!(base.receive(5).await, numbers(2..=6));
    cell.drain();
    assert_eq!(cell.count_of(|event| matches!(event, LinkEvent::Lost { .. })), 0);
}

#[tokio::test]
async fn both_ends_notice_a_path_that_swallows_and_lose_nothing_by_it() {
    both_ends_notice_and_go_on(&[Direction::Up, Direction::Down], Way::Discard).await;
}

#[tokio::test]
async fn both_ends_notice_a_path_that_stands_still_and_lose_nothing_by_it() {
    both_ends_notice_and_go_on(&[Direction::Up, Direction::Down], Way::Stall).await;
}

#[tokio::test]
async fn both_ends_notice_that_nothing_reaches_the_dialed_one() {
    both_ends_notice_and_go_on(&[Direction::Up], Way::Discard).await;
}

#[tokio::test]
async fn both_ends_notice_that_nothing_comes_back_from_the_dialed_one() {
    both_ends_notice_and_go_on(&[Direction::Down], Way::Discard).await;
}

#[test]
fn a_dead_path_is_noticed_within_700_ms_and_a_healed_one_used_within_a_second() {
    let times = LinkTimes::STANDARD;
    assert!(times.keep_alive + times.keep_alive_answer <= Duration::from_millis(700));
    // The worst case: the path heals just after an attempt began that cannot succeed any more.
    let attempt = times.connect.max(times.hello);
    assert!(attempt + times.retry_max < Duration::from_secs(1));
    // Three attempts that fail at once, with the longest pauses between them.
    assert!(times.retry_min * 3 <= Duration::from_millis(150));
}

#[tokio::test]
async fn a_peer_whose_port_is_closed_counts_as_absent_and_one_that_only_hangs_does_not() {
    let (mut cell, mut base, proxy) = pair_over_a_proxy().await;
    proxy.set_both(Way::Stall);
    cell.event(is_end).await;
    let of_base = |cell: &Host| cell.plane.evidence().into_iter().find(|e| e.peer == BASE).unwrap();
    until(|| of_base(&cell).failure.is_some()).await;
    assert!(!of_base(&cell).is_absent());
    proxy.heal().await;
    until(|| cell.is_sending_to(BASE)).await;
    assert_eq!(of_base(&cell).ended_ns, None);
    // Nobody listens where it listened.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = closed.local_addr().unwrap();
    drop(closed);
    cell.knows(BASE, nowhere);
    base.plane.shutdown(Duration::ZERO).await;
    base.drain();
    until(|| of_base(&cell).is_absent()).await;
    assert!(of_base(&cell).absent_since_ns >= of_base(&cell).ended_ns.unwrap_or(u64::MAX));
}
