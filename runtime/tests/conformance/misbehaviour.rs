//! What only the stand-in can be told to do: break one promise at a time.

use crate::registration::{info, until_state};
use crate::support::eventually;
use crate::watcher::put;
use marchland_runtime::coord::{
    CoordClient, CoordOptions, RegState, RegisterOptions, RelistReason, Watcher, WatcherOptions,
    register,
};
use marchland_runtime::standin_server::{FaultSwitch, StandinOptions, serve};
use marchland_standin_core::Faults;
use std::time::Duration;

async fn server() -> (CoordClient, FaultSwitch) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    let options = StandinOptions::default();
    let faults = options.faults.clone();
    tokio::spawn(serve(listener, options, std::future::pending()));
    let client = CoordClient::connect(&[endpoint], CoordOptions::new("c")).await.unwrap();
    (client, faults)
}

fn watcher(client: &CoordClient, relist_every: Duration) -> Watcher {
    let options = WatcherOptions { relist_every, ..WatcherOptions::default() };
    Watcher::spawn(client.clone(), client.keys().spaces(), options)
}

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn an_event_lost_in_silence_is_repaired_by_the_next_list() {
    let (client, faults) = server().await;
    let mut watcher = watcher(&client, Duration::from_secs(1));
    watcher.changed().await.unwrap();
    faults.set(Faults { drop_watch_events: true, ..Faults::default() });
    put(&client, 1, "unseen").await;
    let change = watcher.changed().await.unwrap();
    assert_eq!(change.snapshot.len(), 1);
    let stats = watcher.stats();
    assert_eq!(stats.events, 0, "the event was delivered after all");
    assert!(stats.relists.contains_key(&RelistReason::Periodic));
}

#[tokio::test]
async fn a_cancelled_watch_is_opened_again() {
    let (client, faults) = server().await;
    let mut watcher = watcher(&client, LONG);
    watcher.changed().await.unwrap();
    faults.set(Faults { cancel_watches: true, ..Faults::default() });
    put(&client, 1, "seen by a list").await;
    assert_eq!(watcher.changed().await.unwrap().snapshot.len(), 1);
    eventually("the cancellation is counted", || async {
        watcher.stats().relists.contains_key(&RelistReason::Canceled).then_some(())
    })
    .await;
    faults.set(Faults::default());
    put(&client, 2, "seen by the watch").await;
    assert_eq!(watcher.changed().await.unwrap().snapshot.len(), 2);
}

#[tokio::test]
async fn refused_renewals_are_doubt_until_the_lease_is_gone_and_then_the_same_life_again() {
    let (client, faults) = server().await;
    let options = RegisterOptions {
        ttl: Duration::from_secs(2),
        self_check: LONG,
        ..RegisterOptions::default()
    };
    let registration = register(&client, info("cell-1"), options).await.unwrap();
    let (node, lease) = (registration.node(), registration.lease());
    faults.set(Faults { refuse_keep_alives: true, ..Faults::default() });
    until_state(&registration, |s| matches!(s, RegState::Unproven { .. })).await;
    let key = client.keys().member(registration.name());
    eventually("the lease runs out", || async {
        client.get(&key).await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(matches!(*registration.state().borrow(), RegState::Unproven { .. }));
    faults.set(Faults::default());
    let back = crate::registration::until_back(&client, "cell-1", lease).await;
    assert_eq!(back.node(), node);
}

#[tokio::test]
async fn a_stalled_server_is_noticed_by_watch_and_lease_and_forgiven() {
    let (client, faults) = server().await;
    let mut watcher = watcher(&client, LONG);
    watcher.changed().await.unwrap();
    let registration = register(&client, info("cell-1"), RegisterOptions::default()).await.unwrap();
    faults.set(Faults { stall: true, ..Faults::default() });
    until_state(&registration, |s| matches!(s, RegState::Unproven { .. })).await;
    eventually("the watch is given up", || async {
        watcher.stats().relists.contains_key(&RelistReason::Stalled).then_some(())
    })
    .await;
    faults.set(Faults::default());
    until_state(&registration, |s| *s == RegState::Registered).await;
    put(&client, 1, "after").await;
    assert_eq!(watcher.changed().await.unwrap().snapshot.len(), 1);
}
