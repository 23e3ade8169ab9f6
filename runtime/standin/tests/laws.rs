//! Laws that hold after any sequence of requests.
#![allow(clippy::unwrap_used)]

use marchland_standin_core::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec!["a", "a/1", "a/2", "b", "b/1", "c"]).prop_map(|k| k.into())
}

fn range() -> impl Strategy<Value = KeyRange> {
    prop_oneof![
        key().prop_map(KeyRange::one),
        key().prop_map(KeyRange::prefix),
        (key(), key()).prop_map(|(key, end)| KeyRange { key, end }),
        key().prop_map(|key| KeyRange { key, end: vec![0] }),
    ]
}

fn put() -> impl Strategy<Value = PutRequest> {
    (key(), 0u8..4, 0i64..4).prop_map(|(key, value, lease)| PutRequest {
        key,
        value: vec![value],
        lease,
        prev_kv: true,
        ..PutRequest::default()
    })
}

fn delete() -> impl Strategy<Value = DeleteRangeRequest> {
    range().prop_map(|range| DeleteRangeRequest { range, prev_kv: true })
}

fn op() -> impl Strategy<Value = OpRequest> {
    prop_oneof![
        put().prop_map(OpRequest::Put),
        delete().prop_map(OpRequest::DeleteRange),
        range()
            .prop_map(|range| OpRequest::Range(RangeRequest { range, ..RangeRequest::default() })),
    ]
}

fn txn() -> impl Strategy<Value = TxnRequest> {
    let ops = || prop::collection::vec(op(), 0..4);
    (range(), 0i64..6, ops(), ops()).prop_map(|(range, revision, success, failure)| TxnRequest {
        compare: vec![Compare {
            range,
            target: CompareTarget::Mod(revision),
            result: CompareResult::Less,
        }],
        success,
        failure,
    })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        4 => put().prop_map(Request::Put),
        2 => delete().prop_map(Request::DeleteRange),
        3 => txn().prop_map(Request::Txn),
        1 => (1i64..30).prop_map(|revision| Request::Compact { revision }),
        2 => (0i64..4, 1i64..6).prop_map(|(id, ttl_s)| Request::LeaseGrant { id, ttl_s }),
        1 => (1i64..4).prop_map(|id| Request::LeaseRevoke { id }),
        1 => (1i64..4).prop_map(|id| Request::LeaseKeepAlive { id }),
    ]
}

fn run(store: &mut Standin, requests: &[(u16, Request)]) -> Vec<Request> {
    let mut now = 0;
    let mut log = Vec::new();
    for (wait, request) in requests {
        now += u64::from(*wait);
        log.extend(store.handle(now, request.clone()).log);
    }
    log
}

fn requests() -> impl Strategy<Value = Vec<(u16, Request)>> {
    prop::collection::vec((0u16..900, request()), 0..40)
}

fn everything(store: &mut Standin, revision: Revision) -> Vec<KeyValue> {
    let all = RangeRequest { range: KeyRange::prefix(""), revision, ..RangeRequest::default() };
    match store.clone().handle(0, Request::Range(all)).handled {
        Handled::Answered(Ok(Reply { body: Response::Range(answer), .. })) => answer.kvs,
        other => panic!("{other:?}"),
    }
}

fn config() -> Config {
    Config { history_revisions_max: 0, ..Config::default() }
}

proptest! {
    #[test]
    fn a_snapshot_gives_the_same_machine(requests in requests()) {
        let mut store = Standin::new(config());
        run(&mut store, &requests);
        store.renew_leases(50_000);
        let copy = Standin::restore(config(), &store.snapshot(), 50_000).unwrap();
        prop_assert_eq!(copy, store);
    }

    #[test]
    fn the_log_rebuilds_the_machine(requests in requests()) {
        let mut store = Standin::new(config());
        let log = run(&mut store, &requests);
        let mut again = Standin::new(config());
        for record in log {
            prop_assert!(again.replay(0, record.clone()).is_ok(), "{:?}", record);
        }
        store.renew_leases(60_000);
        again.renew_leases(60_000);
        prop_assert_eq!(again, store);
    }

    #[test]
    fn the_events_since_a_revision_turn_its_state_into_the_present_one(
        requests in requests(),
        start in 0i64..30,
    ) {
        let mut store = Standin::new(config());
        run(&mut store, &requests);
        let start = start.clamp(store.compacted().max(1), store.revision());
        let mut state: BTreeMap<_, _> =
            everything(&mut store, start).into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let mut cursor = store.watch(KeyRange::prefix(""), start + 1);
        cursor.prev_kv = true;
        let mut last = start;
        while let WatchPoll::Events { events, .. } = store.poll_watch(&mut cursor, i64::MAX) {
            for event in events {
                prop_assert!(event.kv.mod_revision >= last);
                last = event.kv.mod_revision;
                let old = match event.kind {
                    EventKind::Put => state.insert(event.kv.key.clone(), event.kv),
                    EventKind::Delete => state.remove(&event.kv.key),
                };
                prop_assert_eq!(old, event.prev_kv);
            }
        }
        let state: Vec<_> = state.into_values().collect();
        prop_assert_eq!(state, everything(&mut store, 0));
    }

    #[test]
    fn a_compaction_changes_no_answer_at_or_after_its_revision(
        requests in requests(),
        at in 1i64..30,
    ) {
        let mut store = Standin::new(config());
        run(&mut store, &requests);
        let at = at.min(store.revision());
        let mut compacted = store.clone();
        compacted.handle(0, Request::Compact { revision: at });
        for revision in at.max(store.compacted()).max(1)..=store.revision() {
            prop_assert_eq!(
                everything(&mut compacted, revision),
                everything(&mut store, revision)
            );
        }
    }

    #[test]
    fn a_damaged_snapshot_is_an_error_or_a_machine_that_works(
        requests in requests(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut store = Standin::new(config());
        run(&mut store, &requests);
        let mut bytes = store.snapshot();
        for (at, bits) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        bytes.truncate(cut.index(bytes.len() + 1).max(bytes.len() / 2));
        if let Ok(mut store) = Standin::restore(config(), &bytes, 0) {
            run(&mut store, &requests);
            let _ = store.snapshot();
        }
    }
}
