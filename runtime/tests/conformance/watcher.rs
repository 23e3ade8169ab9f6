//! List, then watch.

use crate::support::{Arm, eventually};
use marchland_runtime::coord::{
    CoordClient, Diff, Entries, RelistReason, Txn, Watcher, WatcherOptions,
};
use std::time::Duration;

crate::cases![
    a_watcher_begins_with_the_list_and_goes_on_with_every_change,
    a_slow_reader_sees_every_change_once,
    a_long_prefix_is_listed_in_pages_at_one_revision,
    a_quiet_watch_stays_open_and_young,
    two_readers_of_one_watcher_do_not_take_from_each_other,
];

pub fn spawn(client: &CoordClient) -> Watcher {
    let options = WatcherOptions::default();
    Watcher::spawn(client.clone(), client.keys().spaces(), options)
}

pub async fn put(client: &CoordClient, space: u32, value: &str) {
    let key = format!("{}{space}", client.keys().spaces());
    client.txn(Txn::new().put(key, value.to_owned())).await.unwrap();
}

pub async fn delete(client: &CoordClient, space: u32) {
    let key = format!("{}{space}", client.keys().spaces());
    client.txn(Txn::new().delete(key)).await.unwrap();
}

/// Applies differences; panics if one does not start from what is known.
pub fn follow(state: &mut Entries, changes: Vec<Diff>) {
    for change in changes {
        assert_eq!(state.get(change.key()), change.old(), "seen twice, or not at all");
        match change.new_value() {
            Some(new) => state.insert(change.key().to_owned(), new.clone()),
            None => state.remove(change.key()),
        };
    }
}

/// Reads changes until the state is what a list of etcd gives; then it must stay so.
pub async fn follow_until_equal(client: &CoordClient, watcher: &mut Watcher, state: &mut Entries) {
    let mut watching = Box::pin(async {
        loop {
            let truth = client.list(&client.keys().spaces()).await.unwrap().entries;
            if *state == truth {
                return;
            }
            let next = tokio::time::timeout(Duration::from_millis(200), watcher.changed()).await;
            if let Ok(change) = next {
                let change = change.unwrap();
                follow(state, change.diff);
                assert_eq!(*state, *change.snapshot);
            }
        }
    });
    tokio::time::timeout(Duration::from_secs(40), watching.as_mut()).await.expect("converges");
}

async fn a_watcher_begins_with_the_list_and_goes_on_with_every_change(arm: Arm) {
    let client = arm.client().await;
    put(&client, 1, "a").await;
    let mut watcher = spawn(&client);
    let first = watcher.changed().await.unwrap();
    assert!(matches!(&first.diff[..], [Diff::Added { new, .. }] if new.value == "a"));
    put(&client, 1, "b").await;
    let second = watcher.changed().await.unwrap();
    assert!(matches!(&second.diff[..], [Diff::Changed { new, .. }] if new.value == "b"));
    assert!(second.revision > first.revision);
    delete(&client, 1).await;
    assert!(matches!(&watcher.changed().await.unwrap().diff[..], [Diff::Removed { .. }]));
    assert_eq!(watcher.stats().events, 2);
}

async fn a_slow_reader_sees_every_change_once(arm: Arm) {
    let client = arm.client().await;
    let (mut watcher, mut state) = (spawn(&client), Entries::new());
    follow(&mut state, watcher.changed().await.unwrap().diff);
    let writer = {
        let client = client.clone();
        tokio::spawn(async move {
            for i in 0..120u32 {
                match i % 5 {
                    4 => delete(&client, i % 3).await,
                    _ => put(&client, i % 7, &i.to_string()).await,
                }
            }
        })
    };
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if let Ok(change) = tokio::time::timeout(Duration::from_millis(50), watcher.changed()).await
        {
            follow(&mut state, change.unwrap().diff);
        }
    }
    writer.await.unwrap();
    follow_until_equal(&client, &mut watcher, &mut state).await;
}

async fn a_long_prefix_is_listed_in_pages_at_one_revision(arm: Arm) {
    let client = arm.client().await;
    for batch in 0..6u32 {
        let keys = (0..100).map(|i| format!("{}{}", client.keys().spaces(), batch * 100 + i));
        client.txn(keys.fold(Txn::new(), |txn, key| txn.put(key, "v"))).await.unwrap();
    }
    let listing = client.list(&client.keys().spaces()).await.unwrap();
    assert_eq!(listing.entries.len(), 600);
    let newest = listing.entries.values().map(|kv| kv.mod_revision).max();
    assert!(newest <= Some(listing.revision));
}

/// A server may drop a connection on which it hears nothing but pings: etcd does so within 5 s. A
/// machine that stands still may cost a stream now and then, so one quiet stretch is enough.
async fn a_quiet_watch_stays_open_and_young(arm: Arm) {
    let client = arm.client().await;
    let mut watcher = spawn(&client);
    watcher.changed().await.unwrap();
    let lost = || {
        let mut relists = watcher.stats().relists;
        relists.remove(&RelistReason::Periodic);
        relists.values().sum::<u64>()
    };
    eventually("8 s without a lost watch", || async {
        let before = lost();
        tokio::time::sleep(Duration::from_secs(8)).await;
        (lost() == before).then_some(())
    })
    .await;
    eventually("the server has just answered", || async {
        watcher.age().filter(|age| *age < Duration::from_secs(2))
    })
    .await;
}

async fn two_readers_of_one_watcher_do_not_take_from_each_other(arm: Arm) {
    let client = arm.client().await;
    let mut one = spawn(&client);
    one.changed().await.unwrap();
    put(&client, 1, "a").await;
    one.changed().await.unwrap();
    let mut other = one.subscribe();
    assert_eq!(other.changed().await.unwrap().diff.len(), 1);
    drop(one);
    put(&client, 2, "b").await;
    assert_eq!(other.changed().await.unwrap().diff.len(), 1);
}
