//! Sessions: one account, one entity, the newest login wins; what a client sees and misses.

use crate::support::*;
use bytes::Bytes;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::{SESSION_LINGER, account_slot};
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

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
            // Its keeper may be about to change: the client comes again.
            ClientFrame::NotYet { request: 3, reason } => (3, reason.clone()),
            other => panic!("not refused: {other:?}"),
        })
        .collect();
    assert_eq!(reasons.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(reasons[2].1.contains("base-2"), "names who keeps the account: {}", reasons[2].1);
    assert!(reasons[3].1.contains("kind 77") && reasons[4].1.contains("space 9"));
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
    piece(client, epoch, tick, false)
}

/// One that begins anew.
fn fresh(client: &Client, epoch: u64, tick: u64) -> CellToBase {
    piece(client, epoch, tick, true)
}

fn piece(client: &Client, epoch: u64, tick: u64, fresh: bool) -> CellToBase {
    CellToBase::View(View {
        entity: client.entity,
        session: client.session,
        epoch: Epoch::of_grant(epoch),
        tick: Tick(tick),
        fresh,
        body: Bytes::from_static(b"seen"),
    })
}

#[test]
fn views_and_notices_of_the_owner_pass_and_those_of_ended_epochs_do_not() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let entity = client.entity;
    cluster.owner(1).say(entity, fresh(&client, 1, 5));
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
    assert_eq!(seen(&frames), [5, 6, 7], "the old owner's last piece stood behind its request");
    assert_eq!(frames.iter().filter(|f| matches!(f, ClientFrame::Notice(_))).count(), 1);
}

fn seen(frames: &[ClientFrame]) -> Vec<u64> {
    let tick = |frame: &ClientFrame| match frame {
        ClientFrame::View { tick, .. } => Some(tick.0),
        _ => None,
    };
    frames.iter().filter_map(tick).collect()
}

fn attached(cluster: &mut Cluster, owner: u16) -> usize {
    cluster.owner(owner).told(|m| matches!(m, BaseToCell::Attach { .. }).then_some(())).len()
}

#[test]
fn a_client_that_comes_back_is_shown_nothing_that_goes_on_from_what_it_missed() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let entity = client.entity;
    cluster.owner(1).say(entity, view(&client, 1, 4));
    cluster.owner(1).say(entity, fresh(&client, 1, 5));
    cluster.tick();
    cluster.bases[0].clients_in = vec![ClientEvent::Gone { session: client.session }];
    cluster.tick();
    cluster.owner(1).say(entity, view(&client, 1, 6));
    cluster.bases[0].clients_in = vec![resume(&client, 50, 0)];
    cluster.tick();
    cluster.owner(1).say(entity, view(&client, 1, 7));
    cluster.ticks(2);
    cluster.owner(1).say(entity, fresh(&client, 1, 8));
    cluster.owner(1).say(entity, view(&client, 1, 9));
    cluster.ticks(2);
    assert_eq!(seen(&cluster.bases[0].frames_of(client.session)), [5, 8, 9]);
}

#[test]
fn where_a_piece_of_its_view_may_be_missing_a_client_waits_until_its_owner_begins_anew() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let (entity, base) = (client.entity, cluster.bases[0].node);
    cluster.owner(1).say(entity, fresh(&client, 1, 5));
    cluster.tick();
    // A bundle is lost, and the next one tells that it is.
    *cluster.owner(1).n.get_mut(&base).unwrap() += 1;
    cluster.owner(1).say(entity, view(&client, 1, 6));
    cluster.tick();
    cluster.owner(1).say(entity, view(&client, 1, 7));
    let before = attached(&mut cluster, 1);
    // It is asked for until it does, whatever is lost on the way.
    cluster.ticks(100);
    assert!(attached(&mut cluster, 1) > before + 1);
    cluster.owner(1).say(entity, fresh(&client, 1, 8));
    cluster.owner(1).say(entity, view(&client, 1, 9));
    cluster.ticks(2);
    assert_eq!(seen(&cluster.bases[0].frames_of(client.session)), [5, 8, 9]);
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
