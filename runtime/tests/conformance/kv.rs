//! Keys, versions, ranges.

use crate::support::Arm;
use etcd_client::{DeleteOptions, GetOptions, PutOptions, SortOrder, SortTarget};

crate::cases![
    keys_carry_the_revisions_of_their_creation_and_change,
    ranges_are_cut_counted_and_sorted,
    an_old_revision_is_read_as_it_was_and_a_future_one_refused,
];

async fn keys_carry_the_revisions_of_their_creation_and_change(arm: Arm) {
    let (mut client, key) = (arm.server().raw().await, arm.unique());
    let first = client.put(&*key, "1", None).await.unwrap().header().unwrap().revision();
    let options = PutOptions::new().with_prev_key();
    let put = client.put(&*key, "2", Some(options)).await.unwrap();
    assert_eq!(put.prev_key().unwrap().value(), b"1");
    let got = client.get(&*key, None).await.unwrap();
    let kv = &got.kvs()[0];
    assert_eq!((kv.create_revision(), kv.version(), kv.value()), (first, 2, &b"2"[..]));
    assert_eq!(kv.mod_revision(), put.header().unwrap().revision());
    let deleted = client.delete(&*key, Some(DeleteOptions::new().with_prev_key())).await.unwrap();
    assert_eq!((deleted.deleted(), deleted.prev_kvs()[0].version()), (1, 2));
    assert!(deleted.header().unwrap().revision() > kv.mod_revision());
    assert_eq!(client.delete(&*key, None).await.unwrap().deleted(), 0);
    let again = client.put(&*key, "3", None).await.unwrap().header().unwrap().revision();
    let got = client.get(&*key, None).await.unwrap();
    assert_eq!((got.kvs()[0].create_revision(), got.kvs()[0].version()), (again, 1));
    let keep = PutOptions::new().with_ignore_value();
    client.put(&*key, "", Some(keep)).await.unwrap();
    assert_eq!(client.get(&*key, None).await.unwrap().kvs()[0].value(), b"3");
}

async fn ranges_are_cut_counted_and_sorted(arm: Arm) {
    let (mut client, prefix) = (arm.server().raw().await, arm.unique() + "/");
    for (key, value) in [("b", "1"), ("a", "3"), ("c", "2")] {
        client.put(prefix.clone() + key, value, None).await.unwrap();
    }
    client.put(prefix.clone() + "b", "0", None).await.unwrap();
    let options = || GetOptions::new().with_prefix();
    let get = async |options| {
        let got = arm.server().raw().await.get(&*prefix, Some(options)).await.unwrap();
        let keys: Vec<_> = got.kvs().iter().map(|kv| kv.key()[prefix.len()..].to_vec()).collect();
        (String::from_utf8(keys.concat()).unwrap(), got.more(), got.count())
    };
    assert_eq!(get(options()).await, ("abc".into(), false, 3));
    assert_eq!(get(options().with_limit(2)).await, ("ab".into(), true, 3));
    assert_eq!(get(options().with_count_only()).await, (String::new(), false, 3));
    let by = |target, order| options().with_sort(target, order);
    assert_eq!(get(by(SortTarget::Key, SortOrder::Descend)).await.0, "cba");
    assert_eq!(get(by(SortTarget::Create, SortOrder::Ascend)).await.0, "bac");
    assert_eq!(get(by(SortTarget::Mod, SortOrder::Descend)).await.0, "bca");
    assert_eq!(get(by(SortTarget::Value, SortOrder::Ascend)).await.0, "bca");
    assert_eq!(get(by(SortTarget::Version, SortOrder::Descend).with_limit(1)).await.0, "b");
    let bare = client.get(&*prefix, Some(options().with_keys_only())).await.unwrap();
    assert!(bare.kvs().iter().all(|kv| kv.value().is_empty() && kv.version() > 0));
    let from_b = GetOptions::new().with_range(prefix.clone() + "c");
    let got = client.get(prefix.clone() + "b", Some(from_b)).await.unwrap();
    assert_eq!((got.kvs().len(), got.kvs()[0].key()), (1, (prefix.clone() + "b").as_bytes()));
    let (created, changed) = (got.kvs()[0].create_revision(), got.kvs()[0].mod_revision());
    assert_eq!(get(options().with_min_mod_revision(changed)).await, ("b".into(), false, 3));
    assert_eq!(get(options().with_max_create_revision(created)).await.0, "b");
    assert_eq!(get(options().with_min_create_revision(created + 1)).await.0, "ac");
    assert_eq!(get(options().with_max_mod_revision(changed - 1)).await.0, "ac");
}

async fn an_old_revision_is_read_as_it_was_and_a_future_one_refused(arm: Arm) {
    let (mut client, key) = (arm.server().raw().await, arm.unique());
    let then = client.put(&*key, "old", None).await.unwrap().header().unwrap().revision();
    client.put(&*key, "new", None).await.unwrap();
    client.delete(&*key, None).await.unwrap();
    let at = |revision| Some(GetOptions::new().with_revision(revision));
    assert_eq!(client.get(&*key, at(then)).await.unwrap().kvs()[0].value(), b"old");
    assert!(client.get(&*key, at(then - 1)).await.unwrap().kvs().is_empty());
    let refused = client.get(&*key, at(then + 1_000_000)).await.unwrap_err();
    crate::txn::assert_status(
        &refused,
        tonic::Code::OutOfRange,
        "etcdserver: mvcc: required revision is a future revision",
    );
}
