//! Messages between entities: taken once or answered, whatever is lost, doubled or restarted.

use crate::support::*;
use bytes::Bytes;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

#[test]
fn gold_goes_from_one_entity_to_another_and_every_table_is_empty_afterwards() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 30);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, taken);
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
    cluster.tick();
    run_inbox(cluster.owner(2), b, taken);
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
    run_inbox(cluster.owner(2), b, taken);
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
    run_inbox(cluster.owner(3), b, taken);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, b), 103);
}

#[test]
fn an_answer_reaches_the_next_owner_of_its_sender() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 1);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, taken);
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
    run_inbox(cluster.owner(2), b, taken);
    cluster.ticks(3);
    let mark = cluster.mark();
    repeat(&mut cluster, base(1), (a, b));
    cluster.ticks(2);
    assert_eq!(cluster.owner(2).inbox().len(), 1);
    let delivered = |m: &Msg| match m {
        Msg::BaseToBase(BaseToBase::Delivered { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    };
    assert_eq!(cluster.said(mark, delivered).len(), 3);
    assert_eq!(gold(&cluster, b), 110);
}

/// A base says the first message of an entity to another one three times more.
fn repeat(cluster: &mut Cluster, from: Node, (source, to): (EntityId, EntityId)) {
    let deliver = BaseToBase::Deliver {
        to,
        source,
        out_seq: 1,
        payload: Bytes::from_static(b"gold"),
        value: 10,
        origin: cluster.owner(2).inbox()[0].origin,
        settled: 0,
        after: 0,
    };
    for n in 1_001..=1_003 {
        let bundle = Bundle {
            n,
            src_tick: Tick(1),
            moment: Moment::Flush,
            phase_us: 0,
            header: Header::Peer,
            msgs: vec![Msg::BaseToBase(deliver.clone())],
        };
        cluster.bases[1].frames.push(Frame { from, bundle });
    }
}

/// It kept the source's slot before, and its word came late: by now the message is closed, and the
/// receiver has forgotten that it ever took it.
#[test]
fn a_copy_by_a_base_that_does_not_keep_its_source_is_refused() {
    let (mut cluster, a, b) = two();
    send(&mut cluster, 1, a, b, 10);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, taken);
    cluster.ticks(2);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    cluster.owner(2).step(b, vec![Change::Settled(a, 1, true)]);
    cluster.ticks(2);
    repeat(&mut cluster, base(7), (a, b));
    cluster.ticks(2);
    assert_eq!(cluster.bases[1].refusals(Refused::WrongBase), 3);
    assert_eq!((cluster.owner(2).inbox().len(), cluster.bases[1].stats.inbox), (1, 0));
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
        run_inbox(cluster.owner(2), b, taken);
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
        run_inbox(cluster.owner(2), b, taken);
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
    assert!(cluster.owner(2).inbox().len() >= 2, "the next life of the base was told as well");
    run_inbox(cluster.owner(2), b, taken);
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
    run_inbox(cluster.owner(2), b, taken);
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
