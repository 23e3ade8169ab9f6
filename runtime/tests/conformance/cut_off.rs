//! One client is cut off, the server is not.

use crate::registration::{info, join, until_state};
use crate::support::{Arm, Server, eventually};
use crate::watcher::{delete, follow, follow_until_equal, put, spawn};
use marchland_chaos::{Proxy, Way};
use marchland_runtime::coord::{
    CoordClient, CoordError, CoordOptions, Entries, RegState, RegisterOptions, Txn, register,
};
use std::time::{Duration, Instant};

crate::cases![
    changes_and_a_compaction_while_a_watcher_is_cut_off_are_seen_exactly_once,
    a_watch_that_falls_silent_is_given_up_and_shows_its_age,
    a_member_that_is_cut_off_doubts_its_lease_and_recovers_without_a_new_life,
    no_call_waits_longer_than_its_deadline,
    leaving_while_cut_off_ends_in_time_and_says_so,
    an_address_where_nobody_is_fails_with_its_name,
    a_server_that_comes_late_is_waited_for,
    one_dead_endpoint_of_two_costs_no_call,
];

/// A proxy before a server, which is there for one client alone.
fn before(server: &Server) -> Proxy {
    Proxy::to(server.endpoint().parse().unwrap()).unwrap()
}

async fn changes_and_a_compaction_while_a_watcher_is_cut_off_are_seen_exactly_once(arm: Arm) {
    let server = arm.own_server().await;
    let proxy = before(&server);
    let (direct, cut) = (
        arm.client_of(&server.endpoint(), "c").await,
        arm.client_of(&proxy.addr().to_string(), "c").await,
    );
    put(&direct, 1, "before").await;
    let (mut watcher, mut state) = (spawn(&cut), Entries::new());
    follow(&mut state, watcher.changed().await.unwrap().diff);
    for refused in [false, true] {
        match refused {
            true => proxy.refuse().await,
            false => proxy.set_both(Way::Stall),
        }
        for i in 0..100u32 {
            put(&direct, i % 11, &format!("{refused} {i}")).await;
        }
        delete(&direct, 3).await;
        let now = direct.list(&direct.keys().spaces()).await.unwrap().revision;
        server.raw().await.compact(now, None).await.unwrap();
        eventually("the watcher gives the stream up", || async {
            watcher.age().filter(|age| *age > Duration::from_secs(3))
        })
        .await;
        proxy.heal().await;
        follow_until_equal(&direct, &mut watcher, &mut state).await;
    }
    assert_eq!(watcher.stats().regressions, 0);
}

async fn a_watch_that_falls_silent_is_given_up_and_shows_its_age(arm: Arm) {
    let proxy = before(arm.server());
    let client = arm.client_of(&proxy.addr().to_string(), &arm.unique()).await;
    let mut watcher = spawn(&client);
    watcher.changed().await.unwrap();
    proxy.set_both(Way::Stall);
    eventually("the age grows and the stream is given up", || async {
        let given_up = !watcher.stats().relists.is_empty();
        (given_up && watcher.age() > Some(Duration::from_secs(2))).then_some(())
    })
    .await;
    proxy.heal().await;
    eventually("it is young again", || async {
        watcher.age().filter(|age| *age < Duration::from_secs(2))
    })
    .await;
}

async fn a_member_that_is_cut_off_doubts_its_lease_and_recovers_without_a_new_life(arm: Arm) {
    let (proxy, cluster) = (before(arm.server()), arm.unique());
    let cut = arm.client_of(&proxy.addr().to_string(), &cluster).await;
    let direct = arm.client_of(&arm.server().endpoint(), &cluster).await;
    let options = RegisterOptions { ttl: Duration::from_secs(2), ..RegisterOptions::default() };
    let registration = register(&cut, info("cell-1"), options).await.unwrap();
    let (node, key) = (registration.node(), direct.keys().member(registration.name()));
    proxy.set_both(Way::Stall);
    until_state(&registration, |s| matches!(s, RegState::Unproven { .. })).await;
    eventually("the lease runs out", || async {
        direct.get(&key).await.unwrap().is_none().then_some(())
    })
    .await;
    // Cut off for longer than the lease: still only doubt, no matter how long.
    assert!(matches!(*registration.state().borrow(), RegState::Unproven { .. }));
    assert!(!registration.proof().holds(tokio::time::Instant::now()));
    proxy.heal().await;
    let back = crate::registration::until_back(&direct, "cell-1", 0).await;
    assert_eq!(back.node(), node);
    until_state(&registration, |s| *s == RegState::Registered).await;
}

async fn no_call_waits_longer_than_its_deadline(arm: Arm) {
    let proxy = before(arm.server());
    let client = arm.client_of(&proxy.addr().to_string(), &arm.unique()).await;
    proxy.set_both(Way::Stall);
    let root = client.keys().root().to_owned();
    let calls = async {
        assert!(matches!(client.get("k").await, Err(CoordError::Get { .. })));
        assert!(matches!(client.list(&root).await, Err(CoordError::List { .. })));
        let txn = client.txn(Txn::new().put("k", "v")).await;
        assert!(txn.is_err_and(|e| e.is_transient()));
        assert!(matches!(client.grant(Duration::from_secs(5)).await, Err(CoordError::Grant(_))));
        assert!(matches!(client.revoke(1).await, Err(CoordError::Revoke(_))));
    };
    // Five calls of two seconds each; without deadlines they would wait for ever.
    tokio::time::timeout(Duration::from_secs(40), calls).await.unwrap();
}

async fn leaving_while_cut_off_ends_in_time_and_says_so(arm: Arm) {
    let proxy = before(arm.server());
    let client = arm.client_of(&proxy.addr().to_string(), &arm.unique()).await;
    let registration = join(&client, "cell-1").await;
    proxy.set_both(Way::Stall);
    let leaving = registration.close(Duration::from_secs(1));
    let unclean = tokio::time::timeout(Duration::from_secs(20), leaving).await.unwrap();
    assert!(matches!(unclean, Err(CoordError::Revoke(_))));
}

async fn an_address_where_nobody_is_fails_with_its_name(arm: Arm) {
    let proxy = before(arm.server());
    let endpoint = proxy.addr().to_string();
    proxy.refuse().await;
    let options =
        CoordOptions { connect_timeout: Duration::from_secs(1), ..CoordOptions::new("frontier") };
    let started = Instant::now();
    let refused = CoordClient::connect(&[&endpoint], options.clone()).await.err().unwrap();
    assert!(refused.to_string().contains(&endpoint), "{refused}");
    let bad = CoordOptions { cluster: "no/good".to_owned(), ..options };
    let refused = CoordClient::connect(&[&endpoint], bad).await.err().unwrap();
    assert!(refused.to_string().contains("no/good"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(40));
}

async fn a_server_that_comes_late_is_waited_for(arm: Arm) {
    let proxy = before(arm.server());
    proxy.refuse().await;
    let options = CoordOptions {
        connect_timeout: Duration::from_secs(40),
        ..CoordOptions::new(arm.unique())
    };
    let endpoint = [proxy.addr().to_string()];
    let (connected, ()) = tokio::join!(CoordClient::connect(&endpoint, options), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        proxy.heal().await;
    });
    put(&connected.unwrap(), 1, "there").await;
}

async fn one_dead_endpoint_of_two_costs_no_call(arm: Arm) {
    // Bound and given up again: whoever connects there is refused.
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let endpoints = [dead, arm.server().endpoint()];
    let client = CoordClient::connect(&endpoints, CoordOptions::new(arm.unique())).await.unwrap();
    for i in 0..30 {
        put(&client, i, "written").await;
        assert!(client.get(client.keys().root()).await.unwrap().is_none());
    }
    let (mut watcher, mut state) = (spawn(&client), Entries::new());
    follow_until_equal(&client, &mut watcher, &mut state).await;
    assert_eq!(state.len(), 30);
}
