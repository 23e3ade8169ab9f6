//! Slots move between bases: the keeper before, the keeper after, and what becomes of a move when
//! either dies, or nobody says how it ends.

use crate::support::*;
use marchland_baseapp_core::account_slot;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::{LogRecord, replay};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

/// An account that the first base keeps.
fn ann() -> String {
    let fits = |a: &String| account_slot(a).0.is_multiple_of(2);
    (0..).map(|n| format!("ann{n}")).find(fits).unwrap()
}

#[test]
fn a_slot_moves_whole_and_its_entities_go_on_with_their_owner_and_epoch() {
    let (mut cluster, entity) = one_entity();
    let before = cluster.bases[0].core.brief(entity).unwrap();
    hold(&mut cluster, entity.slot(), 1);
    assert_eq!(cluster.bases[1].core.brief(entity), None, "held is not served");
    settle(&mut cluster, entity.slot(), 1);
    assert_eq!(cluster.bases[0].core.brief(entity), None);
    assert_eq!(cluster.bases[0].stats.entities, 0);
    let after = cluster.bases[1].core.brief(entity).unwrap();
    assert_eq!((after.owner, after.epoch, after.seq), (before.owner, before.epoch, before.seq));
    note(&mut cluster, entity, 2);
    cluster.tick();
    assert_eq!(text(&cluster, 1, entity), Some(vec![2]));
    let gives = |e: &Event| matches!(e, Event::SlotGiven { slot, .. } if *slot == entity.slot());
    assert_eq!(cluster.bases[0].events.iter().filter(|e| gives(e)).count(), 1);
    assert!(cluster.bases[0].stats.moves.is_empty());
}

#[test]
fn until_its_key_says_whose_it_is_nobody_writes_about_a_slot_however_long_that_takes() {
    let (mut cluster, entity) = one_entity();
    let other = cluster.born_at(1, east());
    hold(&mut cluster, entity.slot(), 1);
    let (from, to) = (cluster.bases[0].log.len(), cluster.bases[1].log.len());
    let mark = cluster.mark();
    send(&mut cluster, 2, other, entity, 7);
    // Who does not stand still, whatever it said before, is not heard.
    cluster.owner(1).closed.clear();
    note(&mut cluster, entity, 9);
    let copy = cluster.owner(1).copies[&entity].clone();
    let (epoch, seq, digest) = (copy.epoch, copy.seq, copy.digest);
    cluster.owner(1).say(entity, CellToBase::Holding { entity, epoch, seq, digest });
    let tick = cluster.tick;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
    cluster.ticks(200);
    let records = |at: usize, since: usize| cluster.bases[at].records()[since..].to_vec();
    let slot = entity.slot();
    assert!(!records(0, from).iter().chain(&records(1, to)).any(|r| about(r, slot)));
    assert!(cluster.bases[0].refusals(Refused::WrongBase) > 0);
    let answered =
        |m: &Msg| matches!(m, Msg::BaseToBase(BaseToBase::Delivered { .. })).then_some(());
    assert!(cluster.said(mark, answered).is_empty());
    settle(&mut cluster, slot, 1);
    // The next keeper asked for what it has not heard of.
    cluster.owner(1).snapshot(entity);
    cluster.ticks(50);
    run_inbox(cluster.owner(1), entity, taken);
    cluster.ticks(50);
    let took = |e: &Event| matches!(e, Event::MessageTaken { entity: of, .. } if *of == entity);
    assert!(cluster.bases[1].events.iter().any(took), "the message found the next keeper");
}

#[test]
fn a_move_that_is_called_off_leaves_everything_with_its_keeper() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    settle(&mut cluster, entity.slot(), 0);
    note(&mut cluster, entity, 3);
    cluster.tick();
    assert_eq!(text(&cluster, 0, entity), Some(vec![3]));
    assert_eq!(cluster.bases[1].core.brief(entity), None);
    let void = LogRecord::SlotDropped { slot: entity.slot() };
    assert!(cluster.bases[1].records().contains(&void));
    hold(&mut cluster, entity.slot(), 1);
    settle(&mut cluster, entity.slot(), 1);
    assert_eq!(text(&cluster, 1, entity), Some(vec![3]), "what came first is not what counts");
}

#[test]
fn a_keeper_that_comes_back_with_a_frozen_slot_keeps_it_frozen_until_a_higher_term() {
    for to in [0, 1] {
        let (mut cluster, entity) = one_entity();
        hold(&mut cluster, entity.slot(), 1);
        let records = cluster.bases[0].log.len();
        restart(&mut cluster, 0, records);
        let mark = cluster.bases[0].log.len();
        cluster.ticks(40);
        assert!(!cluster.bases[0].records()[mark..].iter().any(|r| about(r, entity.slot())));
        assert!(is_held(&cluster, entity.slot()), "it asked again");
        settle(&mut cluster, entity.slot(), to);
        note(&mut cluster, entity, 4);
        cluster.ticks(2);
        assert_eq!(text(&cluster, to, entity), Some(vec![4]));
        assert_eq!(text(&cluster, 1 - to, entity), None);
    }
}

#[test]
fn a_keeper_that_was_away_during_the_commit_gives_the_slot_away_when_it_is_back() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    write_key(&mut cluster, entity.slot(), 1);
    let records = cluster.bases[0].log.len();
    restart(&mut cluster, 0, records);
    cluster.ticks(3);
    assert_eq!(cluster.bases[0].stats.entities, 0);
    assert_eq!(text(&cluster, 1, entity), Some(vec![1]));
}

/// When the keeper is killed in the midst of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Killed {
    BeforeItFroze,
    AfterThat,
    AfterItGaveTheSlotAway,
}

/// The keeper of an entity's slot, killed and back with its log; the cellapps let the slot's
/// entities stand still for the life before, and believe that the slot is still this base's.
fn back_after(killed: Killed) -> (Cluster, EntityId) {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    let believed = cluster.slots.clone();
    if killed == Killed::BeforeItFroze {
        give(&mut cluster, slot, 1);
        cluster.tick();
    } else {
        hold(&mut cluster, slot, 1);
    }
    if killed == Killed::AfterItGaveTheSlotAway {
        write_key(&mut cluster, slot, 1);
        tell_keys(&mut cluster, 0);
        cluster.ticks(3);
    }
    let records = cluster.bases[0].log.len();
    restart(&mut cluster, 0, records);
    cluster.bases[1].map.clear();
    cluster.slots = believed;
    (cluster, entity)
}

#[test]
fn a_keeper_that_comes_back_lets_entities_go_on_only_of_a_slot_that_it_keeps_and_gives_to_nobody() {
    for killed in [Killed::BeforeItFroze, Killed::AfterThat, Killed::AfterItGaveTheSlotAway] {
        let (mut cluster, entity) = back_after(killed);
        assert!(cluster.owner(1).closed.contains_key(&entity.slot()));
        cluster.ticks(20);
        let stands = cluster.owner(1).closed.contains_key(&entity.slot());
        assert_eq!(stands, killed != Killed::BeforeItFroze, "killed {killed:?}");
    }
}

#[test]
fn a_cellapp_that_may_run_frozen_entities_gets_no_further_with_its_window() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    // Another life is at work there, which has promised nothing.
    let records = cluster.bases[0].log.len();
    cluster.owner(2).closed.clear();
    cluster.owner(2).deaf = true;
    restart(&mut cluster, 0, records);
    let node = cluster.bases[0].node;
    cluster.ticks(20);
    assert!(cluster.owner(1).durable[&node].is_some(), "it stands still, and said so");
    assert_eq!(cluster.owner(2).durable.get(&node).copied().flatten(), None);
    cluster.owner(2).deaf = false;
    cluster.ticks(20);
    assert!(cluster.owner(2).durable[&node].is_some());
}

#[test]
fn a_slot_is_not_frozen_while_a_cellapp_may_still_run_it_unless_that_one_is_dead() {
    let (mut cluster, entity) = one_entity();
    cluster.owner(3).talks = false;
    give(&mut cluster, entity.slot(), 1);
    cluster.ticks(50);
    assert_eq!(stage(&cluster, entity.slot()), Some(MoveStage::Closing));
    cluster.owner(1).closed.clear();
    note(&mut cluster, entity, 5);
    cluster.tick();
    assert_eq!(text(&cluster, 0, entity), Some(vec![5]), "steps count until then");
    cluster.declare_dead(cell(3));
    cluster.ticks(20);
    assert!(is_held(&cluster, entity.slot()));
}

#[test]
fn a_next_keeper_that_comes_back_without_some_pieces_gets_them_again() {
    let mut cluster = Cluster::with(2, |_| {});
    let entity = cluster.born_at(0, west());
    let large = Value::Bytes(vec![7; 60_000]);
    for _ in 0..3 {
        cluster.owner(1).step(entity, vec![Change::Prop(NOTE, large.clone())]);
        cluster.tick();
    }
    hold(&mut cluster, entity.slot(), 1);
    let chunks = |cluster: &Cluster| {
        let records = cluster.bases[1].records().into_iter();
        records.filter(is_chunk).count()
    };
    assert!(chunks(&cluster) >= 2);
    for lost in 1..=chunks(&cluster) {
        let mut again = Cluster { bases: Vec::new(), ..copy_of(&cluster) };
        again.bases = cluster.bases.iter().map(base_again).collect();
        let all = again.bases[1].log.len();
        let (first, second) = (again.bases[0].log.len(), all - lost);
        restart(&mut again, 0, first);
        restart(&mut again, 1, second);
        again.ticks(60);
        assert!(is_held(&again, entity.slot()), "without {lost}");
        settle(&mut again, entity.slot(), 1);
        assert_eq!(text(&again, 1, entity).map(|t| t.len()), Some(60_000));
    }
}

/// What an earlier life of the next keeper had says nothing of the present one.
#[test]
fn a_slot_is_held_by_the_life_that_said_so_and_by_no_later_one_until_it_holds_all_again() {
    let (cluster, entity) = one_entity();
    let before = cluster.bases[1].log.len();
    for comes_back_with in [0, before, usize::MAX] {
        let (mut cluster, entity) = (one_entity().0, entity);
        hold(&mut cluster, entity.slot(), 1);
        let kept = comes_back_with.min(cluster.bases[1].log.len());
        let has_image = kept == cluster.bases[1].log.len();
        restart(&mut cluster, 1, kept);
        cluster.tick();
        let copying = Some(MoveStage::Copying);
        assert_eq!(stage(&cluster, entity.slot()), copying, "came back with {kept} records");
        let mut ticks = 0;
        while !is_held(&cluster, entity.slot()) {
            cluster.tick();
            ticks += 1;
            assert!(ticks < 30, "never held again: came back with {kept} records");
        }
        let durable = cluster.bases[1].log[..cluster.bases[1].durable as usize].iter();
        let imports = replay(&cluster.kinds, durable).unwrap().store.imports;
        assert!(imports.contains_key(&entity.slot()), "held is on the record");
        let again = cluster.bases[1].records()[kept..].iter().any(is_chunk);
        assert_eq!(again, !has_image, "who kept its log is given nothing twice");
        settle(&mut cluster, entity.slot(), 1);
        assert_eq!(text(&cluster, 1, entity), Some(vec![1]));
    }
}

#[test]
fn a_slot_is_not_held_by_who_was_given_up_or_is_not_there() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    let (life, members) = (cluster.bases[1].node, cluster.members.clone());
    cluster.members.retain(|m| m.node != life);
    cluster.announce();
    cluster.tick();
    assert_eq!(stage(&cluster, entity.slot()), Some(MoveStage::Copying));
    cluster.members = members;
    cluster.announce();
    cluster.tick();
    assert!(is_held(&cluster, entity.slot()), "it is the same life");
    cluster.declare_dead(life);
    cluster.tick();
    assert_eq!(stage(&cluster, entity.slot()), Some(MoveStage::Copying));
}

fn is_chunk(record: &LogRecord) -> bool {
    matches!(record, LogRecord::SlotChunk(_))
}

fn copy_of(cluster: &Cluster) -> Cluster {
    let mut copy = Cluster::with(2, |_| {});
    copy.tick = cluster.tick;
    copy.owners = cluster.owners.clone();
    copy
}

fn base_again(base: &Base) -> Base {
    let recovered = replay(&base.kinds, base.log.iter()).unwrap();
    let mut again = Base::new(base.config.clone(), &base.kinds, recovered);
    again.log = base.log.clone();
    again.durable = base.durable;
    again
}

#[test]
fn a_next_keeper_that_dies_before_it_took_the_slot_takes_it_when_it_is_back() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    write_key(&mut cluster, entity.slot(), 1);
    tell_keys(&mut cluster, 0);
    cluster.ticks(2);
    assert_eq!(text(&cluster, 0, entity), None);
    let durable = cluster.bases[1].durable as usize;
    restart(&mut cluster, 1, durable);
    cluster.ticks(3);
    cluster.owners.values_mut().for_each(Owner::tell_opened);
    cluster.ticks(12);
    assert_eq!(text(&cluster, 1, entity), Some(vec![1]));
    assert!(cluster.owner(1).closed.is_empty(), "its cellapps heard of it");
}

#[test]
fn a_checkpoint_holds_what_leaves_and_what_came() {
    let (mut cluster, entity) = one_entity();
    hold(&mut cluster, entity.slot(), 1);
    for base in &cluster.bases {
        let from_log = replay(&cluster.kinds, base.log.iter()).unwrap();
        let from_checkpoint = replay(&cluster.kinds, base.core.checkpoint()).unwrap();
        assert_eq!(from_log, from_checkpoint);
        let going = from_log.store.leaving.len() + from_log.store.imports.len();
        assert_eq!(going, 1);
    }
    settle(&mut cluster, entity.slot(), 1);
    for base in &cluster.bases {
        let from_log = replay(&cluster.kinds, base.log.iter()).unwrap();
        assert_eq!(from_log, replay(&cluster.kinds, base.core.checkpoint()).unwrap());
    }
}

#[test]
fn no_id_and_no_session_of_a_slot_is_given_again_by_its_next_keeper() {
    let mut cluster = Cluster::with(2, |config| config.id_reserve = 3);
    let client = login(&mut cluster, &ann());
    let slot = client.session.slot();
    let entity = client.entity;
    hold(&mut cluster, slot, 1);
    settle(&mut cluster, slot, 1);
    cluster.owner(1).step(entity, vec![Change::Prop(GOLD, Value::Int(95)), Change::Sent(spawn())]);
    let login = login_event(77, &ann());
    cluster.bases[1].clients_in.push(login);
    cluster.ticks(4);
    let store = replay(&cluster.kinds, cluster.bases[1].log.iter()).unwrap().store;
    let newest = store.entities.keys().filter(|id| id.slot() == slot).max().unwrap();
    assert!(newest.counter() > entity.counter(), "born at the next keeper");
    let session = store.sessions.keys().find(|session| session.slot() == slot).unwrap();
    assert!(*session > client.session, "the account plays on in a later session");
    assert_eq!(store.sessions[session].entity, entity);
}

fn spawn() -> OutMessage {
    let to = Address::Spawn { kind: HERO, place: east() };
    OutMessage { out_seq: 1, to, payload: Vec::new(), value: 5, sent: Tick(1) }
}

#[test]
fn a_client_is_sent_on_and_finds_every_answer_at_the_next_keeper() {
    let mut cluster = Cluster::with(2, |_| {});
    let client = login(&mut cluster, &ann());
    let slot = client.session.slot();
    cluster.bases[0].clients_in = (1..=3).map(|n| command(&client, n, 0)).collect();
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    cluster.tick();
    hold(&mut cluster, slot, 1);
    cluster.bases[0].clients_in = vec![command(&client, 4, 1), login_event(60, &ann())];
    cluster.tick();
    settle(&mut cluster, slot, 1);
    let last = cluster.bases[0].clients.iter().map(|f| f.what.clone()).collect::<Vec<_>>();
    assert!(last.contains(&ClientFrame::Moved));
    let put_off = |f: &ClientFrame| matches!(f, ClientFrame::NotYet { request: 60, .. });
    assert!(last.iter().any(put_off), "who asked for a stream comes again");
    cluster.bases[1].clients_in = vec![resume(&client, 70, 1)];
    cluster.ticks(2);
    let frames = cluster.bases[1].frames_of(client.session);
    assert!(matches!(frames[0], ClientFrame::Welcome { resumed: true, last_n: 3, .. }));
    cluster.bases[1].clients_in = vec![command(&client, 4, 1)];
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    let frames = cluster.bases[1].frames_of(client.session);
    let told: Vec<u64> = frames
        .iter()
        .filter_map(|frame| match frame {
            ClientFrame::Answer { n, .. } => Some(*n),
            _ => None,
        })
        .collect();
    assert_eq!(told, [2, 3, 4]);
}

#[test]
fn what_clients_say_to_a_frozen_slot_is_taken_in_if_the_move_is_called_off() {
    let mut cluster = Cluster::with(2, |_| {});
    let client = login(&mut cluster, &ann());
    hold(&mut cluster, client.session.slot(), 1);
    cluster.bases[0].clients_in = (1..=3).map(|n| command(&client, n, 0)).collect();
    cluster.ticks(150);
    assert!(answers(&cluster, &client).is_empty(), "nothing of it expires either");
    settle(&mut cluster, client.session.slot(), 0);
    run_commands(cluster.owner(1), client.entity);
    cluster.ticks(2);
    assert_eq!(answers(&cluster, &client), [applied(1), applied(2), applied(3)]);
}

#[test]
fn pieces_of_a_slot_count_only_if_its_keeper_sends_them_and_they_are_what_they_say() {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    let body = bytes::Bytes::from_static(b"no image");
    let digest = marchland_common::digest::digest_bytes(&body);
    let good = SlotChunk { slot, term: Term(5), index: 0, count: 1, digest, body };
    let bad = [
        SlotChunk { term: Term(4), ..good.clone() },
        SlotChunk { slot: SlotId(1), ..good.clone() },
        SlotChunk { index: 1, ..good.clone() },
        SlotChunk { count: u32::MAX, index: u32::MAX - 1, ..good.clone() },
        SlotChunk { body: vec![0; 1 << 20].into(), ..good.clone() },
        SlotChunk { digest: 1, ..good.clone() },
        good,
    ];
    let before = cluster.bases[1].log.len();
    let from = base(1);
    for (n, chunk) in bad.into_iter().enumerate() {
        let msgs = vec![Msg::BaseToBase(BaseToBase::SlotChunk(chunk))];
        let n = 1_000_000 + n as u64;
        let (src_tick, moment, header) = (Tick(1), Moment::Flush, Header::Peer);
        let bundle = Bundle { n, src_tick, moment, phase_us: 0, header, msgs };
        cluster.bases[1].frames.push(Frame { from, bundle });
    }
    cluster.ticks(3);
    let records = cluster.bases[1].records()[before..].to_vec();
    assert!(records.iter().all(|r| matches!(r, LogRecord::SlotDropped { .. })), "{records:?}");
    let refused = [Refused::SlotMoving, Refused::Malformed, Refused::DigestMismatch];
    assert!(refused.iter().all(|reason| cluster.bases[1].refusals(*reason) > 0));
}

/// A base learns late that a slot is not its own: what it has to say of it is of long ago.
#[test]
fn a_keeper_that_learns_late_that_it_is_none_says_nothing_for_the_slot() {
    let (mut cluster, entity) = one_entity();
    // To itself: the receiver's slot is the one that moves.
    send(&mut cluster, 1, entity, entity, 7);
    cluster.ticks(2);
    hold(&mut cluster, entity.slot(), 1);
    write_key(&mut cluster, entity.slot(), 1);
    tell_keys(&mut cluster, 1);
    cluster.ticks(3);
    let mark = cluster.mark();
    tell_keys(&mut cluster, 0);
    cluster.ticks(3);
    let own = cluster.sent[mark..].iter().filter(|(from, _)| *from == cluster.bases[0].node);
    let mut said = own.flat_map(|(_, outgoing)| &outgoing.bundle.msgs);
    assert!(!said.any(|m| matches!(m, Msg::BaseToBase(BaseToBase::Deliver { .. }))));
    run_inbox(cluster.owner(1), entity, taken);
    cluster.ticks(3);
    let took = |e: &&Event| matches!(e, Event::MessageTaken { entity: of, .. } if *of == entity);
    assert_eq!(cluster.bases[1].events.iter().filter(took).count(), 1);
}

#[test]
fn an_order_to_give_what_is_not_kept_or_to_nobody_changes_nothing() {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    let (me, other) = (base(1).name, base(2).name);
    for (slot, term, to) in [
        (slot, Term(4), other),
        (SlotId(1), Term(5), other),
        (slot, Term(5), me),
        (slot, Term(5), cell(1).name),
    ] {
        let order = BaseOrder::GiveSlots { slots: vec![(slot, term)], to };
        cluster.bases[0].orders_in.push(order);
    }
    cluster.ticks(3);
    assert!(cluster.bases[0].stats.moves.is_empty());
    assert_eq!(cluster.bases[0].refusals(Refused::SlotMoving), 4);
}

#[test]
fn with_slots_on_the_move_any_storm_settles_and_nothing_is_lost_or_doubled() {
    let mut moved = (0, 0);
    for seed in 100..124 {
        eprintln!("seed {seed}");
        let storm = storm_with(seed, true);
        storm.check();
        moved = (moved.0 + storm.moved.0, moved.1 + storm.moved.1);
    }
    eprintln!("{moved:?}");
    assert!(moved.0 > 100 && moved.1 > 50, "{moved:?}");
}
