//! Leases: expiry, renewal, questions about them.

use crate::support::{Arm, eventually};
use etcd_client::{
    EventType, GetOptions, LeaseGrantOptions, LeaseTimeToLiveOptions, PutOptions, WatchOptions,
};
use std::time::Duration;
use tonic::Code;

crate::cases![
    an_expired_lease_takes_its_keys_along_in_one_revision,
    a_renewed_lease_outlives_its_time,
    a_lease_answers_how_long_it_lives_and_what_hangs_on_it,
    a_key_that_moves_to_another_lease_does_not_die_with_the_first,
];

async fn an_expired_lease_takes_its_keys_along_in_one_revision(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let granted = client.lease_grant(1, None).await.unwrap();
    assert_eq!(granted.ttl(), 2, "the shortest time to live is 2 s");
    let options = WatchOptions::new().with_prefix();
    let mut watch = client.watch(&*p, Some(options)).await.unwrap();
    for key in ["a", "b"] {
        let leased = PutOptions::new().with_lease(granted.id());
        client.put(p.clone() + key, "v", Some(leased)).await.unwrap();
    }
    let mut deleted = Vec::new();
    while deleted.len() < 2 {
        let message = watch.message().await.unwrap().unwrap();
        for event in message.events() {
            if event.event_type() == EventType::Delete {
                let kv = event.kv().unwrap();
                deleted.push((kv.key()[p.len()..].to_vec(), kv.mod_revision()));
                assert_eq!((kv.create_revision(), kv.version(), kv.value()), (0, 0, &b""[..]));
            }
        }
    }
    assert_eq!((&*deleted[0].0, &*deleted[1].0), (&b"a"[..], &b"b"[..]));
    assert_eq!(deleted[0].1, deleted[1].1);
}

async fn a_renewed_lease_outlives_its_time(arm: Arm) {
    let (mut client, key) = (arm.server().raw().await, arm.unique());
    let lease = client.lease_grant(2, None).await.unwrap().id();
    client.put(&*key, "v", Some(PutOptions::new().with_lease(lease))).await.unwrap();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await.unwrap();
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        keeper.keep_alive().await.unwrap();
        assert_eq!(answers.message().await.unwrap().unwrap().ttl(), 2);
    }
    assert_eq!(client.get(&*key, None).await.unwrap().kvs().len(), 1);
    // A lease that is revoked under the stream is an answer of 0, and the stream goes on.
    client.lease_revoke(lease).await.unwrap();
    for _ in 0..2 {
        keeper.keep_alive().await.unwrap();
        assert_eq!(answers.message().await.unwrap().unwrap().ttl(), 0);
    }
    assert!(client.get(&*key, None).await.unwrap().kvs().is_empty());
}

async fn a_lease_answers_how_long_it_lives_and_what_hangs_on_it(arm: Arm) {
    let (mut client, key) = (arm.server().raw().await, arm.unique());
    let chosen = 7_000_000_000 + i64::from(key.as_bytes()[1]);
    let options = LeaseGrantOptions::new().with_id(chosen);
    assert_eq!(client.lease_grant(60, Some(options.clone())).await.unwrap().id(), chosen);
    let again = client.lease_grant(60, Some(options)).await.unwrap_err();
    let exists = "etcdserver: lease already exists";
    crate::txn::assert_status(&again, Code::FailedPrecondition, exists);
    client.put(&*key, "v", Some(PutOptions::new().with_lease(chosen))).await.unwrap();
    let with_keys = || Some(LeaseTimeToLiveOptions::new().with_keys());
    let answer = client.lease_time_to_live(chosen, with_keys()).await.unwrap();
    assert_eq!((answer.granted_ttl(), answer.keys()), (60, &[key.clone().into_bytes()][..]));
    assert!((50..=60).contains(&answer.ttl()));
    let listed = client.leases().await.unwrap();
    assert!(listed.leases().iter().any(|l| l.id() == chosen));
    client.lease_revoke(chosen).await.unwrap();
    let answer = client.lease_time_to_live(chosen, with_keys()).await.unwrap();
    assert_eq!((answer.id(), answer.ttl()), (chosen, -1));
    let gone = client.get(&*key, Some(GetOptions::new())).await.unwrap();
    assert!(gone.kvs().is_empty());
}

async fn a_key_that_moves_to_another_lease_does_not_die_with_the_first(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let first = client.lease_grant(60, None).await.unwrap().id();
    let second = client.lease_grant(60, None).await.unwrap().id();
    let on = |lease| Some(PutOptions::new().with_lease(lease));
    for key in ["moved", "freed", "stays"] {
        client.put(p.clone() + key, "v", on(first)).await.unwrap();
    }
    client.put(p.clone() + "moved", "v", on(second)).await.unwrap();
    client.put(p.clone() + "freed", "v", None).await.unwrap();
    client.lease_revoke(first).await.unwrap();
    let left = eventually("only the key on the first lease is gone", || async {
        let options = GetOptions::new().with_prefix().with_keys_only();
        let got = arm.server().raw().await.get(&*p, Some(options)).await.unwrap();
        (got.kvs().len() == 2).then_some(got)
    })
    .await;
    assert_eq!(left.kvs()[1].lease(), second);
}
