//! Messages between entities: applied once or answered, whatever is lost, doubled or restarted.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_baseapp_core::log::LogRecord;
use marchland_common::journal::{Event, Refused, ValueFlow};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;
use support::*;

/// Sends gold from one entity to another, as the sender's owner would.
fn send(cluster: &mut Cluster, owner: u16, from: EntityId, to: EntityId, value: i64) -> u64 {
    post(cluster, owner, from, Address::Entity(to), value)
}

fn post(cluster: &mut Cluster, owner: u16, from: EntityId, to: Address, value: i64) -> u64 {
    let sent = Tick(cluster.tick);
    let state = cluster.owner(owner).copies[&from].state.clone();
    let out_seq = state.outbox.last + 1;
    let left = Value::Int(state.props[0].int() - value);
    let message = OutMessage { out_seq, to, payload: b"gold".to_vec(), value, sent };
    cluster.owner(owner).step(from, vec![Change::Prop(GOLD, left), Change::Sent(message)]);
    out_seq
}

/// The receiver's owner runs every message that it was sent and has not marked.
fn run_inbox(
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
fn take_answers(owner: &mut Owner, entity: EntityId) {
    for (out_seq, outcome) in owner.answers() {
        let Some(copy) = owner.copies.get(&entity) else { return };
        let Some(message) = copy.state.outbox.open.get(&out_seq) else { continue };
        let back = if outcome.is_kept() { 0 } else { message.value };
        let held = copy.state.props[0].int() + back;
        let changes = vec![Change::Prop(GOLD, Value::Int(held)), Change::Answered(out_seq)];
        owner.step(entity, changes);
    }
}

fn applied(_: &InboxMessage) -> MessageOutcome {
    MessageOutcome::Applied(vec![1])
}

fn gold(cluster: &Cluster, entity: EntityId) -> i64 {
    let at = usize::from(cluster.bases.len() > 1 && entity.slot().0 % 2 == 1);
    cluster.bases[at].core.brief(entity).unwrap().durable[0].1.int()
}

/// Two bases, an entity at each: the first in the west, the second in the east.
fn two() -> (Cluster, EntityId, EntityId) {
    let mut cluster = Cluster::with(2, |_| {});
    let a = cluster.born_at(0, west());
    let b = cluster.born_at(1, east());
    (cluster, a, b)
}

fn deliveries(cluster: &Cluster, since: usize) -> usize {
    let of = |m: &Msg| matches!(m, Msg::BaseToBase(BaseToBase::Deliver { .. })).then_some(());
    cluster.said(since, of).len()
}

fn flows(cluster: &Cluster) -> Vec<ValueFlow> {
    let events = cluster.bases.iter().flat_map(|base| &base.events);
    events
        .filter_map(|event| match event {
            Event::Accepted { flow, .. } => *flow,
            _ => None,
        })
        .collect()
}

fn assert_balanced(cluster: &Cluster) {
    for flow in flows(cluster) {
        let ValueFlow { before, after, sent, received, returned, minted } = flow;
        assert_eq!(after, before - sent + received + returned + minted, "{flow:?}");
    }
}

#[test]
fn gold_goes_from_one_entity_to_another_and_every_table_is_empty_afterwards() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, applied);
    cluster.ticks(2);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!((gold(&cluster, a), gold(&cluster, b)), (70, 130));
    assert_balanced(&cluster);
    let settled = cluster.owner(2).told(|m| match m {
        BaseToCell::Settled { source, through, .. } => Some((*source, *through)),
        _ => None,
    });
    assert_eq!(settled, [(a, 1)]);
    cluster.owner(2).step(b, vec![Change::Settled(a, 1, true)]);
    cluster.ticks(2);
    let waiting: Vec<_> = cluster.bases.iter().map(|x| (x.stats.inbox, x.stats.outbox)).collect();
    assert_eq!(waiting, [(0, 0), (0, 0)]);
    let mark = cluster.mark();
    cluster.ticks(100);
    let chatter = cluster.said(mark, |m| Some(m.clone()));
    assert!(chatter.is_empty(), "nothing is unfinished: {chatter:?}");
}

#[test]
fn a_message_says_on_which_state_of_its_sender_it_rests() {
    let (mut cluster, a, b) = two();
    let seq = cluster.owner(1).copies[&a].seq.next();
    send(&mut cluster, 1, a, b, 1);
    let tick = cluster.owner(1).copies[&a].state.outbox.open[&1].sent;
    cluster.ticks(2);
    let msg = cluster.owner(2).inbox().remove(0);
    let origin = Origin { authority: cell(1), epoch: Epoch::of_grant(1), seq, tick };
    assert_eq!((msg.origin, msg.value, msg.payload), (origin, 1, Bytes::from_static(b"gold")));
}

#[test]
fn a_message_leaves_only_when_it_is_durable_and_so_does_its_answer() {
    let (mut cluster, a, b) = two();
    let mark = cluster.mark();
    send(&mut cluster, 1, a, b, 1);
    (0..4).for_each(|_| cluster.flush());
    assert_eq!(deliveries(&cluster, mark), 0);
    cluster.sync();
    cluster.flush();
    run_inbox(cluster.owner(2), b, applied);
    let mark = cluster.mark();
    (0..4).for_each(|_| cluster.flush());
    let delivered = |c: &Cluster| {
        let of = |m: &Msg| matches!(m, Msg::BaseToBase(BaseToBase::Delivered { .. })).then_some(());
        c.said(mark, of).len()
    };
    assert_eq!(delivered(&cluster), 0);
    cluster.sync();
    assert_eq!(delivered(&cluster), 1);
}

#[test]
fn messages_within_one_base_take_the_same_path() {
    let mut cluster = Cluster::new();
    let (a, b) = (cluster.born(), cluster.born_at(0, east()));
    for _ in 0..3 {
        send(&mut cluster, 1, a, b, 5);
    }
    cluster.ticks(2);
    let numbers: Vec<u64> = cluster.owner(2).inbox().iter().map(|m| m.out_seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
    run_inbox(cluster.owner(2), b, applied);
    cluster.ticks(2);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!((gold(&cluster, a), gold(&cluster, b)), (85, 115));
    assert_balanced(&cluster);
}

#[test]
fn a_refused_message_brings_its_value_back() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.ticks(2);
    let no = |_: &InboxMessage| MessageOutcome::Rejected(Rejection::Rule("no".to_owned()));
    run_inbox(cluster.owner(2), b, no);
    cluster.ticks(2);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!((gold(&cluster, a), gold(&cluster, b)), (100, 100));
    assert_balanced(&cluster);
    assert!(flows(&cluster).iter().any(|flow| flow.returned == 30));
}

#[test]
fn a_message_to_nobody_is_undeliverable() {
    let (mut cluster, a, b) = two();
    let never = EntityId::new(b.slot(), 500);
    cluster.owner(2).step(b, vec![Change::Destroyed]);
    cluster.ticks(2);
    send(&mut cluster, 1, a, b, 10);
    send(&mut cluster, 1, a, never, 10);
    cluster.ticks(4);
    let outcomes = cluster.owner(1).answers();
    let undeliverable = MessageOutcome::Undeliverable;
    assert_eq!(outcomes, [(1, undeliverable.clone()), (2, undeliverable)]);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 100);
}

#[test]
fn open_messages_reach_the_next_owner_of_their_receiver_in_order() {
    let (mut cluster, a, b) = two();
    for _ in 0..3 {
        send(&mut cluster, 1, a, b, 1);
    }
    cluster.ticks(2);
    let tick = cluster.tick + 1;
    cluster.owner(2).prepare(b, cell(3), tick, HandoffWhy::Border);
    cluster.ticks(2);
    let numbers: Vec<u64> = cluster.owner(3).inbox().iter().map(|m| m.out_seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
    run_inbox(cluster.owner(3), b, applied);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, b), 103);
}

#[test]
fn an_answer_reaches_the_next_owner_of_its_sender() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 1);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, applied);
    cluster.ticks(2);
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(a, cell(3), tick, HandoffWhy::Border);
    cluster.ticks(2);
    assert_eq!(cluster.owner(3).answers().len(), 1);
}

#[test]
fn a_delivery_that_comes_again_is_answered_again_and_never_run_again() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 10);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, applied);
    cluster.ticks(3);
    let deliver = BaseToBase::Deliver {
        to: b,
        source: a,
        out_seq: 1,
        payload: Bytes::from_static(b"gold"),
        value: 10,
        origin: cluster.owner(2).inbox()[0].origin,
        settled: 0,
        after: 0,
    };
    let mark = cluster.mark();
    for n in 1..=3 {
        let bundle = Bundle {
            n,
            src_tick: Tick(1),
            moment: Moment::Flush,
            phase_us: 0,
            header: Header::Peer,
            msgs: vec![Msg::BaseToBase(deliver.clone())],
        };
        cluster.bases[1].frames.push(Frame { from: base(7), bundle });
    }
    cluster.ticks(2);
    assert_eq!(cluster.owner(2).inbox().len(), 1);
    let delivered = |m: &Msg| match m {
        Msg::BaseToBase(BaseToBase::Delivered { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    };
    assert_eq!(cluster.said(mark, delivered).len(), 3);
    assert_eq!(gold(&cluster, b), 110);
}

#[test]
fn a_delivery_whose_predecessor_was_not_taken_in_is_refused_and_comes_again_behind_it() {
    let mut cluster = Cluster::with(2, |config| config.queue_max = 2);
    let a = cluster.born_at(0, west());
    let b = cluster.born_at(1, east());
    for _ in 0..5 {
        send(&mut cluster, 1, a, b, 1);
    }
    cluster.ticks(3);
    assert_eq!(cluster.owner(2).inbox().len(), 2, "the queue holds two");
    assert_eq!(cluster.bases[1].refusals(Refused::QueueFull), 1);
    assert_eq!(cluster.bases[1].refusals(Refused::StepGap), 2, "and those behind wait with it");
    for _ in 0..200 {
        run_inbox(cluster.owner(2), b, applied);
        cluster.tick();
    }
    let order: Vec<u64> = cluster.bases[1]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::MessageTaken { out_seq, .. } => Some(*out_seq),
            _ => None,
        })
        .collect();
    assert_eq!(order, [1, 2, 3, 4, 5]);
    assert_eq!(gold(&cluster, b), 105);
}

#[test]
fn a_message_that_its_owner_let_a_later_one_pass_is_refused_by_the_base() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 1);
    send(&mut cluster, 1, a, b, 2);
    cluster.ticks(2);
    let outcome = MessageOutcome::Applied(Vec::new());
    let changes = vec![Change::Prop(GOLD, Value::Int(102)), Change::Received(a, 2, outcome)];
    cluster.owner(2).step(b, changes);
    cluster.ticks(3);
    let answers = cluster.owner(1).answers();
    assert_eq!(answers[0], (1, MessageOutcome::Rejected(Rejection::TooOld)));
    assert!(answers[1].1.is_kept());
}

#[test]
fn with_a_full_table_of_sources_the_next_source_waits_at_the_base_until_one_is_settled() {
    let mut cluster = Cluster::new();
    let b = cluster.born_at(0, east());
    let sources: Vec<EntityId> = (0..INBOX_SOURCES_MAX + 1).map(|_| cluster.born()).collect();
    for source in &sources {
        send(&mut cluster, 1, *source, b, 1);
        cluster.ticks(2);
        run_inbox(cluster.owner(2), b, applied);
    }
    cluster.ticks(2);
    assert_eq!(cluster.owner(2).inbox().len(), INBOX_SOURCES_MAX);
    assert_eq!(cluster.bases[0].stats.inbox, 1);
    cluster.owner(2).step(b, vec![Change::Settled(sources[0], 1, true)]);
    cluster.ticks(45);
    let last = *sources.last().unwrap();
    assert!(cluster.owner(2).inbox().iter().any(|m| m.source == last));
}

#[test]
fn a_restarted_receiver_gets_everything_open_again() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 10);
    cluster.ticks(2);
    assert_eq!(cluster.owner(2).inbox().len(), 1);
    let records = cluster.bases[1].log.len();
    let kinds = cluster.kinds.clone();
    cluster.bases[1].restart(&kinds, records);
    let node = cluster.bases[1].node;
    cluster.members.retain(|m| m.node.name != node.name);
    let state = marchland_common::cluster::MemberState::Serving;
    cluster.members.push(marchland_common::cluster::Member { node, state });
    cluster.announce();
    cluster.ticks(3);
    assert_eq!(cluster.owner(2).inbox().len(), 2, "the next life of the base was told as well");
    run_inbox(cluster.owner(2), b, applied);
    cluster.ticks(3);
    assert_eq!(gold(&cluster, b), 110);
    assert_eq!(cluster.owner(1).answers().len(), 1);
}

#[test]
fn what_a_lost_link_swallowed_is_said_again() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 10);
    cluster.tick();
    // The bundle between the bases never arrives, and the link begins anew.
    cluster.bases[1].frames.retain(|f| f.from.name.kind != NodeKind::Base);
    cluster.ticks(60);
    assert_eq!(cluster.owner(2).inbox().len(), 1);
    run_inbox(cluster.owner(2), b, applied);
    cluster.flush();
    cluster.sync();
    cluster.bases[0].frames.retain(|f| f.from.name.kind != NodeKind::Base);
    cluster.ticks(60);
    assert!(!cluster.owner(1).answers().is_empty(), "the answer as well");
    take_answers(cluster.owner(1), a);
    cluster.flush();
    cluster.sync();
    cluster.bases[1].frames.retain(|f| f.from.name.kind != NodeKind::Base);
    cluster.ticks(60);
    let settled = cluster.owner(2).told(|m| matches!(m, BaseToCell::Settled { .. }).then_some(()));
    assert!(!settled.is_empty(), "and that it is closed");
}

#[test]
fn an_entity_is_created_by_a_message_exactly_once_with_the_value_of_the_message() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: east() }, 40);
    cluster.ticks(2);
    let answers = cluster.owner(1).answers();
    let (1, MessageOutcome::Spawned(child)) = answers[0].clone() else { panic!("{answers:?}") };
    assert_eq!((gold(&cluster, a), gold(&cluster, child)), (60, 40));
    let copy = cluster.owner(2).copies[&child].clone();
    assert_eq!((copy.why, copy.argument), (GrantWhy::Birth, b"gold".to_vec()));
    let created = cluster.bases[0].events.iter().find_map(|event| match event {
        Event::Created { entity, source, value, .. } if *entity == child => Some((*source, *value)),
        _ => None,
    });
    assert_eq!(created, Some((Some((a, 1)), 40)));
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 60);
    assert_balanced(&cluster);
}

#[test]
fn a_restart_between_the_wish_and_the_birth_creates_one_and_a_restart_after_it_none() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: east() }, 40);
    cluster.flush();
    let records = cluster.bases[0].records();
    let is_birth = |r: &LogRecord| matches!(r, LogRecord::Created(c) if c.source.is_some());
    let birth = records.iter().position(is_birth).unwrap();
    assert!(matches!(records[birth - 1], LogRecord::Step(_)), "right behind the step");
    for kept in [birth, birth + 1] {
        let mut again = Cluster::new();
        again.owners = cluster.owners.clone();
        again.bases[0].log = cluster.bases[0].log.clone();
        let kinds = again.kinds.clone();
        again.bases[0].restart(&kinds, kept);
        let node = again.bases[0].node;
        again.members.last_mut().unwrap().node = node;
        again.announce();
        again.ticks(3);
        let born = again.bases[0].records();
        assert_eq!(born.iter().filter(|r| is_birth(r)).count(), 1, "kept {kept}");
        assert_eq!(again.bases[0].stats.entities, 2);
        assert_eq!(again.owner(1).answers().len(), 1);
    }
}

#[test]
fn a_birth_that_nobody_can_own_waits_and_is_refused_for_good_in_the_end() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    let nowhere = Place { space: SpaceId(9), ..east() };
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: nowhere }, 40);
    post(&mut cluster, 1, a, Address::Spawn { kind: KindId(9), place: east() }, 5);
    cluster.ticks(3);
    let (2, MessageOutcome::Rejected(Rejection::Rule(why))) = cluster.owner(1).answers()[0].clone()
    else {
        panic!("{:?}", cluster.owner(1).answers())
    };
    assert!(why.contains("kind 9"));
    cluster.ticks(110);
    assert_eq!(cluster.owner(1).answers().last().unwrap().0, 1);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 100);
    assert_balanced(&cluster);
}

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
    run_inbox(cluster.owner(2), b, applied);
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
    run_inbox(cluster.owner(2), b, applied);
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

#[test]
fn deliveries_for_a_slot_of_another_base_are_refused() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 1);
    cluster.tick();
    let moved = cluster.bases[1].frames.iter().rposition(|f| f.from == base(1)).unwrap();
    let mut frame = cluster.bases[1].frames.remove(moved);
    frame.from = base(9);
    frame.bundle.n = 1;
    cluster.bases[0].frames.push(frame);
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::WrongBase), 1);
}
