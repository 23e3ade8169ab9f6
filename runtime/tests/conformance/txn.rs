//! Transactions, and the words in which requests are refused.

use crate::support::Arm;
use etcd_client::{Compare, CompareOp, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse};
use tonic::Code;

crate::cases![
    a_key_is_created_by_exactly_one_of_many,
    the_writes_of_a_transaction_share_a_revision_and_nested_ones_belong_to_it,
    every_target_is_compared_and_a_range_means_all_of_its_keys,
    refusals_use_the_known_codes_and_words,
];

/// A refusal with exactly this code and this text.
pub fn assert_status(error: &etcd_client::Error, code: Code, text: &str) {
    match error {
        etcd_client::Error::GRpcStatus(status) => {
            assert_eq!((status.code(), status.message()), (code, text));
        }
        other => panic!("not a refusal: {other:?}"),
    }
}

fn absent(key: &str) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, 0)
}

async fn a_key_is_created_by_exactly_one_of_many(arm: Arm) {
    let key = arm.unique();
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..16 {
        let (mut client, key) = (arm.server().raw().await, key.clone());
        tasks.spawn(async move {
            let create = Txn::new()
                .when([absent(&key)])
                .and_then([TxnOp::put(&*key, i.to_string(), None)])
                .or_else([TxnOp::get(&*key, None)]);
            client.txn(create).await.unwrap().succeeded()
        });
    }
    let won = tasks.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

async fn the_writes_of_a_transaction_share_a_revision_and_nested_ones_belong_to_it(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let (a, b, c) = (p.clone() + "a", p.clone() + "b", p.clone() + "c");
    client.put(&*c, "dies", None).await.unwrap();
    let nested = Txn::new().when([absent(&a)]).and_then([TxnOp::put(&*b, "1", None)]);
    let outer = Txn::new().when([absent(&a)]).and_then([
        TxnOp::put(&*a, "1", None),
        TxnOp::txn(nested),
        TxnOp::delete(&*c, None),
        TxnOp::get(&*p, Some(GetOptions::new().with_prefix())),
    ]);
    let answer = client.txn(outer).await.unwrap();
    let revision = answer.header().unwrap().revision();
    let responses = answer.op_responses();
    let TxnOpResponse::Txn(inner) = &responses[1] else { panic!("{responses:?}") };
    assert!(answer.succeeded() && inner.succeeded());
    let TxnOpResponse::Get(seen) = &responses[3] else { panic!("{responses:?}") };
    let revisions: Vec<_> = seen.kvs().iter().map(|kv| kv.mod_revision()).collect();
    assert_eq!(revisions, [revision, revision]);
    let read_only = Txn::new().and_then([TxnOp::get(&*a, None)]);
    let answer = client.txn(read_only).await.unwrap();
    let TxnOpResponse::Get(got) = &answer.op_responses()[0] else { panic!() };
    assert_eq!(got.kvs()[0].create_revision(), revision);
}

async fn every_target_is_compared_and_a_range_means_all_of_its_keys(arm: Arm) {
    let (mut client, p) = (arm.server().raw().await, arm.unique() + "/");
    let lease = client.lease_grant(60, None).await.unwrap().id();
    let key = p.clone() + "a";
    let leased = PutOptions::new().with_lease(lease);
    client.put(&*key, "m", Some(leased)).await.unwrap();
    client.put(p.clone() + "b", "m", None).await.unwrap();
    let kv = client.get(&*key, None).await.unwrap().take_kvs().remove(0);
    let none = p.clone() + "none";
    let (eq, ne, lt, gt) =
        (CompareOp::Equal, CompareOp::NotEqual, CompareOp::Less, CompareOp::Greater);
    let expected = [
        (Compare::version(&*key, eq, 1), true),
        (Compare::create_revision(&*key, eq, kv.create_revision()), true),
        (Compare::mod_revision(&*key, gt, kv.mod_revision()), false),
        (Compare::value(&*key, lt, "n"), true),
        (Compare::value(&*key, gt, "n"), false),
        (Compare::lease(&*key, eq, lease), true),
        (Compare::lease(&*key, ne, lease), false),
        (Compare::version(&*none, eq, 0), true),
        (Compare::value(&*none, ne, "x"), false),
        (Compare::value(&*p, eq, "m").with_prefix(), true),
        (Compare::lease(&*p, eq, lease).with_prefix(), false),
        (Compare::version(&*none, eq, 0).with_prefix(), true),
    ];
    for (compare, holds) in expected {
        let shown = format!("{compare:?}");
        let answer = client.txn(Txn::new().when([compare])).await.unwrap();
        assert_eq!(answer.succeeded(), holds, "{shown}");
    }
}

async fn refusals_use_the_known_codes_and_words(arm: Arm) {
    let (mut client, key) = (arm.server().raw().await, arm.unique());
    let put = |key: &str| TxnOp::put(key, "1", None);
    let mut txn = async |ops: Vec<TxnOp>| client.txn(Txn::new().and_then(ops)).await.unwrap_err();
    let duplicate = "etcdserver: duplicate key given in txn request";
    let invalid = Code::InvalidArgument;
    assert_status(&txn(vec![put(&key), put(&key)]).await, invalid, duplicate);
    let deletes = vec![put(&key), TxnOp::delete(&*key, None)];
    assert_status(&txn(deletes).await, invalid, duplicate);
    let many = (0..129).map(|i| put(&format!("{key}/{i}"))).collect();
    let too_many = "etcdserver: too many operations in txn request";
    assert_status(&txn(many).await, invalid, too_many);
    let no_lease = TxnOp::put(&*key, "1", Some(PutOptions::new().with_lease(4711)));
    let not_found = "etcdserver: requested lease not found";
    assert_status(
        &txn(vec![put(&(key.clone() + "/x")), no_lease]).await,
        Code::NotFound,
        not_found,
    );
    let untouched = client.get(key.clone() + "/x", None).await.unwrap();
    assert!(untouched.kvs().is_empty(), "a refused transaction wrote");

    let refused = client.put("", "1", None).await.unwrap_err();
    assert_status(&refused, invalid, "etcdserver: key is not provided");
    let keep = Some(PutOptions::new().with_ignore_value());
    let refused = client.put(&*key, "", keep.clone()).await.unwrap_err();
    assert_status(&refused, invalid, "etcdserver: key not found");
    let refused = client.put(&*key, "1", keep).await.unwrap_err();
    assert_status(&refused, invalid, "etcdserver: value is provided");
    let refused = client.put(&*key, vec![0; 1600 * 1024], None).await.unwrap_err();
    assert_status(&refused, invalid, "etcdserver: request is too large");
    let refused = client.lease_revoke(4711).await.unwrap_err();
    assert_status(&refused, Code::NotFound, not_found);
    let refused = client.lease_grant(9_000_000_001, None).await.unwrap_err();
    assert_status(&refused, Code::OutOfRange, "etcdserver: too large lease TTL");
}
