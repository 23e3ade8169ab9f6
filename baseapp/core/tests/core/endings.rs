//! The end of an entity, and what was open then.

use crate::support::*;
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

#[test]
fn what_an_entity_sent_before_its_end_is_delivered_closed_and_then_it_is_forgotten() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    let copy = cluster.owner(1).copies[&a].state.props[0].int();
    let changes = vec![Change::Prop(GOLD, Value::Int(0)), Change::Minted(-copy), Change::Destroyed];
    cluster.owner(1).step(a, changes);
    cluster.ticks(3);
    assert!(cluster.bases[0].core.brief(a).is_none(), "it ended");
    assert_eq!(cluster.bases[0].stats.entities, 1, "its record still waits for the answer");
    run_inbox(cluster.owner(2), b, taken);
    cluster.ticks(4);
    assert_eq!(cluster.bases[0].stats.entities, 0);
    assert_eq!(gold(&cluster, b), 130);
    let settled = cluster.owner(2).told(|m| matches!(m, BaseToCell::Settled { .. }).then_some(()));
    assert_eq!(settled.len(), 1);
    assert_balanced(&cluster);
}

#[test]
fn value_that_comes_back_to_an_entity_that_ended_leaves_the_world_on_the_record() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.owner(1).step(a, vec![Change::Destroyed]);
    cluster.ticks(3);
    run_inbox(cluster.owner(2), b, |_| MessageOutcome::Rejected(Rejection::Busy));
    cluster.ticks(4);
    let burned = cluster.bases[0].events.iter().find_map(|event| match event {
        Event::Burned { source, out_seq, value, .. } => Some((*source, *out_seq, *value)),
        _ => None,
    });
    assert_eq!(burned, Some((a, 1, 30)));
}

#[test]
fn an_answer_given_before_the_end_of_a_receiver_is_the_same_after_it() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, taken);
    cluster.owner(2).step(b, vec![Change::Destroyed]);
    cluster.flush();
    cluster.sync();
    // The answer is lost, and the sender's base asks again much later.
    cluster.bases[0].frames.retain(|f| f.from.name.kind != NodeKind::Base);
    cluster.ticks(60);
    assert_eq!(cluster.owner(1).answers(), [(1, MessageOutcome::Applied(vec![1]))]);
    take_answers(cluster.owner(1), a);
    cluster.ticks(4);
    assert_eq!(cluster.bases[1].stats.entities, 0, "settled, so it may be forgotten");
}

#[test]
fn a_message_that_waits_when_its_receiver_ends_is_undeliverable() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.ticks(2);
    cluster.owner(2).step(b, vec![Change::Destroyed]);
    cluster.ticks(3);
    assert_eq!(cluster.owner(1).answers(), [(1, MessageOutcome::Undeliverable)]);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 100);
}
