//! Commands: each that is taken in gets exactly one answer, in order, after it is durable.

use crate::support::*;
use bytes::Bytes;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::{ANSWERS_MAX, UNACKNOWLEDGED_MAX};
use marchland_common::journal::Refused;
use marchland_common::msg::*;
use marchland_common::world::*;

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

/// A client need not be ours: one that never says which answers it has hears of each command all
/// the same, of those behind a refusal at their deadline.
#[test]
fn a_client_that_never_acknowledges_gets_an_answer_to_each_command() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let mut hidden = command(&client, 1, 0);
    if let ClientEvent::Command { method, .. } = &mut hidden {
        *method = HIDDEN;
    }
    let more = (2..=UNACKNOWLEDGED_MAX + 3).map(|n| command(&client, n, 0));
    cluster.bases[0].clients_in = [hidden].into_iter().chain(more).collect();
    cluster.ticks(2);
    let refused = [rejected(1, Rejection::NotExposed)];
    assert_eq!(answers(&cluster, &client), refused);
    assert!(cluster.owner(1).commands().is_empty(), "all wait for the acknowledgement");
    let deadline = cluster.bases[0].config.command_deadline;
    cluster.ticks(deadline + 2);
    let expired = (2..=UNACKNOWLEDGED_MAX).map(|n| (n, CommandOutcome::Expired));
    let busy = UNACKNOWLEDGED_MAX + 1..=UNACKNOWLEDGED_MAX + 3;
    let busy = busy.map(|n| rejected(n, Rejection::Busy));
    let expected: Vec<_> = refused.into_iter().chain(expired).chain(busy).collect();
    assert_eq!(answers(&cluster, &client), expected);
    assert!(cluster.owner(1).commands().is_empty());
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
