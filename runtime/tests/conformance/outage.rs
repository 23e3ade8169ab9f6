//! The server itself stops, dies, comes back.

use crate::registration::{join, member, until_back, until_state};
use crate::support::{Arm, never_fails};
use crate::watcher::{follow, follow_until_equal, put, spawn};
use marchland_common::order::Incarnation;
use marchland_runtime::coord::{
    Entries, LeaderInfo, RegState, RegisterOptions, campaign, register,
};
use std::time::Duration;

crate::cases![
    a_stop_beyond_every_lease_ends_no_life,
    a_killed_server_comes_back_with_its_revisions_and_everyone_goes_on,
    short_outages_cost_nobody_the_lease,
];

async fn a_stop_beyond_every_lease_ends_no_life(arm: Arm) {
    let server = arm.own_server().await;
    let client = arm.client_of(&server.endpoint(), "c").await;
    let short = RegisterOptions { ttl: Duration::from_secs(2), ..RegisterOptions::default() };
    let (one, two) = (
        register(&client, crate::registration::info("cell-1"), short).await.unwrap(),
        register(&client, crate::registration::info("base-1"), short).await.unwrap(),
    );
    let leases = (one.lease(), two.lease());
    let (mut watcher, mut state) = (spawn(&client), Entries::new());
    follow(&mut state, watcher.changed().await.unwrap().diff);
    server.pause();
    until_state(&one, |s| matches!(s, RegState::Unproven { .. })).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(matches!(*one.state().borrow(), RegState::Unproven { .. }));
    assert!(watcher.age() > Some(Duration::from_secs(2)));
    server.resume();
    // Their leases died all at once; each comes back as who it was.
    assert_eq!(until_back(&client, "cell-1", leases.0).await.node(), one.node());
    assert_eq!(until_back(&client, "base-1", leases.1).await.node(), two.node());
    until_state(&one, |s| *s == RegState::Registered).await;
    put(&client, 1, "after").await;
    follow_until_equal(&client, &mut watcher, &mut state).await;
    assert_eq!(state.len(), 1);
}

async fn a_killed_server_comes_back_with_its_revisions_and_everyone_goes_on(arm: Arm) {
    let mut server = arm.own_server().await;
    let client = arm.client_of(&server.endpoint(), "c").await;
    let registration = join(&client, "cell-1").await;
    let info = LeaderInfo {
        name: "manager-1".parse().unwrap(),
        incarnation: Incarnation(1),
        operator_addr: String::new(),
        proto: 1,
    };
    let leader = campaign(&client, &info, Duration::from_secs(5)).await;
    let (mut watcher, mut state) = (spawn(&client), Entries::new());
    follow(&mut state, watcher.changed().await.unwrap().diff);
    let mut written = 0;
    for round in 0..3 {
        for i in 0..20 {
            put(&client, i, &format!("{round} {i}")).await;
        }
        written = client.list(client.keys().root()).await.unwrap().revision;
        server.kill();
        server.restart().await;
        let listed = never_fails("list", || client.list(client.keys().root())).await;
        assert!(listed.revision >= written, "confirmed changes were lost");
        follow_until_equal(&client, &mut watcher, &mut state).await;
    }
    assert_eq!(state.len(), 20);
    assert!(written > 60);
    assert_eq!(watcher.stats().regressions, 0);
    let key = client.keys().member(registration.name());
    let found = never_fails("read", || client.get(&key)).await;
    assert!(found.is_some());
    assert_eq!(member(&client, "cell-1").await.unwrap().node(), registration.node());
    let txn = || marchland_runtime::coord::Txn::new().put(client.keys().spaces() + "1", "led");
    assert!(never_fails("write", || leader.guarded_txn(txn())).await.succeeded);
}

async fn short_outages_cost_nobody_the_lease(arm: Arm) {
    let mut server = arm.own_server().await;
    let client = arm.client_of(&server.endpoint(), "c").await;
    let patient = RegisterOptions { ttl: Duration::from_secs(30), ..RegisterOptions::default() };
    let registration =
        register(&client, crate::registration::info("cell-1"), patient).await.unwrap();
    let lease = registration.lease();
    for _ in 0..3 {
        server.kill();
        server.restart().await;
        let proven = registration.proof().proven_at;
        crate::support::eventually("the lease is renewed again", || async {
            (registration.proof().proven_at > proven).then_some(())
        })
        .await;
    }
    assert_eq!(registration.lease(), lease);
    until_state(&registration, |s| *s == RegState::Registered).await;
    assert_eq!(member(&client, "cell-1").await.unwrap().lease, lease);
}
