//! Slots of a base that is lost go on at another one, which reads its log; and what that base does
//! when it comes back.

use crate::support::*;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::{Image, LogRecord, NoImage, Store, replay};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

/// What the log of a base says that is lost, as whoever takes it over reads it.
fn log_of(cluster: &Cluster, at: usize) -> (Store, Lsn) {
    let base = &cluster.bases[at];
    let read = replay(&cluster.kinds, base.log[..base.durable as usize].iter()).unwrap();
    (read.store, read.last)
}

/// The first base is lost: nobody hears it any more, and its lease ran out. Entities of it stand
/// still.
fn lose(cluster: &mut Cluster) {
    let node = cluster.bases[0].node;
    cluster.members.retain(|m| m.node != node);
    cluster.lost.insert(node);
    cluster.announce();
    cluster.ticks(6);
}

fn image(cluster: &Cluster, slot: SlotId) -> (Image, Lsn, Term) {
    let (store, through) = log_of(cluster, 0);
    let term = cluster.slots[usize::from(slot.0)].term;
    (store.image_to_take_over(slot, term).unwrap(), through, term)
}

/// Orders the second base to adopt a slot of the first one.
fn adopt(cluster: &mut Cluster, slot: SlotId) {
    let from = cluster.bases[0].node;
    let (image, through, term) = image(cluster, slot);
    for index in 0..image.count() {
        let chunk = image.piece(slot, term, index);
        cluster.bases[1].orders_in.push(BaseOrder::Adopt { from, through, chunk });
    }
}

fn stage_of(cluster: &Cluster, slot: SlotId) -> Option<AdoptStage> {
    let rows = cluster.bases[1].stats.adopted.iter();
    rows.filter(|row| row.slot == slot).map(|row| row.stage).next()
}

/// The first base is lost, and the second one holds what its log says of a slot.
fn lost_and_held() -> (Cluster, EntityId) {
    let (mut cluster, entity) = one_entity();
    lose(&mut cluster);
    adopt(&mut cluster, entity.slot());
    cluster.tick();
    assert_eq!(stage_of(&cluster, entity.slot()), Some(AdoptStage::Held));
    (cluster, entity)
}

/// The slot's key names the second base. Cellapps let its entities stand still until that one says
/// that it knows.
fn commit(cluster: &mut Cluster, slot: SlotId) {
    let before = cluster.slots[usize::from(slot.0)].term;
    let lost = cluster.bases[0].node;
    for owner in cluster.owners.values_mut() {
        owner.closed.insert(slot, (lost, before, None));
    }
    write_key(cluster, slot, 1);
    tell_keys(cluster, 1);
    cluster.ticks(3);
    cluster.owners.values_mut().for_each(Owner::tell_opened);
    cluster.ticks(3);
}

#[test]
fn a_base_that_comes_back_gives_up_at_once_what_another_one_keeps_under_a_higher_term() {
    let (mut cluster, entity) = lost_and_held();
    let slot = entity.slot();
    commit(&mut cluster, slot);
    let (records, mark) = (cluster.bases[0].log.len(), cluster.mark());
    restart(&mut cluster, 0, records);
    let node = cluster.bases[0].node;
    // A cellapp has not heard of the new keeper, and says what it holds to the old name.
    let (epoch, seq, digest) = {
        let copy = &cluster.owner(1).copies[&entity];
        (copy.epoch, copy.seq, copy.digest)
    };
    let holding = CellToBase::Holding { entity, epoch, seq, digest };
    let from = cell(1);
    let header = Header::CellToBase { steps: 1, accepting: true, schema: 1 };
    let msgs = vec![Msg::CellToBase(holding)];
    let bundle =
        Bundle { n: 9_999, src_tick: Tick(1), moment: Moment::Flush, phase_us: 0, header, msgs };
    cluster.bases[0].frames.push(Frame { from, bundle });
    cluster.ticks(5);
    let term = Term(cluster.term);
    assert_eq!(cluster.bases[0].records()[records], LogRecord::SlotGiven { slot, term });
    assert_eq!(text(&cluster, 0, entity), None);
    let own = cluster.sent[mark..].iter().filter(|(from, _)| *from == node);
    let said: Vec<&Msg> = own.flat_map(|(_, outgoing)| &outgoing.bundle.msgs).collect();
    let grants = said.iter().any(|msg| matches!(msg, Msg::BaseToCell(BaseToCell::Grant(_))));
    assert!(!grants, "nothing of the slot is served: {said:?}");
    assert!(cluster.bases[0].stats.moves.is_empty());
}

#[test]
fn a_slot_that_was_taken_over_comes_back_by_a_move_like_any_other() {
    let (mut cluster, entity) = lost_and_held();
    let slot = entity.slot();
    commit(&mut cluster, slot);
    let records = cluster.bases[0].log.len();
    restart(&mut cluster, 0, records);
    cluster.ticks(12);
    note(&mut cluster, entity, 8);
    cluster.tick();
    hold(&mut cluster, slot, 0);
    settle(&mut cluster, slot, 0);
    assert_eq!((text(&cluster, 0, entity), text(&cluster, 1, entity)), (Some(vec![8]), None));
}

#[test]
fn a_slot_of_a_lost_base_goes_on_at_who_read_its_log_with_owner_and_epoch_as_they_were() {
    let (mut cluster, entity) = lost_and_held();
    let before = cluster.bases[0].core.brief(entity).unwrap();
    assert_eq!(cluster.bases[1].core.brief(entity), None, "held is not served");
    commit(&mut cluster, entity.slot());
    let after = cluster.bases[1].core.brief(entity).unwrap();
    assert_eq!((after.owner, after.epoch, after.seq), (before.owner, before.epoch, before.seq));
    assert!(cluster.owner(1).closed.is_empty(), "its cellapps heard of it");
    note(&mut cluster, entity, 2);
    cluster.tick();
    assert_eq!(text(&cluster, 1, entity), Some(vec![2]));
    assert!(cluster.bases[1].stats.adopted.is_empty(), "that is over");
}

#[test]
fn a_step_that_the_lost_base_did_not_write_is_said_again_to_the_next_keeper() {
    let (mut cluster, entity) = one_entity();
    // It leaves for a base that is no more.
    lose(&mut cluster);
    note(&mut cluster, entity, 7);
    let (_, step) = cluster.owner(1).out.pop().unwrap();
    adopt(&mut cluster, entity.slot());
    cluster.tick();
    commit(&mut cluster, entity.slot());
    assert_eq!(text(&cluster, 1, entity), Some(vec![1]), "what is in the log counts");
    cluster.owner(1).say(entity, step);
    cluster.ticks(2);
    assert_eq!(text(&cluster, 1, entity), Some(vec![7]));
}

#[test]
fn where_a_slot_comes_from_is_told_with_its_being_taken_and_by_every_later_life() {
    let (mut cluster, entity) = lost_and_held();
    let (slot, from, through) = (entity.slot(), cluster.bases[0].node, log_of(&cluster, 0).1);
    commit(&mut cluster, slot);
    let told = Event::SlotAdopted { slot, term: Term(cluster.term), from, through };
    let at = cluster.bases[1].events.iter().position(|e| *e == told).unwrap();
    let taken = &cluster.bases[1].events[at + 1];
    assert!(matches!(taken, Event::SlotTaken { slot: of, .. } if *of == slot), "{taken:?}");
    let records = cluster.bases[1].log.len();
    restart(&mut cluster, 1, records);
    cluster.ticks(2);
    assert!(cluster.bases[1].events[at + 1..].contains(&told), "the next life says it, too");
    // A move that is called off is another matter.
    write_key(&mut cluster, slot, 1);
    tell_keys(&mut cluster, 1);
    cluster.ticks(2);
    let records = cluster.bases[1].log.len();
    let store = replay(&cluster.kinds, cluster.bases[1].log[..records].iter()).unwrap().store;
    assert!(store.adopted.is_empty());
}

#[test]
fn pieces_that_come_again_late_or_out_of_turn_change_nothing() {
    let (mut cluster, entity) = one_entity();
    let large = Value::Bytes(vec![7; 60_000]);
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, large)]);
    cluster.ticks(2);
    lose(&mut cluster);
    let slot = entity.slot();
    let from = cluster.bases[0].node;
    let (image, through, term) = image(&cluster, slot);
    let say = |cluster: &mut Cluster, index: u32| {
        let chunk = image.piece(slot, term, index);
        cluster.bases[1].orders_in.push(BaseOrder::Adopt { from, through, chunk });
        cluster.tick();
        stage_of(cluster, slot)
    };
    assert_eq!(image.count(), 2);
    assert_eq!(say(&mut cluster, 1), Some(AdoptStage::Coming(0)), "the first one is missing");
    assert_eq!(say(&mut cluster, 0), Some(AdoptStage::Coming(1)));
    assert_eq!(say(&mut cluster, 0), Some(AdoptStage::Coming(1)));
    assert_eq!(say(&mut cluster, 1), Some(AdoptStage::Held));
    let records = cluster.bases[1].log.len();
    assert_eq!(say(&mut cluster, 0), Some(AdoptStage::Held));
    assert_eq!(say(&mut cluster, 1), Some(AdoptStage::Held));
    assert_eq!(cluster.bases[1].log.len(), records, "nothing is written twice");
    commit(&mut cluster, slot);
    let records = cluster.bases[1].log.len();
    assert_eq!(say(&mut cluster, 0), Some(AdoptStage::Refused(Refused::SlotMoving)), "too late");
    assert_eq!(cluster.bases[1].log.len(), records);
    assert_eq!(text(&cluster, 1, entity).map(|t| t.len()), Some(60_000));
}

#[test]
fn a_piece_under_another_term_or_of_another_base_or_that_is_none_is_refused() {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    let other = cluster.born_at(1, east());
    cluster.tick();
    lose(&mut cluster);
    let from = cluster.bases[0].node;
    let (image, through, term) = image(&cluster, slot);
    let good = image.piece(slot, term, 0);
    let cases = [
        (base(2), good.clone(), Refused::SlotMoving),
        (from, SlotChunk { term: Term(4), ..good.clone() }, Refused::SlotMoving),
        (from, SlotChunk { term: Term(6), ..good.clone() }, Refused::SlotMoving),
        (from, SlotChunk { slot: other.slot(), ..good.clone() }, Refused::SlotMoving),
        (from, SlotChunk { count: u32::MAX, ..good.clone() }, Refused::Malformed),
        (from, SlotChunk { digest: 1, ..good.clone() }, Refused::DigestMismatch),
    ];
    for (from, chunk, reason) in cases {
        let slot = chunk.slot;
        cluster.bases[1].orders_in.push(BaseOrder::Adopt { from, through, chunk });
        cluster.tick();
        assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Refused(reason)));
        let slots = vec![slot];
        cluster.bases[1].orders_in.push(BaseOrder::DropAdopted { slots });
    }
    cluster.bases[1].orders_in.push(BaseOrder::Adopt { from, through, chunk: good });
    cluster.tick();
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held), "and then the right one is taken");
}

#[test]
fn what_is_held_of_a_log_is_void_when_the_key_goes_elsewhere_and_stays_while_it_does_not() {
    let (mut cluster, entity) = lost_and_held();
    let slot = entity.slot();
    cluster.ticks(100);
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held));
    // Its own base is back, and the leader writes the key for it anew.
    write_key(&mut cluster, slot, 0);
    let records = cluster.bases[0].log.len();
    restart(&mut cluster, 0, records);
    cluster.ticks(12);
    assert_eq!(stage_of(&cluster, slot), None);
    assert!(cluster.bases[1].records().contains(&LogRecord::SlotDropped { slot }));
    assert_eq!((text(&cluster, 0, entity), text(&cluster, 1, entity)), (Some(vec![1]), None));
    note(&mut cluster, entity, 5);
    cluster.tick();
    hold(&mut cluster, slot, 1);
    settle(&mut cluster, slot, 1);
    assert_eq!(text(&cluster, 1, entity), Some(vec![5]), "what came first is not what counts");
}

#[test]
fn a_reader_that_gives_up_leaves_nothing_behind() {
    let (mut cluster, entity) = lost_and_held();
    let slot = entity.slot();
    cluster.bases[1].orders_in.push(BaseOrder::DropAdopted { slots: vec![slot] });
    cluster.ticks(2);
    assert_eq!(stage_of(&cluster, slot), None);
    let store = replay(&cluster.kinds, cluster.bases[1].log.iter()).unwrap().store;
    assert!(store.imports.is_empty() && store.adopted.is_empty());
    adopt(&mut cluster, slot);
    cluster.tick();
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held), "it may be asked again");
}

#[test]
fn a_taker_that_dies_goes_on_with_what_its_log_has_of_the_slot_before_the_key_or_after_it() {
    for committed in [false, true] {
        let (mut cluster, entity) = lost_and_held();
        let slot = entity.slot();
        if committed {
            write_key(&mut cluster, slot, 1);
        }
        let records = cluster.bases[1].log.len();
        restart(&mut cluster, 1, records);
        cluster.ticks(2);
        if !committed {
            assert_eq!(stage_of(&cluster, slot), None, "this life holds no lock");
            adopt(&mut cluster, slot);
            cluster.ticks(2);
            assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held));
            let again = cluster.bases[1].records()[records..].to_vec();
            let is_chunk = |r: &LogRecord| matches!(r, LogRecord::SlotChunk(_));
            assert!(!again.iter().any(is_chunk), "what is there is not written twice: {again:?}");
            commit(&mut cluster, slot);
        }
        cluster.ticks(12);
        assert_eq!(text(&cluster, 1, entity), Some(vec![1]), "committed: {committed}");
    }
}

#[test]
fn a_taker_that_dies_with_half_of_a_slot_reads_it_again() {
    let (mut cluster, entity) = one_entity();
    let large = Value::Bytes(vec![7; 60_000]);
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, large)]);
    cluster.ticks(2);
    lose(&mut cluster);
    let slot = entity.slot();
    adopt(&mut cluster, slot);
    cluster.bases[1].orders_in.truncate(1);
    cluster.tick();
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Coming(1)));
    let records = cluster.bases[1].log.len();
    restart(&mut cluster, 1, records);
    cluster.ticks(2);
    adopt(&mut cluster, slot);
    cluster.ticks(2);
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held));
    commit(&mut cluster, slot);
    assert_eq!(text(&cluster, 1, entity).map(|t| t.len()), Some(60_000));
}

#[test]
fn a_log_gives_what_its_own_base_would_go_on_with_and_nothing_of_what_is_not_its_own() {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    let store = log_of(&cluster, 0).0;
    let whole = Image::new(store.slot_image(slot));
    assert_eq!(store.image_to_take_over(slot, Term(5)).as_ref(), Ok(&whole));
    assert_eq!(store.image_to_take_over(slot, Term(9)), Ok(whole), "a key that it did not read");
    let later = store.image_to_take_over(slot, Term(4));
    assert_eq!(later, Err(NoImage::LaterTerm(Term(5))));
    let others = SlotId(1);
    assert_eq!(store.image_to_take_over(others, Term(5)), Err(NoImage::NotKept));
    // Held by the next keeper, which dies before it learns that the slot is its own.
    hold(&mut cluster, slot, 1);
    let held = log_of(&cluster, 1).0;
    assert_eq!(held.image_to_take_over(slot, Term(5)), Err(NoImage::NotKept), "not by that term");
    let frozen = log_of(&cluster, 0).0.image_to_take_over(slot, Term(5)).unwrap();
    assert_eq!(held.image_to_take_over(slot, Term(6)), Ok(frozen));
}

#[test]
fn a_base_that_keeps_a_slot_or_stands_still_adopts_nothing() {
    let (mut cluster, entity) = one_entity();
    let slot = entity.slot();
    lose(&mut cluster);
    cluster.bases[1].orders_in.push(BaseOrder::Freeze);
    adopt(&mut cluster, slot);
    cluster.ticks(3);
    assert_eq!(stage_of(&cluster, slot), None, "its own log is not written to");
    cluster.bases[1].orders_in.push(BaseOrder::Thaw);
    cluster.ticks(2);
    assert_eq!(stage_of(&cluster, slot), Some(AdoptStage::Held), "nothing was dropped");
}
