//! What an owner decides: commands, messages, answers and timers, each once, also across handoffs.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, InboxMessage, Origin};
use marchland_common::order::{EntityId, Epoch, Seq, SessionId, Tick};
use marchland_common::world::{CommandOutcome, MessageOutcome, Rejection, Value};
use support::*;

fn played(cluster: &mut Cluster, x: i32, props: &[(u8, Value)]) -> EntityId {
    let id = cluster.base.create_as(1, 1, at(x, 50_000), THING, props);
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(2);
    id
}

fn log_of(cluster: &Cluster, id: EntityId) -> Vec<u8> {
    cluster.base.records[&id].image.props[usize::from(LOG)].bytes()[1..].to_vec()
}

fn outcomes(cluster: &Cluster) -> Vec<(u64, CommandOutcome)> {
    let run = cluster.all_events().filter_map(|(_, _, e)| match e {
        Event::CommandRun { n, outcome, .. } => Some((*n, outcome.clone())),
        _ => None,
    });
    run.collect()
}

fn refused(cluster: &Cluster, wanted: Refused) -> u32 {
    let counts = cluster.all_events().map(|(_, _, e)| match e {
        Event::Refusal { reason, count, .. } if *reason == wanted => *count,
        _ => 0,
    });
    counts.sum()
}

fn message(to: EntityId, source: u64, out_seq: u64, payload: &[u8], value: i64) -> InboxMessage {
    InboxMessage {
        entity: to,
        source: entity(source),
        out_seq,
        payload: Bytes::copy_from_slice(payload),
        value,
        origin: Origin {
            authority: cell(9),
            epoch: Epoch::of_grant(1),
            seq: Seq(1),
            tick: Tick(100),
        },
        settled: 0,
    }
}

fn message_outcomes(cluster: &Cluster) -> Vec<(u64, MessageOutcome)> {
    let run = cluster.all_events().filter_map(|(_, _, e)| match e {
        Event::MessageRun { out_seq, outcome, .. } => Some((*out_seq, outcome.clone())),
        _ => None,
    });
    run.collect()
}

#[test]
fn two_thousand_commands_through_fifty_handoffs_are_applied_once_each_and_in_order() {
    let mut cluster = Cluster::new(2);
    let id = played(&mut cluster, 50_000, &[]);
    let mut sent = 0_u64;
    for round in 0..50 {
        cluster.handoff(round, id, cell(2 - (round % 2) as u16), 200);
        for _ in 0..8 {
            for _ in 0..5 {
                sent += 1;
                cluster.command(id, 1, ADD, &[(sent % 251) as u8]);
            }
            cluster.step();
        }
    }
    cluster.until("the last command", |c| c.base.open.is_empty());
    assert_eq!(cluster.handoffs(id), 50);
    let want: Vec<u8> = (1..=sent).map(|n| (n % 251) as u8).collect();
    assert_eq!(log_of(&cluster, id), want);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    assert!(refused(&cluster, Refused::NotHere) > 0, "some waited at an owner that left");
}

#[test]
fn a_command_is_expired_by_the_owner_alone_and_a_hidden_method_is_refused() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    let past = Tick(cluster.tick.0);
    cluster.command_by(id, 1, ADD, b"x", past);
    cluster.command(id, 1, HIDDEN, &[]);
    cluster.command(id, 1, 200, &[]);
    cluster.command(id, 1, WALK, &[1]);
    cluster.run(3);
    let not_exposed = CommandOutcome::Rejected(Rejection::NotExposed);
    let want = [
        (1, CommandOutcome::Expired),
        (2, not_exposed.clone()),
        (3, not_exposed),
        (4, CommandOutcome::Rejected(Rejection::BadArguments)),
    ];
    assert_eq!(outcomes(&cluster), want);
    assert!(cluster.base.open.is_empty(), "each outcome is durable");
}

#[test]
fn a_command_of_a_session_that_is_not_attached_has_no_effect() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    cluster.command(id, 77, ADD, b"x");
    cluster.run(3);
    assert_eq!(outcomes(&cluster), []);
    assert_eq!(refused(&cluster, Refused::UnknownSession), 1);
}

#[test]
fn a_command_waits_for_the_one_before_it() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    cluster.base.stalled = true;
    cluster.command(id, 1, ADD, b"1");
    cluster.command(id, 1, ADD, b"2");
    let second = cluster.base.open[1].clone();
    cluster.base.lose_what_was_said();
    cluster.base.say(cell(1), second);
    cluster.base.stalled = false;
    cluster.run(3);
    assert_eq!(log_of(&cluster, id), b"");
    let first = cluster.base.open[0].clone();
    cluster.base.say(cell(1), first);
    cluster.run(3);
    // It came after the second; each in its turn all the same.
    assert_eq!(log_of(&cluster, id), b"12");
}

#[test]
fn a_message_is_applied_once_and_its_value_is_credited_once_wherever_its_receiver_stands() {
    let mut cluster = Cluster::new(2);
    let id = played(&mut cluster, 50_000, &[]);
    let give = BaseToCell::Inbox(message(id, 9, 3, b"m", 25));
    cluster.base.deliver(give.clone());
    cluster.run(3);
    cluster.handoff(1, id, cell(2), 200);
    cluster.base.say(cell(1), give.clone());
    cluster.run(4);
    cluster.base.say(cell(2), give);
    cluster.run(3);
    let image = &cluster.base.records[&id].image;
    assert_eq!(image.props[usize::from(GOLD)], Value::Int(25));
    assert_eq!(log_of(&cluster, id), b"m");
    assert_eq!(message_outcomes(&cluster).len(), 1);
    assert!(refused(&cluster, Refused::DuplicateMessage) >= 1);
}

#[test]
fn a_refused_message_credits_nothing_and_value_that_cannot_be_held_is_refused() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[(GOLD, Value::Int(5))]);
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 1, b"no", 7)));
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 2, b"m", i64::MAX)));
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 3, b"m", -1)));
    cluster.run(3);
    let ends = message_outcomes(&cluster);
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|(_, end)| !end.is_kept()), "{ends:?}");
    let image = &cluster.base.records[&id].image;
    assert_eq!(image.props[usize::from(GOLD)], Value::Int(5));
    assert_eq!(log_of(&cluster, id), b"");
}

#[test]
fn an_old_message_is_applied_or_refused_as_its_kind_declares_and_both_are_recorded() {
    let mut cluster = Cluster::new(1);
    let forgiving = cluster.base.create(1, 1, at(20_000, 50_000));
    let strict = cluster.base.create_as(2, 1, at(20_000, 50_000), STRICT, &[]);
    cluster.run(60);
    for to in [forgiving, strict] {
        cluster.base.deliver(BaseToCell::Inbox(message(to, 9, 1, b"m", 0)));
    }
    cluster.run(3);
    let too_old = MessageOutcome::Rejected(Rejection::TooOld);
    let want = [(1, MessageOutcome::Applied(vec![1])), (1, too_old)];
    assert_eq!(message_outcomes(&cluster), want);
    assert!(cluster.base.open.is_empty());
}

#[test]
fn value_is_debited_when_it_is_sent_and_comes_back_once_if_it_is_not_kept() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[(GOLD, Value::Int(50))]);
    let mut to_nine = vec![20_u8];
    to_nine.extend(entity(9).0.to_le_bytes());
    cluster.command(id, 1, GIVE, &to_nine);
    cluster.command(id, 1, GIVE, &to_nine);
    let mut too_much = to_nine.clone();
    too_much[0] = 11;
    cluster.command(id, 1, GIVE, &too_much);
    cluster.run(3);
    let gold = |c: &Cluster| c.base.records[&id].image.props[usize::from(GOLD)].int();
    assert_eq!(gold(&cluster), 10);
    assert_eq!(cluster.base.records[&id].image.outbox.open.len(), 2);
    let kept = MessageOutcome::Applied(Vec::new());
    for (out_seq, outcome) in [(1, kept), (2, MessageOutcome::Undeliverable)] {
        let answer = BaseToCell::Answer { entity: id, out_seq, outcome };
        cluster.base.deliver(answer.clone());
        cluster.base.say(cell(1), answer);
    }
    cluster.run(3);
    assert_eq!(gold(&cluster), 30);
    assert_eq!(log_of(&cluster, id), b"kr");
    assert_eq!(cluster.base.records[&id].image.outbox.open.len(), 0);
    assert_eq!(refused(&cluster, Refused::DuplicateAnswer), 2);
}

#[test]
fn a_settled_source_is_forgotten_in_a_step() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 4, b"m", 0)));
    cluster.run(3);
    assert_eq!(cluster.base.records[&id].image.inbox.rows().len(), 1);
    let settled = |through| BaseToCell::Settled { entity: id, source: entity(9), through };
    cluster.base.say(cell(1), settled(3));
    cluster.run(3);
    assert_eq!(cluster.base.records[&id].image.inbox.rows().len(), 1);
    cluster.base.say(cell(1), settled(4));
    cluster.run(3);
    assert_eq!(cluster.base.records[&id].image.inbox.rows().len(), 0);
}

#[test]
fn messages_wait_while_the_marks_have_no_room_and_none_passes_an_earlier_one() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    for source in 0..256 {
        cluster.base.deliver(BaseToCell::Inbox(message(id, 100 + source, 1, b"", 0)));
    }
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 1, b"1", 0)));
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 2, b"2", 0)));
    cluster.run(5);
    assert_eq!(message_outcomes(&cluster).len(), 256);
    let settled = BaseToCell::Settled { entity: id, source: entity(100), through: 1 };
    cluster.base.say(cell(1), settled);
    cluster.run(3);
    assert_eq!(log_of(&cluster, id), b"12");
}

#[test]
fn the_newest_input_wins_and_only_that_of_an_attached_session() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[]);
    let input = |session, payload: &'static [u8]| BaseToCell::Input {
        entity: id,
        session: SessionId(session),
        payload: Bytes::from_static(payload),
    };
    cluster.base.say(cell(1), input(1, b"a"));
    cluster.base.say(cell(1), input(1, b"b"));
    cluster.run(3);
    cluster.base.say(cell(1), input(9, b"c"));
    cluster.run(3);
    assert_eq!(log_of(&cluster, id), b"b");
    assert_eq!(refused(&cluster, Refused::InputReplaced), 1);
    assert_eq!(refused(&cluster, Refused::UnknownSession), 1);
}

#[test]
fn a_timer_that_is_due_before_at_or_after_a_handoff_fires_once_on_one_owner() {
    for ordered_after in 0..8 {
        let mut cluster = Cluster::new(2);
        let id = played(&mut cluster, 50_000, &[]);
        cluster.command(id, 1, ALARM, &[6]);
        cluster.run(ordered_after);
        cluster.handoff(1, id, cell(2), 200);
        cluster.run(14);
        assert_eq!(cluster.handoffs(id), 1);
        let fired: Vec<_> = cluster
            .all_events()
            .filter_map(|(node, _, e)| match e {
                Event::TimerFired { due, at, .. } => Some((node, *due, *at)),
                _ => None,
            })
            .collect();
        assert_eq!(fired.len(), 1, "{ordered_after}: {fired:?}");
        assert_eq!(fired[0].1, fired[0].2, "on time to the tick");
        assert_eq!(log_of(&cluster, id), b"7");
    }
}

#[test]
fn a_periodic_timer_keeps_its_beat_through_handoffs() {
    let mut cluster = Cluster::new(2);
    let id = played(&mut cluster, 50_000, &[]);
    cluster.command(id, 1, CLOCK, &[3]);
    for round in 0..6 {
        cluster.run(7);
        cluster.handoff(round, id, cell(2 - (round % 2) as u16), 200);
    }
    cluster.run(10);
    let beats: Vec<(u64, u64)> = cluster
        .all_events()
        .filter_map(|(_, _, e)| match e {
            Event::TimerFired { occurrence, at, .. } => Some((*occurrence, at.0)),
            _ => None,
        })
        .collect();
    assert!(beats.len() >= 15, "{beats:?}");
    for pair in beats.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, 1);
        assert_eq!(pair[1].1 - pair[0].1, 3 * STEP_US);
    }
}

#[test]
fn asynchronous_work_comes_back_as_an_input_and_is_lost_and_counted_when_the_asker_left() {
    use marchland_cellapp_core::io::Completion;
    let mut cluster = Cluster::new(2);
    let id = played(&mut cluster, 50_000, &[]);
    cluster.command(id, 1, WORK, b"job");
    cluster.run(2);
    let asked: Vec<Completion> =
        cluster.outputs.iter().flat_map(|(_, _, out)| out.work.clone()).collect();
    assert_eq!(asked, [Completion { entity: id, token: 5, payload: b"job".to_vec() }]);
    let done = Completion { payload: b"done".to_vec(), ..asked[0].clone() };
    cluster.input(cell(1)).completions.push(done.clone());
    cluster.run(2);
    assert_eq!(log_of(&cluster, id), b"done");
    cluster.handoff(1, id, cell(2), 200);
    cluster.run(5);
    cluster.input(cell(1)).completions.push(done);
    cluster.run(2);
    assert_eq!(refused(&cluster, Refused::CompletionLost), 1);
    assert_eq!(log_of(&cluster, id), b"done");
}

#[test]
fn what_comes_for_an_entity_that_is_not_real_here_is_dropped_and_counted_and_no_id_appears() {
    let mut cluster = Cluster::new(1);
    cluster.base.say(cell(1), BaseToCell::Inbox(message(entity(50), 9, 1, b"m", 0)));
    cluster.base.say(cell(1), BaseToCell::Destroy { entity: entity(51) });
    cluster.run(3);
    assert_eq!(refused(&cluster, Refused::NotHere), 2);
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
    assert_eq!(cluster.cells[&cell(1)].ghosts(), []);
}

#[test]
fn an_entity_whose_data_fill_its_limit_still_answers_and_stays_bounded() {
    let mut cluster = Cluster::new(1);
    let full = Value::Bytes(vec![7; 64 * 1024 - 300]);
    let id = cluster.base.create_as(1, 1, at(20_000, 50_000), STRICT, &[(LOG, full)]);
    cluster.run(60);
    for n in 0..60 {
        for source in 0..240 {
            cluster.base.deliver(BaseToCell::Inbox(message(id, 100 + source, n + 1, b"m", 0)));
        }
        cluster.run(2);
    }
    let answered = message_outcomes(&cluster).len();
    let size = cluster.base.records[&id].image.encoded_len();
    assert!(answered > 2_000, "only {answered} messages were answered");
    assert!(size <= 64 * 1024 * 3 / 2 + 1_024, "the state has {size} bytes");
    assert!(!cluster.base.open.is_empty(), "the others wait");
}

#[test]
fn value_that_comes_to_an_entity_that_ends_by_it_leaves_the_world_and_is_said() {
    let mut cluster = Cluster::new(1);
    let id = played(&mut cluster, 50_000, &[(GOLD, Value::Int(5))]);
    cluster.base.deliver(BaseToCell::Inbox(message(id, 9, 1, b"die", 7)));
    cluster.run(3);
    let image = &cluster.base.records[&id].image;
    assert!(image.destroyed);
    assert_eq!(image.props[usize::from(GOLD)], Value::Int(0));
    let minted: i64 = cluster
        .base
        .steps
        .iter()
        .filter_map(|(_, _, step)| match &step.body {
            marchland_common::msg::StepBody::Delta(changes) => Some(changes),
            marchland_common::msg::StepBody::Snapshot(_) => None,
        })
        .flatten()
        .map(|change| match change {
            marchland_common::world::Change::Minted(amount) => *amount,
            _ => 0,
        })
        .sum();
    assert_eq!(minted, -12);
}
