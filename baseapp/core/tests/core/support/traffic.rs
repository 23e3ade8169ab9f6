//! Messages between entities by script.

use super::*;
use marchland_common::journal::ValueFlow;

/// Sends gold from one entity to another, as the sender's owner would.
pub fn send(cluster: &mut Cluster, owner: u16, from: EntityId, to: EntityId, value: i64) -> u64 {
    post(cluster, owner, from, Address::Entity(to), value)
}

pub fn post(cluster: &mut Cluster, owner: u16, from: EntityId, to: Address, value: i64) -> u64 {
    let sent = Tick(cluster.tick);
    let state = cluster.owner(owner).copies[&from].state.clone();
    let out_seq = state.outbox.last + 1;
    let left = Value::Int(state.props[0].int() - value);
    let message = OutMessage { out_seq, to, payload: b"gold".to_vec(), value, sent };
    cluster.owner(owner).step(from, vec![Change::Prop(GOLD, left), Change::Sent(message)]);
    out_seq
}

/// The receiver's owner runs every message that it was sent and has not marked.
pub fn run_inbox(
    owner: &mut Owner,
    entity: EntityId,
    outcome: impl Fn(&InboxMessage) -> MessageOutcome,
) {
    for msg in owner.inbox().into_iter().filter(|m| m.entity == entity) {
        let Some(copy) = owner.copies.get(&entity) else { return };
        if copy.state.inbox.check(msg.source, msg.out_seq) != InboxVerdict::New {
            continue;
        }
        let outcome = outcome(&msg);
        let mut changes = Vec::new();
        if outcome.is_kept() && msg.value > 0 {
            let held = copy.state.props[0].int() + msg.value;
            changes.push(Change::Prop(GOLD, Value::Int(held)));
        }
        changes.push(Change::Received(msg.source, msg.out_seq, outcome));
        owner.step(entity, changes);
    }
}

/// The sender's owner takes every answer in that it was sent.
pub fn take_answers(owner: &mut Owner, entity: EntityId) {
    for (out_seq, outcome) in owner.answers() {
        let Some(copy) = owner.copies.get(&entity) else { return };
        let Some(message) = copy.state.outbox.open.get(&out_seq) else { continue };
        let back = if outcome.is_kept() { 0 } else { message.value };
        let held = copy.state.props[0].int() + back;
        let changes = vec![Change::Prop(GOLD, Value::Int(held)), Change::Answered(out_seq)];
        owner.step(entity, changes);
    }
}

pub fn taken(_: &InboxMessage) -> MessageOutcome {
    MessageOutcome::Applied(vec![1])
}

pub fn gold(cluster: &Cluster, entity: EntityId) -> i64 {
    let at = usize::from(cluster.bases.len() > 1 && entity.slot().0 % 2 == 1);
    cluster.bases[at].core.brief(entity).unwrap().durable[0].1.int()
}

/// Two bases, an entity at each: the first in the west, the second in the east.
pub fn two() -> (Cluster, EntityId, EntityId) {
    let mut cluster = Cluster::with(2, |_| {});
    let a = cluster.born_at(0, west());
    let b = cluster.born_at(1, east());
    (cluster, a, b)
}

pub fn deliveries(cluster: &Cluster, since: usize) -> usize {
    let of = |m: &Msg| matches!(m, Msg::BaseToBase(BaseToBase::Deliver { .. })).then_some(());
    cluster.said(since, of).len()
}

pub fn flows(cluster: &Cluster) -> Vec<ValueFlow> {
    let events = cluster.bases.iter().flat_map(|base| &base.events);
    events
        .filter_map(|event| match event {
            Event::Accepted { flow, .. } => *flow,
            _ => None,
        })
        .collect()
}

pub fn assert_balanced(cluster: &Cluster) {
    for flow in flows(cluster) {
        let ValueFlow { before, after, sent, received, returned, minted } = flow;
        assert_eq!(after, before - sent + received + returned + minted, "{flow:?}");
    }
}
