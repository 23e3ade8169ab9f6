//! What a compaction ends, and in which words.

use crate::support::Arm;
use crate::txn::assert_status;
use etcd_client::{GetOptions, Txn, TxnOp, WatchOptions};
use tonic::Code;

crate::cases![a_compaction_ends_old_reads_and_watches_in_known_words];

const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";

async fn a_compaction_ends_old_reads_and_watches_in_known_words(arm: Arm) {
    let server = arm.own_server().await;
    let mut client = server.raw().await;
    let mut newest = 0;
    for value in ["1", "2", "3", "4"] {
        newest = client.put("k", value, None).await.unwrap().header().unwrap().revision();
    }
    let mut synced = client.watch("k", None).await.unwrap();
    assert!(synced.message().await.unwrap().unwrap().created());
    client.compact(newest - 1, None).await.unwrap();

    let at = |revision| Some(GetOptions::new().with_revision(revision));
    let refused = client.get("k", at(newest - 2)).await.unwrap_err();
    assert_status(&refused, Code::OutOfRange, COMPACTED);
    assert_eq!(client.get("k", at(newest - 1)).await.unwrap().kvs()[0].value(), b"3");
    let txn = Txn::new().and_then([TxnOp::put("x", "1", None), TxnOp::get("k", at(newest - 2))]);
    assert_status(&client.txn(txn).await.unwrap_err(), Code::OutOfRange, COMPACTED);
    assert!(client.get("x", None).await.unwrap().kvs().is_empty());
    let again = client.compact(newest - 1, None).await.unwrap_err();
    assert_status(&again, Code::OutOfRange, COMPACTED);
    let future = client.compact(newest + 9, None).await.unwrap_err();
    let text = "etcdserver: mvcc: required revision is a future revision";
    assert_status(&future, Code::OutOfRange, text);

    let from = |revision| Some(WatchOptions::new().with_start_revision(revision));
    let mut old = client.watch("k", from(newest - 2)).await.unwrap();
    assert!(old.message().await.unwrap().unwrap().created());
    let ended = old.message().await.unwrap().unwrap();
    assert!(ended.canceled() && ended.events().is_empty());
    assert_eq!(ended.compact_revision(), newest - 1);
    let mut exact = client.watch("k", from(newest - 1)).await.unwrap();
    assert!(exact.message().await.unwrap().unwrap().created());
    assert_eq!(exact.message().await.unwrap().unwrap().events().len(), 2);

    // A watch that had caught up does not notice a compaction at all.
    client.put("k", "5", None).await.unwrap();
    let message = synced.message().await.unwrap().unwrap();
    assert!(!message.canceled());
    assert_eq!(message.events()[0].kv().unwrap().value(), b"5");
}
