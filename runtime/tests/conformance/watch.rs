//! Watches as the protocol has them.

use crate::support::Arm;
use etcd_client::{EventType, WatchFilterType, WatchOptions, WatchStream};

crate::cases![
    a_watch_from_a_revision_gets_every_later_change_in_order,
    a_watch_leaves_out_what_it_was_told_to,
    watches_on_one_stream_are_told_apart_and_cancelled_alone,
];

/// Kinds, keys' last letters and revisions of the next `count` events.
async fn take(watch: &mut WatchStream, count: usize) -> Vec<(EventType, char, i64)> {
    let mut events = Vec::new();
    while events.len() < count {
        let message = watch.message().await.unwrap().unwrap();
        assert!(!message.canceled(), "canceled: {}", message.cancel_reason());
        for event in message.events() {
            let kv = event.kv().unwrap();
            let letter = char::from(*kv.key().last().unwrap());
            events.push((event.event_type(), letter, kv.mod_revision()));
        }
    }
    assert_eq!(events.len(), count);
    events
}

async fn a_watch_from_a_revision_gets_every_later_change_in_order(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let first = client.put(p.clone() + "a", "1", None).await.unwrap().header().unwrap().revision();
    client.put(p.clone() + "b", "2", None).await.unwrap();
    client.delete(p.clone() + "a", None).await.unwrap();
    let options = WatchOptions::new().with_prefix().with_prev_key().with_start_revision(first);
    let mut watch = client.watch(&*p, Some(options)).await.unwrap();
    let created = watch.message().await.unwrap().unwrap();
    assert!(created.created() && created.events().is_empty());
    let events = take(&mut watch, 3).await;
    let shapes: Vec<_> = events.iter().map(|(kind, letter, _)| (*kind, *letter)).collect();
    let (put, delete) = (EventType::Put, EventType::Delete);
    assert_eq!(shapes, [(put, 'a'), (put, 'b'), (delete, 'a')]);
    assert!(events.is_sorted_by(|x, y| x.2 < y.2) && events[0].2 == first);
    client.put(p.clone() + "b", "3", None).await.unwrap();
    let message = watch.message().await.unwrap().unwrap();
    assert_eq!(message.events()[0].prev_kv().unwrap().value(), b"2");
    watch.request_progress().await.unwrap();
    let progress = watch.message().await.unwrap().unwrap();
    assert_eq!((progress.watch_id(), progress.events().len()), (-1, 0));
    let at = message.events()[0].kv().unwrap().mod_revision();
    assert!(progress.header().unwrap().revision() >= at);
}

async fn a_watch_leaves_out_what_it_was_told_to(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let only =
        |filter: WatchFilterType| Some(WatchOptions::new().with_prefix().with_filters([filter]));
    let mut no_puts = client.watch(&*p, only(WatchFilterType::NoPut)).await.unwrap();
    let mut no_deletes = client.watch(&*p, only(WatchFilterType::NoDelete)).await.unwrap();
    assert!(no_puts.message().await.unwrap().unwrap().created());
    assert!(no_deletes.message().await.unwrap().unwrap().created());
    client.put(p.clone() + "a", "1", None).await.unwrap();
    client.delete(p.clone() + "a", None).await.unwrap();
    client.put(p.clone() + "b", "1", None).await.unwrap();
    client.put("beside/".to_owned() + &p, "1", None).await.unwrap();
    client.delete(p.clone() + "b", None).await.unwrap();
    let letters = |events: Vec<(EventType, char, i64)>| -> Vec<_> {
        events.into_iter().map(|(kind, letter, _)| (kind, letter)).collect()
    };
    let (put, delete) = (EventType::Put, EventType::Delete);
    assert_eq!(letters(take(&mut no_puts, 2).await), [(delete, 'a'), (delete, 'b')]);
    assert_eq!(letters(take(&mut no_deletes, 2).await), [(put, 'a'), (put, 'b')]);
}

async fn watches_on_one_stream_are_told_apart_and_cancelled_alone(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let mut watch = client.watch(p.clone() + "a", None).await.unwrap();
    let first = watch.message().await.unwrap().unwrap().watch_id();
    watch.watch(p.clone() + "b", None).await.unwrap();
    let second = watch.message().await.unwrap().unwrap().watch_id();
    assert_ne!(first, second);
    watch.cancel(first).await.unwrap();
    let canceled = watch.message().await.unwrap().unwrap();
    assert!(canceled.canceled() && canceled.watch_id() == first);
    client.put(p.clone() + "a", "1", None).await.unwrap();
    client.put(p.clone() + "b", "1", None).await.unwrap();
    let message = watch.message().await.unwrap().unwrap();
    assert_eq!((message.watch_id(), message.events().len()), (second, 1));
}
