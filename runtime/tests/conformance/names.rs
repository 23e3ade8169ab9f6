//! Taking a name whose key is still there.

use crate::registration::{info, join, member, name, until_state};
use crate::support::Arm;
use marchland_runtime::coord::{
    ClaimError, CoordClient, Probe, RegState, RegisterOptions, Tombstone, Verdict, claim_name,
};
use std::time::Duration;

crate::cases![
    a_holder_that_answers_keeps_its_name,
    a_holder_whose_address_refuses_is_given_up_in_the_same_transaction,
    a_silent_holder_is_waited_for_and_given_up_when_its_lease_ends,
    a_silent_holder_that_stays_registered_is_reported,
];

fn short() -> RegisterOptions {
    RegisterOptions { ttl: Duration::from_secs(2), ..RegisterOptions::default() }
}

async fn a_holder_that_answers_keeps_its_name(arm: Arm) {
    let client = arm.client().await;
    let holder = join(&client, "cell-1").await;
    let probe = async |_| Probe::Answers;
    match claim_name(&client, info("cell-1"), short(), probe).await.err() {
        Some(error @ ClaimError::Held(_)) => {
            let text = error.to_string();
            assert!(text.contains("127.0.0.1:7000"), "{text}");
            assert!(text.contains(&holder.node().to_string()), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!holder.state().has_changed().unwrap());
}

async fn tombstone_of(
    client: &CoordClient,
    incarnation: marchland_common::order::Incarnation,
) -> Tombstone {
    let key = client.keys().dead_of(incarnation);
    Tombstone::read(&client.get(&key).await.unwrap().unwrap())
}

async fn a_holder_whose_address_refuses_is_given_up_in_the_same_transaction(arm: Arm) {
    let client = arm.client().await;
    let old = join(&client, "cell-1").await;
    let probe = async |_| Probe::Refused;
    let new = claim_name(&client, info("cell-1"), short(), probe).await.unwrap();
    assert!(new.node().incarnation > old.node().incarnation);
    let now = member(&client, "cell-1").await.unwrap();
    assert_eq!((now.node(), now.lease), (new.node(), new.lease()));
    let stone = tombstone_of(&client, old.node().incarnation).await;
    assert_eq!(stone.verdict, Verdict::Replaced);
    // Should the old process live after all, it learns that its life is over.
    until_state(&old, RegState::is_final).await;
    new.publish(|info| info.extra.insert("k".into(), "v".into()).map_or((), drop));
    let again = crate::support::eventually("the new life publishes", || async {
        member(&client, "cell-1").await.filter(|m| !m.info.extra.is_empty())
    })
    .await;
    assert_eq!(again.node(), new.node());
}

async fn a_silent_holder_is_waited_for_and_given_up_when_its_lease_ends(arm: Arm) {
    let client = arm.client().await;
    let old = marchland_runtime::coord::register(&client, info("cell-1"), short()).await.unwrap();
    let node = old.node();
    // Dropped, not closed: the key stays until its lease ends.
    drop(old);
    let probe = async |_| Probe::Silent;
    let new = claim_name(&client, info("cell-1"), RegisterOptions::default(), probe).await;
    let new = new.unwrap();
    assert!(new.node().incarnation > node.incarnation);
    let key = client.keys().member(name("cell-1"));
    assert_eq!(client.get(&key).await.unwrap().unwrap().lease, new.lease());
}

async fn a_silent_holder_that_stays_registered_is_reported(arm: Arm) {
    let client = arm.client().await;
    let holder = join(&client, "cell-1").await;
    let probe = async |_| Probe::Silent;
    match claim_name(&client, info("cell-1"), short(), probe).await.err() {
        Some(ClaimError::Silent { holder: named, waited }) => {
            assert_eq!(named.node(), holder.node());
            assert!(waited >= Duration::from_secs(4));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(member(&client, "cell-1").await.unwrap().node(), holder.node());
}
