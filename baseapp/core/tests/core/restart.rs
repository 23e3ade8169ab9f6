//! A base that dies at any moment comes back with everything that it told anybody, and with
//! nothing twice.

use crate::support::*;
use bytes::Bytes;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::{LogRecord, Named, Recovered, replay};
use marchland_baseapp_core::{ids_from, losses_before};
use marchland_common::cluster::{Member, MemberState};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;
use std::collections::BTreeSet;

/// A busy while: births, a client, commands, a handoff, messages, a spawn, an end. Returns the
/// durable mark after every moment in which the disk was done.
pub fn busy() -> (Cluster, Vec<u64>) {
    let mut cluster = Cluster::with(1, |config| config.id_reserve = 3);
    let mut marks = Vec::new();
    let (a, b, c) = (cluster.born(), cluster.born_at(0, east()), cluster.born());
    let login = ClientEvent::Login {
        request: 1,
        account: "ann".to_owned(),
        kind: HERO,
        place: west(),
        radius: 5_000,
    };
    cluster.bases[0].clients_in.push(login);
    cluster.ticks(2);
    let welcome = cluster.bases[0].clients[0].clone();
    let ClientFrame::Welcome { entity: avatar, .. } = welcome.what else { panic!() };
    let session = welcome.session;
    for round in 1..=6u64 {
        let method = if round == 3 { HIDDEN } else { POKE };
        let args = Bytes::new();
        let acknowledged = if round > 3 { 3 } else { 0 };
        let n = round;
        cluster.bases[0].clients_in.push(ClientEvent::Command {
            session,
            n,
            entity: avatar,
            method,
            args,
            ttl: 0,
            acknowledged,
        });
        let note = Change::Prop(NOTE, Value::Bytes(vec![round as u8]));
        cluster.owner(1).step(a, vec![note]);
        match round {
            1 => message(&mut cluster, a, Address::Entity(b), 10),
            2 => message(&mut cluster, a, Address::Spawn { kind: HERO, place: east() }, 5),
            4 => {
                let tick = cluster.tick + 1;
                cluster.owner(1).prepare(c, cell(2), tick, HandoffWhy::Border);
            }
            5 => {
                cluster.owner(2).step(b, vec![Change::Destroyed]);
            }
            _ => {}
        }
        cluster.tick();
        marks.push(cluster.bases[0].durable);
        run_all(&mut cluster, avatar, a, b);
    }
    cluster.ticks(4);
    marks.push(cluster.bases[0].durable);
    (cluster, marks)
}

fn message(cluster: &mut Cluster, from: EntityId, to: Address, value: i64) {
    let sent = Tick(cluster.tick);
    let state = cluster.owner(1).copies[&from].state.clone();
    let held = Value::Int(state.props[0].int() - value);
    let out_seq = state.outbox.last + 1;
    let message = OutMessage { out_seq, to, payload: Vec::new(), value, sent };
    cluster.owner(1).step(from, vec![Change::Prop(GOLD, held), Change::Sent(message)]);
}

fn run_all(cluster: &mut Cluster, avatar: EntityId, a: EntityId, b: EntityId) {
    for command in cluster.owner(1).commands() {
        let (session, n) = (command.session, command.n);
        let owner = cluster.owner(1);
        let mut state = owner.copies[&avatar].state.clone();
        state.commands.acknowledge(session, command.acknowledged);
        if state.commands.check(session, n) == CommandVerdict::New {
            let outcome = CommandOutcome::Applied(vec![n as u8]);
            let ack = Change::Acknowledged(session, command.acknowledged);
            owner.step(avatar, vec![ack, Change::Command(session, n, outcome)]);
        }
    }
    let inbox = cluster.owner(2).inbox();
    for msg in inbox.iter().filter(|m| m.entity == b) {
        let owner = cluster.owner(2);
        let Some(copy) = owner.copies.get(&b) else { continue };
        if copy.state.inbox.check(msg.source, msg.out_seq) == InboxVerdict::New {
            let held = Value::Int(copy.state.props[0].int() + msg.value);
            let taken = Change::Received(a, msg.out_seq, MessageOutcome::Applied(Vec::new()));
            owner.step(b, vec![Change::Prop(GOLD, held), taken]);
        }
    }
    for (out_seq, _) in cluster.owner(1).answers() {
        let owner = cluster.owner(1);
        if owner.copies[&a].state.outbox.open.contains_key(&out_seq) {
            owner.step(a, vec![Change::Answered(out_seq)]);
        }
    }
}

pub fn reborn(cluster: &Cluster, records: usize) -> Cluster {
    let mut again = Cluster::with(1, |config| config.id_reserve = 3);
    again.owners = cluster.owners.clone();
    again.tick = cluster.tick;
    again.bases[0].log = cluster.bases[0].log.clone();
    let kinds = again.kinds.clone();
    again.bases[0].restart(&kinds, records);
    let node = again.bases[0].node;
    again.members.retain(|m| m.node.name != node.name);
    again.members.push(Member { node, state: MemberState::Serving });
    again.announce();
    again
}

#[test]
fn reading_the_log_back_gives_the_live_state_and_so_does_a_checkpoint() {
    let (cluster, _) = busy();
    let base = &cluster.bases[0];
    let from_log = replay(&cluster.kinds, base.log.iter()).unwrap();
    let from_checkpoint = replay(&cluster.kinds, base.core.checkpoint()).unwrap();
    assert_eq!(from_log, from_checkpoint);
    assert_eq!(from_log.last, base.core.last_lsn());
    assert_eq!(from_log.store.entities.len(), base.stats.entities);
}

#[test]
fn a_checkpoint_and_the_records_after_it_are_the_whole_log() {
    let (mut cluster, _) = busy();
    let image: Vec<Vec<u8>> = cluster.bases[0].core.checkpoint().collect();
    let at = cluster.bases[0].log.len();
    cluster.born();
    cluster.born();
    let base = &cluster.bases[0];
    let tail = base.log[at..].iter().cloned();
    let from_image = replay(&cluster.kinds, image.into_iter().chain(tail)).unwrap();
    assert_eq!(from_image, replay(&cluster.kinds, base.log.iter()).unwrap());
}

#[test]
fn every_prefix_of_the_log_reads_back_and_a_torn_checkpoint_does_not() {
    let (cluster, _) = busy();
    let log = &cluster.bases[0].log;
    for records in 0..=log.len() {
        let recovered = replay(&cluster.kinds, log[..records].iter()).unwrap();
        assert_eq!(recovered.last, Lsn(records as u64));
    }
    let image: Vec<Vec<u8>> = cluster.bases[0].core.checkpoint().collect();
    for records in 1..image.len() {
        assert!(replay(&cluster.kinds, image[..records].iter()).is_err());
    }
    let mut other = log[0].clone();
    other[0] = 9;
    let error = replay(&cluster.kinds, [other].iter()).unwrap_err();
    assert!(error.to_string().contains("version 9"));
    assert!(LogRecord::decode(&[]).is_err());
}

#[test]
fn after_a_crash_at_any_moment_nothing_that_anybody_was_told_is_lost() {
    let (cluster, marks) = busy();
    let log = &cluster.bases[0].log;
    // Every answer that was told, and how far the disk was by then.
    for (at, durable) in marks.iter().enumerate() {
        let upto = marks.get(at + 1).copied().unwrap_or(log.len() as u64);
        for records in *durable..=upto {
            let kept = replay(&cluster.kinds, log[..records as usize].iter()).unwrap();
            let mut again = reborn(&cluster, records as usize);
            again.ticks(3);
            let live = replay(&cluster.kinds, again.bases[0].log.iter()).unwrap();
            for (id, lineage) in &kept.store.entities {
                let Some(now) = live.store.entities.get(id) else { continue };
                assert!(now.epoch >= lineage.epoch && now.seq >= lineage.seq);
            }
        }
    }
}

#[test]
fn after_a_crash_at_any_moment_no_id_and_no_session_is_given_again() {
    let (cluster, _) = busy();
    let all = replay(&cluster.kinds, cluster.bases[0].log.iter()).unwrap();
    let born: BTreeSet<EntityId> = cluster.bases[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Created { entity, .. } => Some(*entity),
            _ => None,
        })
        .collect();
    assert!(born.len() >= 5 && !all.store.sessions.is_empty());
    for records in 0..=cluster.bases[0].log.len() {
        // Whatever was durable then was told; what was only written may be given again.
        let kept = replay(&cluster.kinds, cluster.bases[0].log[..records].iter()).unwrap();
        let mut again = reborn(&cluster, records);
        again.tick();
        let known: BTreeSet<EntityId> = kept.store.entities.keys().copied().collect();
        for _ in 0..2 {
            let entity = again.born();
            let reserved = kept.store.slots.get(&entity.slot()).map_or(0, |row| row.reserved);
            assert!(!known.contains(&entity) && entity.counter() > reserved);
        }
    }
}

#[test]
fn a_restarted_base_asks_what_stands_where_and_goes_on_from_there() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![1]))]);
    cluster.flush();
    // The step is written and not durable when the base dies.
    let durable = cluster.bases[0].durable as usize;
    let mut again = reborn(&cluster, durable);
    again.owner(1).got.clear();
    again.owner(1).lists = false;
    again.ticks(1);
    let asked = again.owner(1).told(|m| matches!(m, BaseToCell::Resync { .. }).then_some(()));
    assert_eq!(asked.len(), 1);
    let copy = again.owner(1).copies[&entity].clone();
    let (epoch, seq, digest) = (copy.epoch, copy.seq, copy.digest);
    again.owner(1).say(entity, CellToBase::Holding { entity, epoch, seq, digest });
    again.tick();
    let wanted =
        again.owner(1).told(|m| matches!(m, BaseToCell::NeedSnapshot { .. }).then_some(()));
    assert_eq!(wanted.len(), 1);
    again.owner(1).snapshot(entity);
    again.tick();
    let brief = again.bases[0].core.brief(entity).unwrap();
    assert_eq!(brief.durable[1].1, Value::Bytes(vec![1]));
    assert_eq!(brief.epoch, Epoch::of_grant(1), "its owner stayed its owner");
}

#[test]
fn a_grant_that_was_only_written_is_as_if_it_had_never_been_and_a_durable_one_is_given_again() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let tick = cluster.tick + 1;
    let prepare = cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.flush();
    let written = cluster.bases[0].log.len();
    let mut before = reborn(&cluster, written - 1);
    before.ticks(2);
    before.owner(1).say(entity, CellToBase::Prepare(prepare));
    before.ticks(2);
    assert!(before.owner(2).holds(entity), "asked again, it commits");
    let mut after = reborn(&cluster, written);
    after.ticks(2);
    assert!(after.owner(2).holds(entity), "granted again from the log");
    after.ticks(2);
    assert!(!after.owner(1).holds(entity));
}

#[test]
fn a_client_comes_back_to_a_restarted_base_and_misses_no_answer() {
    let (cluster, _) = busy();
    let welcome = cluster.bases[0].clients[0].clone();
    let ClientFrame::Welcome { secret, .. } = welcome.what else { panic!() };
    let session = welcome.session;
    let told: Vec<u64> = cluster.bases[0]
        .frames_of(session)
        .iter()
        .filter_map(|frame| match frame {
            ClientFrame::Answer { n, .. } => Some(*n),
            _ => None,
        })
        .collect();
    assert_eq!(told, [1, 2, 3, 4, 5, 6]);
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.tick();
    again.bases[0].clients_in.push(ClientEvent::Resume {
        request: 9,
        session,
        secret,
        acknowledged: 4,
        radius: 1_000,
    });
    again.tick();
    let frames = again.bases[0].frames_of(session);
    assert!(matches!(frames[0], ClientFrame::Welcome { resumed: true, last_n: 6, .. }));
    let answers: Vec<u64> = frames
        .iter()
        .filter_map(|frame| match frame {
            ClientFrame::Answer { n, .. } => Some(*n),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [5, 6]);
}

#[test]
fn a_client_that_acknowledges_nothing_after_a_restart_is_told_that_its_commands_wait() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let mut hidden = command(&client, 1, 0);
    if let ClientEvent::Command { method, .. } = &mut hidden {
        *method = HIDDEN;
    }
    cluster.bases[0].clients_in.push(hidden);
    cluster.ticks(2);
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.tick();
    again.bases[0].clients_in = vec![resume(&client, 9, 0)];
    again.tick();
    again.bases[0].clients_in = vec![command(&client, 2, 0)];
    let deadline = again.bases[0].config.command_deadline;
    again.ticks(deadline);
    let told = answers(&again, &client);
    assert_eq!(told, [rejected(1, Rejection::NotExposed)]);
    assert!(again.owner(1).commands().is_empty());
    let is_ended = |frame: &ClientFrame| matches!(frame, ClientFrame::Ended { .. });
    assert!(!again.bases[0].frames_of(client.session).iter().any(is_ended));
    again.ticks(4);
    assert!(again.bases[0].frames_of(client.session).last().is_some_and(is_ended));
    // A client that comes back and says what it has gets its answer.
    again.bases[0].clients_in = vec![resume(&client, 10, 1)];
    again.ticks(2);
    run_commands(again.owner(1), client.entity);
    again.ticks(2);
    assert_eq!(answers(&again, &client).last(), Some(&applied(2)));
}

#[test]
fn a_refused_request_stays_refused_after_a_restart() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).accepting = false;
    cluster.tick();
    let tick = cluster.tick + 1;
    let prepare = cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.tick();
    cluster.owner(2).accepting = true;
    let mut again = reborn(&cluster, cluster.bases[0].log.len());
    again.ticks(2);
    again.owner(1).say(entity, CellToBase::Prepare(prepare));
    again.ticks(2);
    assert!(!again.owner(2).holds(entity) && again.owner(1).holds(entity));
}

#[test]
fn a_snapshot_in_mid_run_goes_on_exactly_as_the_original() {
    let (mut cluster, _) = busy();
    let entity = cluster.born();
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![1]))]);
    cluster.flush();
    let bytes = cluster.bases[0].core.snapshot();
    let mut copy = BaseCore::restore(&bytes, cluster.kinds.clone()).unwrap();
    assert_eq!(copy.digest(), cluster.bases[0].core.digest());
    let mut last = cluster.bases[0].durable;
    for n in 0..200u64 {
        let tick = Tick(cluster.tick + 1 + n / 2);
        let moment = if n % 2 == 0 { Moment::Flush } else { Moment::Release(1) };
        last += 1;
        let input = BaseInput {
            tick,
            moment,
            dropped: None,
            durable: Some(Lsn(last)),
            map: Vec::new(),
            frames: Vec::new(),
            clients: Vec::new(),
            orders: Vec::new(),
        };
        let one = cluster.bases[0].core.tick(input.clone());
        assert_eq!(one, copy.tick(input), "moment {n}");
        assert_eq!(cluster.bases[0].core.digest(), copy.digest(), "moment {n}");
    }
    assert_eq!(cluster.bases[0].core.snapshot(), copy.snapshot());
    assert!(BaseCore::restore(&bytes[..bytes.len() / 2], cluster.kinds.clone()).is_err());
}

#[test]
fn a_life_says_how_far_it_read_the_log() {
    let (cluster, _) = busy();
    let records = cluster.bases[0].log.len();
    let mut again = reborn(&cluster, records);
    again.tick();
    assert!(again.bases[0].events.contains(&Event::Recovered { lsn: Lsn(records as u64) }));
    let fresh = Cluster::new();
    let first = |e: &Event| matches!(e, Event::Recovered { .. });
    assert!(!fresh.bases[0].events.iter().any(first));
    assert_eq!(Recovered::default().last, Lsn(0));
}

/// The whole cluster was off: cells come back as the lives that are given, or not at all.
fn begun_again(cluster: &Cluster, lives: [Option<Node>; 3]) -> Cluster {
    let mut again = reborn(cluster, cluster.bases[0].log.len());
    again.owners = lives.into_iter().flatten().map(|node| (node, Owner::new(node))).collect();
    let is_cell = |member: &Member| member.node.name.kind == NodeKind::Cell;
    again.members.retain(|member| !is_cell(member));
    let lives = lives.into_iter().flatten();
    again.members.extend(lives.map(|node| Member { node, state: MemberState::Serving }));
    again.announce();
    again
}

fn later(number: u16) -> Node {
    Node::new(NodeKind::Cell, number, 5_000 + u64::from(number))
}

#[test]
fn after_everything_was_off_entities_go_on_where_their_owners_names_are_and_nobody_gave_a_verdict()
{
    let mut cluster = Cluster::new();
    let (a, b) = (cluster.born(), cluster.born_at(0, east()));
    cluster.owner(1).step(a, vec![Change::Prop(NOTE, Value::Bytes(vec![7]))]);
    cluster.tick();
    let mut again = begun_again(&cluster, [Some(later(1)), Some(later(2)), Some(later(3))]);
    again.lives = [later(1), later(2), later(3)];
    again.version = 2;
    again.announce();
    again.ticks(3);
    assert!(again.owners[&later(1)].holds(a) && again.owners[&later(2)].holds(b));
    let brief = again.bases[0].core.brief(a).unwrap();
    assert_eq!(brief.durable[1].1, Value::Bytes(vec![7]));
    assert_eq!(brief.epoch, Epoch::of_grant(2));
    // The life before is fenced if it was only cut off.
    let refused = again.bases[0].refusals(Refused::StaleIncarnation);
    let mut zombie = cluster.owners[&cell(1)].clone();
    zombie.step(a, vec![Change::Prop(NOTE, Value::Bytes(vec![8]))]);
    again.owners.insert(cell(1), zombie);
    again.ticks(2);
    assert!(again.bases[0].refusals(Refused::StaleIncarnation) > refused);
    assert_eq!(again.bases[0].core.brief(a).unwrap().durable[1].1, Value::Bytes(vec![7]));
}

#[test]
fn an_owner_that_only_the_log_names_is_waited_for_but_not_for_ever() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.tick();
    let mut again = begun_again(&cluster, [None, Some(cell(2)), Some(cell(3))]);
    let regranted = |again: &Cluster| again.bases[0].core.brief(entity).unwrap().owner != cell(1);
    let mut waited = 0u64;
    while !regranted(&again) {
        again.tick();
        waited += 1;
        assert!(waited < 1_000, "it waits for ever");
    }
    assert!(waited >= 200, "{waited}");
    again.ticks(2);
    assert!([2, 3].iter().any(|n| again.owners[&cell(*n)].holds(entity)));
}

#[test]
fn who_is_registered_or_was_heard_is_not_given_up_for_its_absence() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.tick();
    // Registered, and says nothing: that is for a verdict to decide.
    let mut silent = begun_again(&cluster, [Some(cell(1)), Some(cell(2)), Some(cell(3))]);
    silent.owners.remove(&cell(1));
    silent.ticks(500);
    assert_eq!(silent.bases[0].core.brief(entity).unwrap().owner, cell(1));
    // Heard, and its lease is lost for long.
    let mut heard = reborn(&cluster, cluster.bases[0].log.len());
    heard.ticks(2);
    heard.members.retain(|member| member.node != cell(1));
    heard.announce();
    heard.ticks(500);
    let brief = heard.bases[0].core.brief(entity).unwrap();
    assert_eq!((brief.owner, brief.epoch), (cell(1), Epoch::of_grant(1)));
}

#[test]
fn after_an_accepted_loss_ids_and_sessions_begin_where_none_ever_were_and_cells_let_go_of_the_lost()
{
    let mut before = Cluster::new();
    let lost = before.born();
    let session = login(&mut before, "ann").session;
    let from = ids_from(1).unwrap();
    assert!(lost.counter() < from && losses_before(lost.counter()) == 0);
    // The log is gone; cells still hold what it spoke of.
    let mut after = Cluster::with(1, |config| {
        config.ids_from = from;
        config.node.incarnation.0 += 1_000;
    });
    assert!(after.born().counter() > from);
    let again = login(&mut after, "ann").session;
    assert!(again.0 >> 8 > from && session.0 >> 8 < from);
    let copy = before.owners[&cell(1)].copies[&lost].clone();
    let (epoch, seq, digest) = (copy.epoch, copy.seq, copy.digest);
    after.bases[0].proof.gone.insert(lost);
    after.owner(1).say(lost, CellToBase::Holding { entity: lost, epoch, seq, digest });
    let mark = after.mark();
    after.ticks(2);
    let fenced = after.said(mark, |msg| match msg {
        Msg::BaseToCell(BaseToCell::Fenced { entity, .. }) => Some(*entity),
        _ => None,
    });
    assert_eq!(fenced, [(cell(1), lost)]);
    // A restart from the log that began then goes on in the same range.
    let mut third = Cluster::with(1, |_| {});
    let records = after.bases[0].log.clone();
    let rows = replay(&third.kinds, records.iter()).unwrap().store.slots;
    assert!(rows.values().all(|row| losses_before(row.reserved) == 1));
    third.bases[0].log = records;
    let kinds = third.kinds.clone();
    let all = third.bases[0].log.len();
    third.bases[0].restart(&kinds, all);
    third.bases[0].config.ids_from = 0;
    third.announce();
    third.tick();
    assert!(third.born().counter() > from);
    assert!(ids_from(127).is_some() && ids_from(128).is_none());
}

#[test]
fn what_a_log_names_of_its_store_is_found_whatever_became_of_it() {
    let (cluster, _) = busy();
    let log = &cluster.bases[0].log;
    let mut named = Named::default();
    log.iter().for_each(|record| named.add(record));
    assert_eq!(named.revision, cell(2).incarnation.0, "the owner after the handoff");
    assert!(named.tick > Tick(1_000) && named.tick.0 <= cluster.tick);
    let mut image = Named::default();
    cluster.bases[0].core.checkpoint().for_each(|part| image.add(&part));
    let store = replay(&cluster.kinds, log.iter()).unwrap().store;
    assert_eq!(image.revision, Named::by(&store).revision);
    named.add(b"no record");
    assert_eq!(Named::by(&Recovered::default().store), Named::default());
}
