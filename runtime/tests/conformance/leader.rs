//! One leader at a time, and a loser that cannot write.

use crate::support::{Arm, eventually};
use marchland_common::order::Incarnation;
use marchland_runtime::coord::{
    CampaignOutcome, CoordClient, Guard, LeaderError, LeaderInfo, Leadership, NotLeader, Txn,
    campaign, try_campaign,
};
use std::time::Duration;

crate::cases![
    the_writes_of_a_deposed_leader_fail,
    guards_of_a_leaders_own_are_an_outcome_and_not_a_deposition,
    a_waiting_manager_leads_as_soon_as_the_leader_resigns,
    a_leader_that_dies_is_followed_after_its_lease,
    of_many_campaigns_one_wins_and_terms_grow,
];

const TTL: Duration = Duration::from_secs(5);

fn manager(number: u16) -> LeaderInfo {
    LeaderInfo {
        name: format!("manager-{number}").parse().unwrap(),
        incarnation: Incarnation(u64::from(number)),
        operator_addr: String::new(),
        proto: 1,
    }
}

async fn lead(client: &CoordClient, number: u16) -> Leadership {
    campaign(client, &manager(number), TTL).await
}

async fn the_writes_of_a_deposed_leader_fail(arm: Arm) {
    let client = arm.client().await;
    let old = lead(&client, 1).await;
    let key = client.keys().spaces() + "1";
    old.guarded_txn(Txn::new().put(&key, "old")).await.unwrap();
    // The key goes although the leader lives, as after a stall of etcd beyond the lease.
    client.txn(Txn::new().delete(client.keys().leader())).await.unwrap();
    let new = lead(&client, 2).await;
    assert!(new.term() > old.term());
    new.guarded_txn(Txn::new().put(&key, "new")).await.unwrap();
    let refused = old.guarded_txn(Txn::new().put(&key, "late")).await.unwrap_err();
    let deposed = NotLeader::Deposed(old.term());
    assert!(matches!(refused, LeaderError::NotLeader(reason) if reason == deposed));
    assert_eq!(client.get(&key).await.unwrap().unwrap().value, "new");
    assert!(!old.may_write() && new.may_write());
    tokio::time::timeout(Duration::from_secs(5), old.lost()).await.unwrap();
}

async fn guards_of_a_leaders_own_are_an_outcome_and_not_a_deposition(arm: Arm) {
    let client = arm.client().await;
    let leader = lead(&client, 1).await;
    let key = client.keys().spaces() + "1";
    let create = || {
        let absent = Guard::Absent(key.clone());
        Txn::new().when(absent).put(&key, "1").read_else(&key)
    };
    let first = leader.guarded_txn(create()).await.unwrap();
    let second = leader.guarded_txn(create()).await.unwrap();
    assert!(first.succeeded && !second.succeeded);
    let there = second.read[0].as_ref().unwrap();
    assert_eq!((&there.value[..], there.mod_revision), (&b"1"[..], first.revision));
    assert!(leader.may_write());
}

async fn a_waiting_manager_leads_as_soon_as_the_leader_resigns(arm: Arm) {
    let client = arm.client().await;
    let first = lead(&client, 1).await;
    let held = try_campaign(&client, &manager(2), TTL).await.unwrap();
    let CampaignOutcome::Held(by) = held else { panic!("two leaders") };
    assert_eq!((by.info, by.term), (manager(1), first.term()));
    let waiting = {
        let client = client.clone();
        tokio::spawn(async move { lead(&client, 2).await })
    };
    let term = first.term();
    first.resign(Duration::from_secs(10)).await.unwrap();
    let second = waiting.await.unwrap();
    assert!(second.term() > term && second.may_write());
}

async fn a_leader_that_dies_is_followed_after_its_lease(arm: Arm) {
    let client = arm.client().await;
    let first = campaign(&client, &manager(1), Duration::from_secs(2)).await;
    let term = first.term();
    drop(first);
    assert!(lead(&client, 2).await.term() > term);
}

async fn of_many_campaigns_one_wins_and_terms_grow(arm: Arm) {
    let client = arm.client().await;
    let mut last = None;
    for _ in 0..3 {
        let tries = (1..=8).map(|number| {
            let client = client.clone();
            async move { try_campaign(&client, &manager(number), TTL).await.unwrap() }
        });
        let mut won = Vec::new();
        for outcome in futures::future::join_all(tries).await {
            if let CampaignOutcome::Won(leadership) = outcome {
                won.push(leadership);
            }
        }
        assert_eq!(won.len(), 1);
        let leadership = won.remove(0);
        assert!(Some(leadership.term()) > last);
        last = Some(leadership.term());
        leadership.resign(Duration::from_secs(10)).await.unwrap();
    }
    eventually("the key is gone", || async {
        client.get(&client.keys().leader()).await.unwrap().is_none().then_some(())
    })
    .await;
}
