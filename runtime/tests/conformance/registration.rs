//! A process among the members: its incarnation, and what does and does not end it.

use crate::support::{Arm, eventually};
use marchland_common::order::{Incarnation, Node, NodeName};
use marchland_runtime::coord::{
    CoordClient, Guard, Member, MemberInfo, MemberState, RegState, RegisterError, RegisterOptions,
    Registration, Tombstone, TombstoneMode, TombstoneOutcome, Txn, Verdict, register, tombstone,
};
use std::time::Duration;

crate::cases![
    an_incarnation_is_the_revision_of_the_first_registration_and_stays,
    a_revoked_lease_costs_one_member_its_registration_for_a_moment_only,
    a_key_deleted_by_hand_comes_back_with_its_incarnation,
    a_taken_name_is_refused_with_its_holder,
    many_members_register_at_once,
    a_tombstone_and_a_registration_exclude_each_other,
    an_evicted_member_is_told_and_does_not_come_back,
    a_look_that_is_asked_for_is_answered_by_one_that_begins_later_and_finds_this_life,
    a_member_that_leaves_frees_its_name_at_once,
];

pub fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

pub fn info(text: &str) -> MemberInfo {
    MemberInfo {
        name: name(text),
        incarnation: None,
        link_addr: "127.0.0.1:7000".to_owned(),
        operator_addr: String::new(),
        pid: std::process::id(),
        host: "here".to_owned(),
        version: "0.1.0".to_owned(),
        proto: 1,
        state: MemberState::Starting,
        extra: Default::default(),
    }
}

pub fn stone() -> Tombstone {
    Tombstone { verdict: Verdict::Silent, reason: "a test".to_owned(), by: "a test".to_owned() }
}

pub async fn join(client: &CoordClient, text: &str) -> Registration {
    register(client, info(text), RegisterOptions::default()).await.unwrap()
}

/// The member that etcd has under this name now.
pub async fn member(client: &CoordClient, text: &str) -> Option<Member> {
    let key = client.keys().member(name(text));
    let kv = client.get(&key).await.unwrap()?;
    Some(Member::parse(&key, &kv).unwrap())
}

pub async fn until_state(registration: &Registration, wanted: fn(&RegState) -> bool) -> RegState {
    let mut states = registration.state();
    let reached = tokio::time::timeout(Duration::from_secs(40), states.wait_for(wanted)).await;
    reached.expect("the state is reached").unwrap().clone()
}

/// Waits until the key is there again under another lease than `lease`.
pub async fn until_back(client: &CoordClient, text: &str, lease: i64) -> Member {
    eventually("the member is registered again", || async {
        member(client, text).await.filter(|m| m.lease != lease)
    })
    .await
}

async fn an_incarnation_is_the_revision_of_the_first_registration_and_stays(arm: Arm) {
    let client = arm.client().await;
    let registration = join(&client, "cell-1").await;
    let key = client.keys().member(name("cell-1"));
    let kv = client.get(&key).await.unwrap().unwrap();
    assert_eq!(registration.node().incarnation, Incarnation(kv.create_revision.unsigned_abs()));
    assert_eq!(kv.lease, registration.lease());
    registration.publish(|info| info.state = MemberState::Ready);
    let ready = eventually("the new state is written", || async {
        member(&client, "cell-1").await.filter(|m| m.info.state == MemberState::Ready)
    })
    .await;
    assert!(ready.mod_revision > kv.mod_revision);
    assert_eq!(ready.node(), registration.node());
    assert_eq!(*registration.state().borrow(), RegState::Registered);
}

async fn a_revoked_lease_costs_one_member_its_registration_for_a_moment_only(arm: Arm) {
    let client = arm.client().await;
    let (victim, witness) = (join(&client, "cell-1").await, join(&client, "cell-2").await);
    let lease = victim.lease();
    client.revoke(lease).await.unwrap();
    let back = until_back(&client, "cell-1", lease).await;
    assert_eq!(back.node(), victim.node());
    until_state(&victim, |s| *s == RegState::Registered).await;
    assert_eq!(victim.lease(), back.lease);
    assert!(!witness.state().has_changed().unwrap(), "another member noticed");
}

async fn a_key_deleted_by_hand_comes_back_with_its_incarnation(arm: Arm) {
    let client = arm.client().await;
    let registration = join(&client, "base-1").await;
    registration.publish(|info| info.state = MemberState::Draining);
    let key = client.keys().member(name("base-1"));
    let lease = registration.lease();
    client.txn(Txn::new().delete(&key)).await.unwrap();
    let back = until_back(&client, "base-1", lease).await;
    assert_eq!(back.node(), registration.node());
    assert_eq!(back.info.state, MemberState::Draining);
}

async fn a_taken_name_is_refused_with_its_holder(arm: Arm) {
    let client = arm.client().await;
    let holder = join(&client, "cell-1").await;
    let refused = register(&client, info("cell-1"), RegisterOptions::default()).await;
    match refused.err() {
        Some(RegisterError::NameTaken(member)) => {
            assert_eq!(member.node(), holder.node());
            assert!(member.to_string().contains("127.0.0.1:7000"), "{member}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!holder.state().has_changed().unwrap(), "the holder noticed");
}

async fn many_members_register_at_once(arm: Arm) {
    let client = arm.client().await;
    let joins = (1..=50).map(|i| {
        let client = client.clone();
        async move { join(&client, &format!("cell-{i}")).await }
    });
    let registrations = futures::future::join_all(joins).await;
    let listed = client.list(&client.keys().members()).await.unwrap();
    assert_eq!(listed.entries.len(), 50);
    let mut incarnations: Vec<_> = registrations.iter().map(|r| r.node().incarnation).collect();
    incarnations.sort();
    incarnations.dedup();
    assert_eq!(incarnations.len(), 50);
}

async fn a_tombstone_and_a_registration_exclude_each_other(arm: Arm) {
    let client = arm.client().await;
    let (mut tombstones, mut registrations) = (0, 0);
    for round in 0..24 {
        let text = format!("cell-{}", round + 1);
        let member_key = client.keys().member(name(&text));
        let registration = join(&client, &text).await;
        let node = registration.node();
        // Both sides start from "the lease is gone"; the delay moves the race about.
        client.revoke(registration.lease()).await.unwrap();
        registration.checks().ask();
        tokio::time::sleep(Duration::from_micros(round * 150)).await;
        let outcome =
            tombstone(&client, None, node, &stone(), TombstoneMode::IfGone).await.unwrap();
        let dead_key = client.keys().dead_of(node.incarnation);
        match outcome {
            TombstoneOutcome::Written => {
                let last = until_state(&registration, RegState::is_final).await;
                assert_eq!(last, RegState::Tombstoned { stone: stone() });
                assert_eq!(client.get(&member_key).await.unwrap(), None);
                tombstones += 1;
            }
            TombstoneOutcome::StillRegistered(member) => {
                assert_eq!(member.node(), node);
                until_state(&registration, |s| *s == RegState::Registered).await;
                assert_eq!(client.get(&dead_key).await.unwrap(), None);
                registrations += 1;
            }
            TombstoneOutcome::AlreadyThere(_) => panic!("nobody else writes tombstones here"),
        }
    }
    assert_eq!(tombstones + registrations, 24);
    assert!(tombstones > 0, "the race always went one way");
}

async fn an_evicted_member_is_told_and_does_not_come_back(arm: Arm) {
    let client = arm.client().await;
    let registration = join(&client, "cell-1").await;
    let node = registration.node();
    let refused = tombstone(&client, None, node, &stone(), TombstoneMode::IfGone).await.unwrap();
    assert!(matches!(refused, TombstoneOutcome::StillRegistered(_)));
    let written = stone();
    let evict = || tombstone(&client, None, node, &written, TombstoneMode::Evict);
    assert_eq!(evict().await.unwrap(), TombstoneOutcome::Written);
    assert_eq!(evict().await.unwrap(), TombstoneOutcome::AlreadyThere(stone()));
    let last = until_state(&registration, RegState::is_final).await;
    assert_eq!(last, RegState::Tombstoned { stone: stone() });
    assert_eq!(member(&client, "cell-1").await, None);
    // The same process as a new life is welcome, and a late verdict on the old one spares it.
    let next = join(&client, "cell-1").await;
    assert!(next.node().incarnation > node.incarnation);
    let old_life = Node { incarnation: Incarnation(1), ..node };
    let late = tombstone(&client, None, old_life, &stone(), TombstoneMode::Evict).await.unwrap();
    assert_eq!(late, TombstoneOutcome::Written);
    assert_eq!(member(&client, "cell-1").await.unwrap().node(), next.node());
}

async fn a_look_that_is_asked_for_is_answered_by_one_that_begins_later_and_finds_this_life(
    arm: Arm,
) {
    let server = arm.own_server().await;
    let client = arm.client_of(&server.endpoint(), "one").await;
    let registration = join(&client, "cell-1").await;
    let checks = registration.checks();
    let proven = async |number| {
        eventually("the look", || async { checks.is_proven(number).then_some(()) }).await;
    };
    proven(checks.ask()).await;
    server.pause();
    // A signal takes a moment to stop every thread.
    until_state(&registration, |s| matches!(s, RegState::Unproven { .. })).await;
    let unheard = checks.ask();
    assert!(client.get(&client.keys().member(name("cell-1"))).await.is_err());
    assert!(!checks.is_proven(unheard), "nobody could be asked");
    server.resume();
    proven(unheard).await;
    // A lost registration that is made again proves the life as well.
    client.revoke(registration.lease()).await.unwrap();
    client.txn(Txn::new().delete(client.keys().member(name("cell-1")))).await.unwrap();
    proven(checks.ask()).await;
    assert_eq!(member(&client, "cell-1").await.unwrap().node(), registration.node());
    tombstone(&client, None, registration.node(), &stone(), TombstoneMode::Evict).await.unwrap();
    let in_vain = checks.ask();
    until_state(&registration, RegState::is_final).await;
    assert!(!checks.is_proven(in_vain));
}

async fn a_member_that_leaves_frees_its_name_at_once(arm: Arm) {
    let client = arm.client().await;
    let registration = join(&client, "cell-1").await;
    registration.close(Duration::from_secs(10)).await.unwrap();
    let free = Txn::new().when(Guard::Absent(client.keys().member(name("cell-1"))));
    assert!(client.txn(free).await.unwrap().succeeded);
}
