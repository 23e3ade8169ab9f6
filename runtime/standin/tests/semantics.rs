//! The machine answers as etcd does, in revisions, in order and in words.
#![allow(clippy::unwrap_used)]

use marchland_standin_core::*;

fn ask(store: &mut Standin, request: Request) -> Result<Reply, EtcdError> {
    ask_at(store, 0, request)
}

fn ask_at(store: &mut Standin, now_ms: u64, request: Request) -> Result<Reply, EtcdError> {
    match store.handle(now_ms, request).handled {
        Handled::Answered(answer) => answer,
        Handled::Stalled => panic!("not asked to stall"),
    }
}

fn put(key: &str, value: &str) -> PutRequest {
    PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() }
}

fn put_on(key: &str, lease: i64) -> Request {
    Request::Put(PutRequest { lease, ..put(key, "v") })
}

fn get(key: &str) -> RangeRequest {
    RangeRequest { range: KeyRange::one(key), ..RangeRequest::default() }
}

fn list(prefix: &str) -> RangeRequest {
    RangeRequest { range: KeyRange::prefix(prefix), ..RangeRequest::default() }
}

fn range(store: &mut Standin, request: RangeRequest) -> RangeResponse {
    match ask(store, Request::Range(request)).unwrap().body {
        Response::Range(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn keys(answer: &RangeResponse) -> Vec<String> {
    answer.kvs.iter().map(|kv| String::from_utf8(kv.key.clone()).unwrap()).collect()
}

fn delete(key: &str) -> DeleteRangeRequest {
    DeleteRangeRequest { range: KeyRange::one(key), prev_kv: false }
}

fn grant(store: &mut Standin, now_ms: u64, ttl_s: i64) -> i64 {
    match ask_at(store, now_ms, Request::LeaseGrant { id: 0, ttl_s }).unwrap().body {
        Response::LeaseGrant { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

fn ttl_after_renewal(store: &mut Standin, now_ms: u64, id: i64) -> i64 {
    match ask_at(store, now_ms, Request::LeaseKeepAlive { id }).unwrap().body {
        Response::LeaseKeepAlive { ttl_s, .. } => ttl_s,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_keeps_its_create_revision_until_it_is_deleted() {
    let mut store = Standin::default();
    assert_eq!(ask(&mut store, Request::Put(put("a", "1"))).unwrap().revision, 2);
    ask(&mut store, Request::Put(put("a", "2"))).unwrap();
    let kv = range(&mut store, get("a")).kvs.remove(0);
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (2, 3, 2));
    ask(&mut store, Request::DeleteRange(delete("a"))).unwrap();
    ask(&mut store, Request::Put(put("a", "3"))).unwrap();
    let kv = range(&mut store, get("a")).kvs.remove(0);
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (5, 5, 1));
}

#[test]
fn a_deletion_that_finds_nothing_takes_no_revision() {
    let mut store = Standin::default();
    let outcome = store.handle(0, Request::DeleteRange(delete("a")));
    assert!(outcome.log.is_empty());
    assert_eq!(store.revision(), 1);
}

#[test]
fn an_old_revision_is_read_as_it_was() {
    let mut store = Standin::default();
    ask(&mut store, Request::Put(put("a", "1"))).unwrap();
    ask(&mut store, Request::Put(put("b", "1"))).unwrap();
    ask(&mut store, Request::DeleteRange(delete("a"))).unwrap();
    let old = range(&mut store, RangeRequest { revision: 3, ..list("") });
    assert_eq!(keys(&old), ["a", "b"]);
    assert_eq!(keys(&range(&mut store, list(""))), ["b"]);
    let future = ask(&mut store, Request::Range(RangeRequest { revision: 5, ..get("a") }));
    assert_eq!(future, Err(EtcdError::FutureRevision));
}

#[test]
fn a_limit_cuts_the_keys_but_not_the_count() {
    let mut store = Standin::default();
    for key in ["a1", "a2", "a3", "b"] {
        ask(&mut store, Request::Put(put(key, key))).unwrap();
    }
    let answer = range(&mut store, RangeRequest { limit: 2, keys_only: true, ..list("a") });
    assert_eq!(
        (keys(&answer), answer.more, answer.count),
        (vec!["a1".into(), "a2".into()], true, 3)
    );
    assert!(answer.kvs.iter().all(|kv| kv.value.is_empty()));
    let answer = range(&mut store, RangeRequest { count_only: true, ..list("a") });
    assert_eq!((answer.kvs.len(), answer.count), (0, 3));
    let newest_first = RangeRequest {
        sort_order: SortOrder::Descend,
        sort_target: SortTarget::Create,
        limit: 1,
        ..list("a")
    };
    assert_eq!(keys(&range(&mut store, newest_first)), ["a3"]);
}

#[test]
fn all_writes_of_a_transaction_share_one_revision_and_its_reads_see_them() {
    let mut store = Standin::default();
    ask(&mut store, Request::Put(put("gone", "1"))).unwrap();
    let txn = TxnRequest {
        compare: vec![Compare {
            range: KeyRange::one("new"),
            target: CompareTarget::Create(0),
            result: CompareResult::Equal,
        }],
        success: vec![
            OpRequest::Put(put("new", "1")),
            OpRequest::DeleteRange(delete("gone")),
            OpRequest::Range(list("")),
        ],
        failure: vec![OpRequest::Range(get("new"))],
    };
    let reply = ask(&mut store, Request::Txn(txn.clone())).unwrap();
    let Response::Txn(answer) = reply.body else { panic!() };
    assert!(answer.succeeded && reply.revision == 3);
    let OpResponse::Range(3, seen) = &answer.responses[2] else { panic!("{answer:?}") };
    assert_eq!((keys(seen), seen.kvs[0].mod_revision), (vec!["new".into()], 3));
    let again = ask(&mut store, Request::Txn(txn)).unwrap();
    assert!(matches!(again.body, Response::Txn(TxnResponse { succeeded: false, .. })));
    assert_eq!(again.revision, 3);
}

#[test]
fn a_nested_comparison_sees_the_state_before_the_first_operation() {
    let mut store = Standin::default();
    let nested = TxnRequest {
        compare: vec![Compare {
            range: KeyRange::one("a"),
            target: CompareTarget::Create(0),
            result: CompareResult::Equal,
        }],
        success: vec![OpRequest::Put(put("b", "unseen"))],
        failure: vec![],
    };
    let txn = TxnRequest {
        success: vec![OpRequest::Put(put("a", "1")), OpRequest::Txn(nested)],
        ..TxnRequest::default()
    };
    ask(&mut store, Request::Txn(txn)).unwrap();
    assert_eq!(keys(&range(&mut store, list(""))), ["a", "b"]);
}

#[test]
fn a_comparison_of_a_missing_value_always_fails() {
    let mut store = Standin::default();
    for result in [CompareResult::Equal, CompareResult::NotEqual, CompareResult::Less] {
        let target = CompareTarget::Value(Vec::new());
        let compare = vec![Compare { range: KeyRange::one("none"), target, result }];
        let txn = TxnRequest { compare, ..TxnRequest::default() };
        let body = ask(&mut store, Request::Txn(txn)).unwrap().body;
        assert!(matches!(body, Response::Txn(TxnResponse { succeeded: false, .. })));
    }
}

#[test]
fn a_transaction_that_would_be_refused_in_its_middle_changes_nothing() {
    let mut store = Standin::default();
    let before = store.clone();
    let bad_lease = OpRequest::Put(PutRequest { lease: 77, ..put("b", "1") });
    let success = vec![OpRequest::Put(put("a", "1")), bad_lease];
    let txn = Request::Txn(TxnRequest { success, ..TxnRequest::default() });
    assert_eq!(ask(&mut store, txn), Err(EtcdError::LeaseNotFound));
    assert_eq!(store, before);
}

#[test]
fn a_transaction_that_writes_a_key_twice_is_refused_unless_only_one_branch_can_run() {
    let mut store = Standin::default();
    let twice = |a: OpRequest, b: OpRequest| {
        Request::Txn(TxnRequest { success: vec![a, b], ..TxnRequest::default() })
    };
    let put_a = || OpRequest::Put(put("a", "1"));
    let delete_a = OpRequest::DeleteRange(delete("a"));
    assert_eq!(ask(&mut store, twice(put_a(), put_a())), Err(EtcdError::DuplicateKey));
    assert_eq!(ask(&mut store, twice(put_a(), delete_a)), Err(EtcdError::DuplicateKey));
    let either = TxnRequest { compare: vec![], success: vec![put_a()], failure: vec![put_a()] };
    let nested = twice(OpRequest::Txn(either.clone()), OpRequest::Range(get("a")));
    assert!(ask(&mut store, nested).is_ok());
    let outer = twice(OpRequest::Txn(either), put_a());
    assert_eq!(ask(&mut store, outer), Err(EtcdError::DuplicateKey));
}

#[test]
fn requests_without_a_key_and_with_too_many_operations_are_refused() {
    let mut store = Standin::default();
    assert_eq!(ask(&mut store, Request::Put(put("", "1"))), Err(EtcdError::EmptyKey));
    let success = (0..=TXN_OPS_MAX).map(|i| OpRequest::Put(put(&i.to_string(), ""))).collect();
    let many = TxnRequest { success, ..TxnRequest::default() };
    assert_eq!(ask(&mut store, Request::Txn(many)), Err(EtcdError::TooManyOps));
    let keep = Request::Put(PutRequest { ignore_value: true, ..put("none", "") });
    assert_eq!(ask(&mut store, keep), Err(EtcdError::KeyNotFound));
}

#[test]
fn a_lease_takes_its_keys_along_in_one_revision() {
    let mut store = Standin::default();
    let lease = grant(&mut store, 0, 5);
    for key in ["a", "b", "c"] {
        ask(&mut store, put_on(key, lease)).unwrap();
    }
    ask(&mut store, Request::Put(put("c", "off the lease"))).unwrap();
    let log = store.expire(4_999);
    assert!(log.is_empty());
    assert_eq!(store.expire(5_000), [Request::LeaseRevoke { id: lease }]);
    assert_eq!((store.revision(), store.key_count()), (6, 1));
}

#[test]
fn a_renewal_that_comes_after_the_deadline_finds_no_lease_even_before_the_timer() {
    let mut store = Standin::default();
    let lease = grant(&mut store, 0, 5);
    ask(&mut store, put_on("a", lease)).unwrap();
    assert_eq!(ttl_after_renewal(&mut store, 4_000, lease), 5);
    assert_eq!(ttl_after_renewal(&mut store, 9_000, lease), 0);
    assert_eq!(store.key_count(), 0);
    let late = ask_at(&mut store, 9_000, Request::LeaseRevoke { id: lease });
    assert_eq!(late, Err(EtcdError::LeaseNotFound));
}

#[test]
fn a_short_time_to_live_is_raised_and_a_taken_lease_id_refused() {
    let mut store = Standin::default();
    let reply = ask(&mut store, Request::LeaseGrant { id: 7, ttl_s: 1 }).unwrap();
    assert_eq!(reply.body, Response::LeaseGrant { id: 7, ttl_s: 2 });
    let again = ask(&mut store, Request::LeaseGrant { id: 7, ttl_s: 9 });
    assert_eq!(again, Err(EtcdError::LeaseExists));
    let endless = ask(&mut store, Request::LeaseGrant { id: 0, ttl_s: LEASE_TTL_MAX_S + 1 });
    assert_eq!(endless, Err(EtcdError::LeaseTtlTooLarge));
}

#[test]
fn the_id_of_a_dead_lease_is_not_chosen_again_after_a_restart() {
    let mut store = Standin::default();
    let mut log = store.handle(0, Request::LeaseGrant { id: 0, ttl_s: 5 }).log;
    let first = log.clone();
    let id = match ask(&mut store, Request::Leases).unwrap().body {
        Response::Leases(ids) => ids[0],
        other => panic!("{other:?}"),
    };
    log.extend(store.handle(0, Request::LeaseRevoke { id }).log);
    let mut restarted = Standin::default();
    for record in log {
        restarted.replay(0, record).unwrap();
    }
    assert_eq!(restarted, store);
    assert_eq!(first.len(), 1);
    assert_ne!(grant(&mut restarted, 0, 5), id);
}

#[test]
fn a_watch_gets_every_change_since_its_start_in_order() {
    let mut store = Standin::default();
    ask(&mut store, Request::Put(put("k/a", "1"))).unwrap();
    ask(&mut store, Request::Put(put("other", "1"))).unwrap();
    ask(&mut store, Request::Put(put("k/a", "2"))).unwrap();
    ask(&mut store, Request::DeleteRange(delete("k/a"))).unwrap();
    let mut cursor = store.watch(KeyRange::prefix("k/"), 2);
    cursor.prev_kv = true;
    let WatchPoll::Events { events, .. } = store.poll_watch(&mut cursor, i64::MAX) else {
        panic!()
    };
    let seen: Vec<_> = events.iter().map(|e| (e.kind, e.kv.mod_revision)).collect();
    assert_eq!(seen, [(EventKind::Put, 2), (EventKind::Put, 4), (EventKind::Delete, 5)]);
    assert_eq!(events[0].prev_kv, None);
    assert_eq!(events[2].prev_kv.as_ref().unwrap().value, b"2");
    assert_eq!(store.poll_watch(&mut cursor, i64::MAX), WatchPoll::Idle);
}

#[test]
fn a_watch_is_told_nothing_beyond_the_revision_that_is_safe() {
    let mut store = Standin::default();
    let mut cursor = store.watch(KeyRange::one("a"), 0);
    ask(&mut store, Request::Put(put("a", "1"))).unwrap();
    assert_eq!(store.poll_watch(&mut cursor, 1), WatchPoll::Idle);
    assert!(matches!(store.poll_watch(&mut cursor, 2), WatchPoll::Events { revision: 2, .. }));
}

#[test]
fn a_watch_from_before_the_compaction_ends_and_one_from_it_goes_on() {
    let mut store = Standin::default();
    for value in ["1", "2", "3"] {
        ask(&mut store, Request::Put(put("a", value))).unwrap();
    }
    ask(&mut store, Request::DeleteRange(delete("a"))).unwrap();
    ask(&mut store, Request::Compact { revision: 5 }).unwrap();
    let mut old = store.watch(KeyRange::one("a"), 4);
    let compacted = WatchPoll::Compacted { compact_revision: 5 };
    assert_eq!(store.poll_watch(&mut old, i64::MAX), compacted);
    let mut at = store.watch(KeyRange::one("a"), 5);
    let WatchPoll::Events { events, .. } = store.poll_watch(&mut at, i64::MAX) else { panic!() };
    assert_eq!(events[0].kind, EventKind::Delete);
    let refused = ask(&mut store, Request::Range(RangeRequest { revision: 4, ..get("a") }));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "etcdserver: mvcc: required revision has been compacted"
    );
    assert_eq!(ask(&mut store, Request::Compact { revision: 5 }), Err(EtcdError::Compacted));
    assert_eq!(ask(&mut store, Request::Compact { revision: 9 }), Err(EtcdError::FutureRevision));
}

#[test]
fn a_long_history_is_compacted_by_itself_and_the_record_says_so() {
    let config = Config { history_revisions_max: 10, ..Config::default() };
    let mut store = Standin::new(config);
    let mut log = Vec::new();
    for i in 0..100 {
        log.extend(store.handle(0, Request::Put(put("a", &i.to_string()))).log);
    }
    assert!(store.compacted() >= store.revision() - 20);
    let mut again = Standin::new(config);
    for record in log {
        again.replay(0, record).unwrap();
    }
    assert_eq!(again, store);
}

#[test]
fn large_values_that_are_overwritten_do_not_pile_up() {
    let config = Config { history_bytes_max: 100_000, ..Config::default() };
    let mut store = Standin::new(config);
    let large = "x".repeat(10_000);
    let mut compactions = 0;
    for _ in 0..100 {
        let log = store.handle(0, Request::Put(put("a", &large))).log;
        compactions += log.iter().filter(|r| matches!(r, Request::Compact { .. })).count();
    }
    assert!((5..20).contains(&compactions), "{compactions}");
    assert!(store.snapshot().len() < 150_000);
}

#[test]
fn a_stalled_machine_neither_answers_nor_changes() {
    let mut store = Standin::default();
    store.set_faults(Faults { stall: true, ..Faults::default() });
    let outcome = store.handle(0, Request::Put(put("a", "1")));
    assert_eq!(outcome, Outcome { handled: Handled::Stalled, log: vec![] });
    store.set_faults(Faults::default());
    assert_eq!(store.revision(), 1);
}

#[test]
fn misbehaviour_loses_events_refuses_renewals_and_cancels_watches() {
    let mut store = Standin::default();
    let lease = grant(&mut store, 0, 5);
    let mut cursor = store.watch(KeyRange::prefix(""), 0);
    store.set_faults(Faults { drop_watch_events: true, ..Faults::default() });
    ask(&mut store, Request::Put(put("lost", "1"))).unwrap();
    assert_eq!(store.poll_watch(&mut cursor, i64::MAX), WatchPoll::Idle);
    store.set_faults(Faults { refuse_keep_alives: true, ..Faults::default() });
    let refused = ask(&mut store, Request::LeaseKeepAlive { id: lease });
    assert_eq!(refused, Err(EtcdError::NoLeader));
    assert_eq!(store.poll_watch(&mut cursor, i64::MAX), WatchPoll::Idle);
    store.set_faults(Faults { cancel_watches: true, ..Faults::default() });
    assert_eq!(store.poll_watch(&mut cursor, i64::MAX), WatchPoll::Canceled);
}
