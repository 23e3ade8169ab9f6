//! Clients: sessions, commands with exactly one answer each, and what they are told, in order.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::{ANSWERS_MAX, SESSION_LINGER, UNACKNOWLEDGED_MAX, account_slot};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;
use support::*;

struct Client {
    session: SessionId,
    entity: EntityId,
    secret: u64,
}

fn login_event(request: u64, account: &str) -> ClientEvent {
    let account = account.to_owned();
    ClientEvent::Login { request, account, kind: HERO, place: west(), radius: 30_000 }
}

fn welcomed(cluster: &Cluster, request: u64) -> Option<(Client, bool, u64)> {
    cluster.bases[0].clients.iter().rev().find_map(|frame| match &frame.what {
        ClientFrame::Welcome { request: r, entity, secret, resumed, last_n } if *r == request => {
            let client = Client { session: frame.session, entity: *entity, secret: *secret };
            Some((client, *resumed, *last_n))
        }
        _ => None,
    })
}

fn login(cluster: &mut Cluster, account: &str) -> Client {
    let request = cluster.tick;
    cluster.bases[0].clients_in.push(login_event(request, account));
    cluster.ticks(2);
    welcomed(cluster, request).unwrap().0
}

fn command(client: &Client, n: u64, acknowledged: u64) -> ClientEvent {
    ClientEvent::Command {
        session: client.session,
        n,
        entity: client.entity,
        method: POKE,
        args: Bytes::from(vec![n as u8]),
        ttl: 0,
        acknowledged,
    }
}

fn resume(client: &Client, request: u64, acknowledged: u64) -> ClientEvent {
    let (session, secret) = (client.session, client.secret);
    ClientEvent::Resume { request, session, secret, acknowledged, radius: 20_000 }
}

/// The owner runs every command that it was sent and did not run before.
fn run_commands(owner: &mut Owner, entity: EntityId) {
    for command in owner.commands() {
        let Some(copy) = owner.copies.get(&entity) else { return };
        let mut changes = Vec::new();
        let rows = copy.state.commands.rows();
        let session = command.session;
        if rows.iter().any(|r| r.session == session && r.high < command.acknowledged) {
            changes.push(Change::Acknowledged(session, command.acknowledged));
        }
        let mut state = copy.state.clone();
        changes.iter().for_each(|c| state.apply(c).unwrap());
        if state.commands.check(session, command.n) == CommandVerdict::New {
            let outcome = CommandOutcome::Applied(vec![command.n as u8]);
            changes.push(Change::Command(session, command.n, outcome));
            owner.step(entity, changes);
        }
    }
}

fn answers(cluster: &Cluster, client: &Client) -> Vec<(u64, CommandOutcome)> {
    let frames = cluster.bases[0].frames_of(client.session).into_iter();
    frames
        .filter_map(|frame| match frame {
            ClientFrame::Answer { n, outcome, .. } => Some((n, outcome)),
            _ => None,
        })
        .collect()
}

fn applied(n: u64) -> (u64, CommandOutcome) {
    (n, CommandOutcome::Applied(vec![n as u8]))
}

fn rejected(n: u64, why: Rejection) -> (u64, CommandOutcome) {
    (n, CommandOutcome::Rejected(why))
}

#[test]
fn a_login_gives_birth_once_and_welcomes_first() {
    let mut cluster = Cluster::new();
    let first = login(&mut cluster, "ann");
    let frames = cluster.bases[0].frames_of(first.session);
    assert!(matches!(frames[0], ClientFrame::Welcome { resumed: false, last_n: 0, .. }));
    let gold = vec![(GOLD, Value::Int(100)), (NOTE, Value::Bytes(Vec::new()))];
    assert!(matches!(&frames[1], ClientFrame::Own { props, .. } if *props == gold));
    assert_eq!(first.entity.slot(), account_slot("ann"));
    let second = login(&mut cluster, "ann");
    assert_eq!(second.entity, first.entity, "one account, one entity");
    assert_ne!((second.session, second.secret), (first.session, first.secret));
    let frames = cluster.bases[0].frames_of(first.session);
    assert_eq!(*frames.last().unwrap(), ClientFrame::Ended { reason: "replaced".to_owned() });
    assert_eq!(cluster.bases[0].stats.sessions, 1);
    let detached = cluster.owner(1).told(|m| match m {
        BaseToCell::Detach { session, .. } => Some(*session),
        _ => None,
    });
    assert_eq!(detached, [first.session]);
}

#[test]
fn nobody_is_welcomed_before_session_and_entity_are_durable() {
    let mut cluster = Cluster::new();
    cluster.bases[0].clients_in.push(login_event(1, "ann"));
    (0..5).for_each(|_| cluster.flush());
    assert!(cluster.bases[0].clients.is_empty());
    cluster.sync();
    assert!(matches!(cluster.bases[0].clients[0].what, ClientFrame::Welcome { .. }));
}

#[test]
fn a_hundred_logins_at_once_leave_one_session_and_one_entity() {
    let mut cluster = Cluster::new();
    cluster.bases[0].clients_in.extend((0..100).map(|n| login_event(n, "ann")));
    cluster.ticks(3);
    assert_eq!((cluster.bases[0].stats.sessions, cluster.bases[0].stats.entities), (1, 1));
    assert!(welcomed(&cluster, 99).is_some());
    let refused = cluster.bases[0].clients.iter();
    let refused = refused.filter(|f| matches!(f.what, ClientFrame::Refused { .. })).count();
    assert_eq!(refused, 99, "each of the others is told so and never welcomed");
}

#[test]
fn logins_that_cannot_be_served_are_refused_with_a_reason() {
    let mut cluster = Cluster::with(2, |_| {});
    let mut cases = vec![login_event(1, ""), login_event(2, &"x".repeat(65))];
    let elsewhere = (0..).map(|n| format!("bob{n}")).find(|a| account_slot(a).0 % 2 == 1).unwrap();
    cases.push(login_event(3, &elsewhere));
    let here =
        (0..).map(|n| format!("eve{n}")).find(|a| account_slot(a).0.is_multiple_of(2)).unwrap();
    let mut unknown_kind = login_event(4, &here);
    let mut nowhere = login_event(5, &here);
    if let ClientEvent::Login { kind, .. } = &mut unknown_kind {
        *kind = KindId(77);
    }
    if let ClientEvent::Login { place, .. } = &mut nowhere {
        place.space = SpaceId(9);
    }
    cases.extend([unknown_kind, nowhere]);
    cluster.bases[0].clients_in = cases;
    cluster.ticks(2);
    let reasons: Vec<(u64, String)> = cluster.bases[0]
        .clients
        .iter()
        .map(|frame| match &frame.what {
            ClientFrame::Refused { request, reason } => (*request, reason.clone()),
            other => panic!("not refused: {other:?}"),
        })
        .collect();
    assert_eq!(reasons.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(reasons[2].1.contains("base-2"), "names who keeps the account: {}", reasons[2].1);
    assert!(reasons[3].1.contains("kind 77") && reasons[4].1.contains("space 9"));
}

#[test]
fn a_command_is_answered_once_when_its_step_is_durable() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in.push(command(&client, 1, 0));
    cluster.tick();
    assert_eq!(cluster.owner(1).commands().len(), 1);
    run_commands(cluster.owner(1), client.entity);
    cluster.flush();
    assert!(answers(&cluster, &client).is_empty());
    cluster.sync();
    assert_eq!(answers(&cluster, &client), [applied(1)]);
    cluster.bases[0].clients_in.push(command(&client, 1, 0));
    cluster.ticks(3);
    assert_eq!(answers(&cluster, &client), [applied(1)]);
    assert_eq!(cluster.bases[0].refusals(Refused::DuplicateCommand), 1);
    assert_eq!(cluster.bases[0].stats.commands, 0);
}

#[test]
fn a_gap_in_the_numbers_is_refused() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in.push(command(&client, 2, 0));
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::CommandGap), 1);
    assert!(cluster.owner(1).commands().is_empty());
}

#[test]
fn the_base_alone_answers_what_cannot_be_sent_and_the_rest_waits_for_its_acknowledgement() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let other = login(&mut cluster, "bob");
    let mut foreign = command(&client, 1, 0);
    if let ClientEvent::Command { entity, .. } = &mut foreign {
        *entity = other.entity;
    }
    let mut hidden = command(&client, 2, 0);
    let mut unknown = command(&client, 3, 0);
    if let ClientEvent::Command { method, .. } = &mut hidden {
        *method = HIDDEN;
    }
    if let ClientEvent::Command { method, .. } = &mut unknown {
        *method = 200;
    }
    cluster.bases[0].clients_in = vec![foreign, hidden, unknown, command(&client, 4, 0)];
    cluster.ticks(2);
    let expected = [
        rejected(1, Rejection::NotYours),
        rejected(2, Rejection::NotExposed),
        rejected(3, Rejection::NotExposed),
    ];
    assert_eq!(answers(&cluster, &client), expected);
    assert!(cluster.owner(1).commands().is_empty(), "the owner would wait for number 1");
    cluster.bases[0].clients_in.push(ClientEvent::Acknowledge { session: client.session, n: 3 });
    cluster.tick();
    let sent = cluster.owner(1).commands();
    assert_eq!((sent[0].n, sent[0].acknowledged), (4, 3));
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client).last(), Some(&applied(4)));
}

#[test]
fn answers_come_in_the_order_of_the_commands_also_when_the_base_knows_a_later_one_first() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let mut hidden = command(&client, 2, 0);
    if let ClientEvent::Command { method, .. } = &mut hidden {
        *method = HIDDEN;
    }
    cluster.bases[0].clients_in = vec![command(&client, 1, 0), hidden];
    cluster.ticks(2);
    assert!(answers(&cluster, &client).is_empty());
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client), [applied(1), rejected(2, Rejection::NotExposed)]);
}

#[test]
fn the_sixty_fifth_command_without_an_acknowledgement_is_told_busy() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in =
        (1..=UNACKNOWLEDGED_MAX + 1).map(|n| command(&client, n, 0)).collect();
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    let told = answers(&cluster, &client);
    assert_eq!(told.len() as u64, UNACKNOWLEDGED_MAX + 1);
    assert_eq!(told.last(), Some(&rejected(UNACKNOWLEDGED_MAX + 1, Rejection::Busy)));
}

#[test]
fn a_full_queue_is_busy_and_a_client_that_never_listens_is_sent_away() {
    let mut cluster = Cluster::with(1, |config| config.queue_max = 8);
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = (1..=2_000).map(|n| command(&client, n, 0)).collect();
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    let frames = cluster.bases[0].frames_of(client.session);
    assert!(matches!(frames.last(), Some(ClientFrame::Ended { .. })));
    assert_eq!(cluster.bases[0].refusals(Refused::QueueFull), 1);
    cluster.bases[0].clients_in = vec![resume(&client, 77, 0)];
    cluster.tick();
    let (_, resumed, last_n) = welcomed(&cluster, 77).unwrap();
    assert_eq!((resumed, last_n), (true, ANSWERS_MAX as u64));
    let told = answers(&cluster, &client);
    assert_eq!(told.len(), ANSWERS_MAX, "bounded, and each once");
    assert_eq!((&told[7], &told[8]), (&applied(8), &rejected(9, Rejection::Busy)));
    let next = ANSWERS_MAX as u64 + 1;
    cluster.bases[0].clients_in = vec![command(&client, next, next - 1)];
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client).last(), Some(&applied(next)));
}

#[test]
fn commands_around_a_handoff_reach_the_new_owner_once_and_in_order() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = (1..=3).map(|n| command(&client, n, 0)).collect();
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(client.entity, cell(2), tick, HandoffWhy::Border);
    cluster.flush();
    cluster.bases[0].clients_in = vec![command(&client, 4, 0)];
    cluster.flush();
    assert!(cluster.owner(1).commands().is_empty() && cluster.owner(2).commands().is_empty());
    cluster.sync();
    let sent: Vec<u64> = cluster.owner(2).commands().iter().map(|c| c.n).collect();
    assert_eq!(sent, [1, 2, 3, 4], "right behind the grant");
    cluster.tick();
    run_commands(cluster.owner(2), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client), (1..=4).map(applied).collect::<Vec<_>>());
}

#[test]
fn what_a_frozen_owner_dropped_is_sent_again_after_an_abort() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.owner(2).accepting = false;
    cluster.bases[0].clients_in = vec![command(&client, 1, 0)];
    cluster.tick();
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(client.entity, cell(2), tick, HandoffWhy::Border);
    cluster.ticks(2);
    assert_eq!(cluster.owner(1).commands().len(), 2);
}

#[test]
fn what_no_owner_answers_is_sent_again_after_a_while() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = vec![command(&client, 1, 0)];
    cluster.ticks(100);
    let times = cluster.owner(1).commands().len();
    assert!((2..=4).contains(&times), "{times}");
}

#[test]
fn the_base_alone_expires_only_what_no_owner_can_have_seen() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let mut seen = command(&client, 1, 0);
    if let ClientEvent::Command { ttl, .. } = &mut seen {
        *ttl = 3;
    }
    cluster.bases[0].clients_in = vec![seen];
    cluster.tick();
    (1..=3).for_each(|n| cluster.owner(n).takes = false);
    cluster.declare_dead(cell(1));
    cluster.tick();
    let mut unseen = command(&client, 2, 0);
    if let ClientEvent::Command { ttl, .. } = &mut unseen {
        *ttl = 3;
    }
    (2..=3).for_each(|n| cluster.owner(n).talks = false);
    cluster.ticks(2);
    // The grant has left; a command that goes to whoever gets it counts as seen.
    cluster.bases[0].clients_in = vec![unseen];
    cluster.ticks(10);
    assert!(answers(&cluster, &client).is_empty());
    assert_eq!(cluster.bases[0].stats.commands, 2);
}

#[test]
fn a_command_that_waited_for_an_owner_past_its_deadline_expires_here() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    (2..=3).for_each(|n| cluster.owner(n).talks = false);
    cluster.ticks(6);
    cluster.declare_dead(cell(1));
    cluster.tick();
    let mut events: Vec<ClientEvent> = (1..=2).map(|n| command(&client, n, 0)).collect();
    if let ClientEvent::Command { ttl, .. } = &mut events[0] {
        *ttl = 3;
    }
    cluster.bases[0].clients_in = events;
    cluster.ticks(6);
    assert_eq!(answers(&cluster, &client), [(1, CommandOutcome::Expired)]);
    (2..=3).for_each(|n| cluster.owner(n).talks = true);
    cluster.ticks(4);
    let heir = (2..=3).find(|n| cluster.owner(*n).holds(client.entity)).unwrap();
    assert!(cluster.owner(heir).commands().is_empty(), "number 2 waits behind it");
    cluster.bases[0].clients_in = vec![ClientEvent::Acknowledge { session: client.session, n: 1 }];
    cluster.tick();
    run_commands(cluster.owner(heir), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client).last(), Some(&applied(2)));
}

#[test]
fn a_resumed_session_gets_every_answer_that_it_has_not_acknowledged_and_only_those() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = (1..=5).map(|n| command(&client, n, 0)).collect();
    cluster.tick();
    cluster.bases[0].clients_in = vec![ClientEvent::Gone { session: client.session }];
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(3);
    assert!(answers(&cluster, &client).is_empty(), "nobody is there");
    cluster.bases[0].clients_in = vec![resume(&client, 50, 0)];
    cluster.tick();
    let before = cluster.bases[0].frames_of(client.session).len();
    assert_eq!(answers(&cluster, &client), (1..=5).map(applied).collect::<Vec<_>>());
    cluster.bases[0].clients_in = vec![resume(&client, 51, 3)];
    cluster.tick();
    let after = cluster.bases[0].frames_of(client.session).split_off(before);
    assert_eq!(after[0], ClientFrame::Ended { reason: "replaced".to_owned() });
    assert!(matches!(after[1], ClientFrame::Welcome { resumed: true, last_n: 5, .. }));
    assert!(matches!(after[2], ClientFrame::Own { .. }), "a new baseline");
    let again = after.iter().filter(|f| matches!(f, ClientFrame::Answer { .. })).count();
    assert_eq!(again, 2);
}

#[test]
fn a_wrong_secret_or_an_unknown_session_is_refused() {
    let mut cluster = Cluster::new();
    let mut client = login(&mut cluster, "ann");
    client.secret ^= 1;
    cluster.bases[0].clients_in = vec![resume(&client, 60, 0)];
    cluster.tick();
    let last = cluster.bases[0].clients.last().unwrap();
    assert!(matches!(last.what, ClientFrame::Refused { request: 60, .. }));
    assert_eq!(last.session, SessionId(0));
}

#[test]
fn a_session_without_a_client_sees_nobody_and_ends_after_a_while() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = vec![ClientEvent::Gone { session: client.session }];
    cluster.tick();
    let radii = cluster.owner(1).told(|m| match m {
        BaseToCell::Attach { radius, .. } => Some(*radius),
        _ => None,
    });
    assert_eq!(radii, [0], "the grant brought the first radius");
    cluster.ticks(SESSION_LINGER + 2);
    assert_eq!(cluster.bases[0].stats.sessions, 0);
    assert_eq!(cluster.bases[0].stats.entities, 1, "the entity stays");
}

#[test]
fn confirmed_own_fields_are_told_after_they_are_durable_and_a_restore_takes_nothing_of_them_back() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let known = cluster.bases[0].frames_of(client.session).len();
    let mood = Change::Prop(MOOD, Value::Int(3));
    cluster.owner(1).step(client.entity, vec![Change::Prop(NOTE, Value::Bytes(vec![4])), mood]);
    cluster.flush();
    assert_eq!(cluster.bases[0].frames_of(client.session).len(), known);
    cluster.sync();
    let told = cluster.bases[0].frames_of(client.session).split_off(known);
    let ClientFrame::Own { props, seq, .. } = &told[0] else { panic!("{told:?}") };
    assert_eq!(*props, [(NOTE, Value::Bytes(vec![4]))], "what is not durable is not confirmed");
    let confirmed = *seq;
    cluster.declare_dead(cell(1));
    cluster.ticks(3);
    let frames = cluster.bases[0].frames_of(client.session);
    let reset = frames.iter().find_map(|f| match f {
        ClientFrame::Reset { epoch, seq } => Some((*epoch, *seq)),
        _ => None,
    });
    assert_eq!(reset, Some((Epoch::of_grant(2), confirmed)));
}

fn view(client: &Client, epoch: u64, tick: u64) -> CellToBase {
    CellToBase::View(View {
        entity: client.entity,
        session: client.session,
        epoch: Epoch::of_grant(epoch),
        tick: Tick(tick),
        fresh: false,
        body: Bytes::from_static(b"seen"),
    })
}

#[test]
fn views_and_notices_of_the_owner_pass_and_those_of_ended_epochs_do_not() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let entity = client.entity;
    cluster.owner(1).say(entity, view(&client, 1, 5));
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.owner(1).say(entity, view(&client, 1, 6));
    cluster.owner(1).say(entity, CellToBase::Notice { entity, payload: Bytes::new() });
    cluster.ticks(2);
    cluster.owner(2).say(entity, view(&client, 2, 7));
    cluster.owner(2).say(entity, CellToBase::Notice { entity, payload: Bytes::new() });
    cluster.owner(1).say(entity, view(&client, 1, 8));
    cluster.owner(3).say(entity, view(&client, 2, 9));
    cluster.ticks(2);
    let frames = cluster.bases[0].frames_of(client.session);
    let seen: Vec<u64> = frames
        .iter()
        .filter_map(|f| match f {
            ClientFrame::View { tick, .. } => Some(tick.0),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [5, 6, 7], "the old owner's last piece stood behind its request");
    assert_eq!(frames.iter().filter(|f| matches!(f, ClientFrame::Notice(_))).count(), 1);
}

#[test]
fn the_newest_input_wins_and_waits_for_an_owner() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let input =
        |byte: u8| ClientEvent::Input { session: client.session, payload: Bytes::from(vec![byte]) };
    cluster.bases[0].clients_in = vec![input(1), input(2), input(3)];
    cluster.tick();
    let got = cluster.owner(1).told(|m| match m {
        BaseToCell::Input { payload, .. } => Some(payload.to_vec()),
        _ => None,
    });
    assert_eq!(got, [vec![3]]);
    assert_eq!(cluster.bases[0].refusals(Refused::InputReplaced), 2);
}

#[test]
fn the_end_of_an_entity_answers_what_is_open_and_then_ends_the_stream() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = (1..=2).map(|n| command(&client, n, 0)).collect();
    cluster.tick();
    let (session, outcome) = (client.session, CommandOutcome::Applied(vec![1]));
    let changes = vec![Change::Command(session, 1, outcome), Change::Destroyed];
    cluster.owner(1).step(client.entity, changes);
    cluster.ticks(2);
    let told = answers(&cluster, &client);
    assert_eq!(told, [applied(1), rejected(2, Rejection::NoSuchEntity)]);
    let frames = cluster.bases[0].frames_of(session);
    assert_eq!(*frames.last().unwrap(), ClientFrame::Ended { reason: "destroyed".to_owned() });
    assert_eq!(cluster.bases[0].stats.sessions, 0);
    let again = login(&mut cluster, "ann");
    assert_ne!(again.entity, client.entity, "the account plays a new one");
}

#[test]
fn a_logout_ends_the_session_for_good() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in = vec![ClientEvent::Logout { session: client.session }];
    cluster.ticks(2);
    cluster.bases[0].clients_in = vec![resume(&client, 90, 0)];
    cluster.tick();
    assert!(welcomed(&cluster, 90).is_none());
    let ends = cluster.bases[0].events.iter();
    assert_eq!(ends.filter(|e| matches!(e, Event::SessionClosed { .. })).count(), 1);
}
