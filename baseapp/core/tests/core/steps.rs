//! Steps: what becomes part of a lineage, and what every other step is answered.

use crate::support::*;
use marchland_baseapp_core::log::LogRecord;
use marchland_common::journal::{Event, Refused, ValueFlow};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::rng::Rng;
use marchland_common::time::EntityTime;
use marchland_common::world::*;

fn note(byte: u8) -> Vec<Change> {
    vec![Change::Prop(NOTE, Value::Bytes(vec![byte]))]
}

fn acks(owner: &Owner) -> Vec<u64> {
    owner.told(|msg| match msg {
        BaseToCell::Ack { seq, .. } => Some(seq.0),
        _ => None,
    })
}

fn asked(owner: &Owner) -> usize {
    owner.told(|msg| matches!(msg, BaseToCell::NeedSnapshot { .. }).then_some(())).len()
}

fn seq(cluster: &Cluster, entity: EntityId) -> u64 {
    cluster.bases[0].core.brief(entity).unwrap().seq.0
}

#[test]
fn a_step_is_acknowledged_when_it_is_durable_and_not_before() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    assert_eq!(acks(cluster.owner(1)), [1]);
    cluster.owner(1).step(entity, note(1));
    cluster.flush();
    cluster.owner(1).step(entity, note(2));
    cluster.flush();
    assert_eq!(acks(cluster.owner(1)), [1]);
    cluster.sync();
    assert_eq!(acks(cluster.owner(1)), [1, 3], "one acknowledgement for all that became durable");
}

#[test]
fn a_duplicate_is_acknowledged_again_and_changes_nothing() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let step = cluster.owner(1).step(entity, note(1));
    cluster.tick();
    let records = cluster.bases[0].log.len();
    for _ in 0..3 {
        cluster.owner(1).say(entity, CellToBase::Step(step.clone()));
    }
    cluster.tick();
    assert_eq!(cluster.bases[0].log.len(), records);
    assert_eq!(cluster.bases[0].refusals(Refused::DuplicateStep), 3);
    assert_eq!(acks(cluster.owner(1)), [1, 2, 2, 2, 2]);
}

#[test]
fn a_gap_asks_once_for_the_whole_state_and_the_state_closes_it() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).make(entity, note(1));
    cluster.owner(1).step(entity, note(2));
    cluster.owner(1).step(entity, note(3));
    cluster.tick();
    assert_eq!((seq(&cluster, entity), asked(cluster.owner(1))), (1, 1));
    assert_eq!(cluster.bases[0].refusals(Refused::StepGap), 2);
    cluster.owner(1).snapshot(entity);
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 5);
    let brief = cluster.bases[0].core.brief(entity).unwrap();
    assert_eq!(brief.durable[1].1, Value::Bytes(vec![3]));
    cluster.owner(1).step(entity, note(4));
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 6, "and steps follow it again");
}

#[test]
fn a_step_whose_digests_do_not_match_leaves_the_image_as_it_was() {
    type Spoil = fn(&mut Step);
    let cases: [(Spoil, Refused); 5] = [
        (|s| s.prev_digest ^= 1, Refused::DigestMismatch),
        (|s| s.digest ^= 1, Refused::DigestMismatch),
        (|s| s.body = StepBody::Delta(vec![Change::Prop(NOTE, Value::Int(1))]), Refused::BadChange),
        (|s| s.body = StepBody::Delta(vec![Change::Prop(77, Value::Int(1))]), Refused::BadChange),
        (|s| s.body = StepBody::Delta(vec![Change::Answered(5)]), Refused::BadChange),
    ];
    for (spoil, reason) in cases {
        let mut cluster = Cluster::new();
        let entity = cluster.born();
        let before = cluster.bases[0].core.brief(entity);
        let mut step = cluster.owner(1).make(entity, note(1));
        spoil(&mut step);
        cluster.owner(1).say(entity, CellToBase::Step(step));
        cluster.tick();
        assert_eq!(cluster.bases[0].refusals(reason), 1, "{reason:?}");
        assert_eq!(cluster.bases[0].core.brief(entity), before);
        assert_eq!(asked(cluster.owner(1)), 1);
        cluster.owner(1).snapshot(entity);
        cluster.tick();
        let brief = cluster.bases[0].core.brief(entity).unwrap();
        assert_eq!(brief.durable[1].1, Value::Bytes(vec![1]));
    }
}

#[test]
fn a_whole_state_of_another_kind_or_shape_is_refused() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let mut step = cluster.owner(1).make(entity, Vec::new());
    let mut state = cluster.owner(1).copies[&entity].state.clone();
    state.props.pop();
    step.body = StepBody::Snapshot(Box::new(state));
    cluster.owner(1).say(entity, CellToBase::Step(step));
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::BadChange), 1);
}

#[test]
fn what_no_cellapp_would_take_is_refused_so_that_everything_kept_can_be_granted_again() {
    type Spoil = fn(&mut Step, &mut EntityState);
    let whole = |step: &mut Step, state: &EntityState| {
        step.body = StepBody::Snapshot(Box::new(state.clone()));
    };
    let spoils: [Spoil; 6] = [
        |step, _| step.body = StepBody::Delta(vec![Change::Moved(far(), Rng(1))]),
        |step, _| {
            let much = Value::Bytes(vec![0; 3 * EntityState::BYTES_MAX]);
            step.body = StepBody::Delta(vec![Change::Prop(NOTE, much)]);
        },
        |_, state| state.time = EntityTime(u64::MAX),
        |_, state| state.outbox.last = u64::MAX,
        |_, state| state.place = far(),
        |step, _| step.seq = Seq(u64::MAX),
    ];
    for (at, spoil) in spoils.into_iter().enumerate() {
        let mut cluster = Cluster::new();
        let entity = cluster.born();
        let before = seq(&cluster, entity);
        let mut step = cluster.owner(1).make(entity, note(9));
        let mut state = cluster.owner(1).copies[&entity].state.clone();
        spoil(&mut step, &mut state);
        if at > 1 {
            whole(&mut step, &state);
        }
        cluster.owner(1).say(entity, CellToBase::Step(step));
        cluster.tick();
        assert_eq!(cluster.bases[0].refusals(Refused::BadChange), 1, "case {at}");
        assert_eq!(seq(&cluster, entity), before, "case {at}");
    }
}

fn far() -> Place {
    Place { pos: Pos::new(i32::MAX, 0), ..west() }
}

#[test]
fn a_life_that_the_epoch_was_not_granted_to_is_fenced() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let copy = cluster.owner(1).copies[&entity].clone();
    cluster.owner(3).copies.insert(entity, copy);
    let mut step = cluster.owner(1).make(entity, note(9));
    step.seq = Seq(2);
    cluster.owner(3).say(entity, CellToBase::Step(step));
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::NotOwner), 1);
    assert!(!cluster.owner(3).holds(entity));
    assert_eq!(seq(&cluster, entity), 1);
}

#[test]
fn a_move_is_taken_without_a_new_digest_and_shows_in_the_brief() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let rng = cluster.owner(1).copies[&entity].state.rng;
    cluster
        .owner(1)
        .step(entity, vec![Change::Moved(east(), rng), Change::Prop(MOOD, Value::Int(4))]);
    cluster.owner(1).step(entity, vec![Change::Moved(west(), rng)]);
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 3);
    assert_eq!(cluster.bases[0].core.brief(entity).unwrap().place, west());
}

#[test]
fn the_window_follows_what_is_durable_and_counts_empty_bundles() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.ticks(3);
    let durable = |c: &Cluster| c.owners[&cell(1)].durable[&base(1)].unwrap().0;
    assert_eq!(durable(&cluster), cluster.tick, "idle owners are confirmed by the tick");
    cluster.owner(1).step(entity, note(1));
    cluster.flush();
    let behind = cluster.tick - 1;
    assert_eq!(durable(&cluster), behind);
    for _ in 0..5 {
        cluster.flush();
        assert_eq!(durable(&cluster), behind, "what follows an undurable step waits with it");
    }
    cluster.sync();
    assert_eq!(durable(&cluster), cluster.tick);
}

#[test]
fn every_live_peer_gets_one_bundle_a_flush_and_only_what_there_is_to_say_at_a_release() {
    let mut cluster = Cluster::with(2, |_| {});
    cluster.ticks(2);
    let mark = cluster.mark();
    cluster.flush();
    let mine = |c: &Cluster| -> Vec<Node> {
        let of_first = c.sent[mark..].iter().filter(|(from, _)| *from == base(1));
        of_first.map(|(_, out)| out.to).collect()
    };
    assert_eq!(mine(&cluster), [cell(1), cell(2), cell(3), base(2)]);
    cluster.sync();
    assert_eq!(mine(&cluster).len(), 4, "nothing became durable, nothing was said");
    let entity = cluster.born();
    let mark = cluster.mark();
    cluster.owner(1).step(entity, note(1));
    cluster.flush();
    let flushed = cluster.mark();
    cluster.sync_one(0);
    let released: Vec<Node> = cluster.sent[flushed..].iter().map(|(_, out)| out.to).collect();
    assert!(mark < flushed && released == [cell(1)]);
    let mut numbers = std::collections::BTreeMap::<(Node, Node), u64>::new();
    for (from, out) in &cluster.sent {
        let n = numbers.entry((*from, out.to)).or_default();
        *n += 1;
        assert_eq!(out.bundle.n, *n, "contiguous from 1 per pair");
    }
}

#[test]
fn repeated_bundles_have_no_effect_and_a_gap_asks_what_the_other_side_holds() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, note(1));
    cluster.tick();
    *cluster.owner(1).n.get_mut(&base(1)).unwrap() -= 1;
    cluster.owner(1).step(entity, note(2));
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 2, "a number that was used is a repetition");
    assert_eq!(cluster.bases[0].refusals(Refused::BundleGap), 1);
    *cluster.owner(1).n.get_mut(&base(1)).unwrap() += 5;
    cluster.owner(1).got.clear();
    cluster.owner(1).lists = false;
    cluster.tick();
    let asked = cluster.owner(1).told(|m| matches!(m, BaseToCell::Resync { .. }).then_some(()));
    assert_eq!(asked.len(), 1);
    let copy = cluster.owner(1).copies[&entity].clone();
    let (epoch, seq_there, digest) = (copy.epoch, copy.seq, copy.digest);
    cluster.owner(1).say(entity, CellToBase::Holding { entity, epoch, seq: seq_there, digest });
    cluster.tick();
    let wanted =
        cluster.owner(1).told(|m| matches!(m, BaseToCell::NeedSnapshot { .. }).then_some(()));
    assert_eq!(wanted.len(), 1);
    cluster.owner(1).snapshot(entity);
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 4);
}

#[test]
fn what_stands_nowhere_on_record_is_fenced_if_it_ever_existed() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let copy = cluster.owner(1).copies[&entity].clone();
    cluster.owner(1).step(entity, vec![Change::Destroyed]);
    cluster.ticks(2);
    cluster.owner(2).copies.insert(entity, copy);
    let again = cluster.owner(2).step(entity, note(1));
    cluster.ticks(2);
    assert!(!cluster.owner(2).holds(entity));
    let mut future = again;
    future.entity = EntityId::new(entity.slot(), 999);
    cluster.owner(2).say(entity, CellToBase::Step(future));
    let mark = cluster.mark();
    cluster.ticks(2);
    assert!(cluster.said(mark, to_cell).is_empty(), "an id that nobody got yet is only counted");
}

#[test]
fn messages_for_the_other_direction_are_refused() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let bundle = Bundle {
        n: 1,
        src_tick: Tick(5),
        moment: Moment::Flush,
        phase_us: 0,
        header: Header::Peer,
        msgs: vec![Msg::BaseToCell(BaseToCell::Resync { question: 1 })],
    };
    cluster.bases[0].frames.push(Frame { from: base(9), bundle });
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::WrongDirection), 1);
    assert!(cluster.bases[0].core.brief(entity).is_some());
}

#[test]
fn a_frozen_base_accepts_nothing_and_catches_up_when_it_thaws() {
    use marchland_baseapp_core::io::BaseOrder;
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.bases[0].orders_in.push(BaseOrder::Freeze);
    cluster.owner(1).step(entity, note(1));
    cluster.ticks(5);
    assert_eq!(seq(&cluster, entity), 1);
    let durable = cluster.owners[&cell(1)].durable[&base(1)].unwrap();
    assert_eq!(durable.0, cluster.tick - 5, "the windows of its owners shut");
    cluster.bases[0].orders_in.push(BaseOrder::Thaw);
    cluster.tick();
    assert_eq!(seq(&cluster, entity), 2);
    assert_eq!(cluster.owners[&cell(1)].durable[&base(1)].unwrap().0, cluster.tick);
}

#[test]
fn steps_of_a_slot_that_another_base_keeps_are_refused() {
    let mut cluster = Cluster::with(2, |_| {});
    let entity = cluster.born();
    for slot in &mut cluster.slots {
        slot.base = base(2).name;
        slot.term = Term(9);
    }
    cluster.announce();
    cluster.tick();
    let step = cluster.owner(1).make(entity, note(1));
    let n = cluster.owner(1).n.get_mut(&base(1)).unwrap();
    *n += 1;
    let bundle = Bundle {
        n: *n,
        src_tick: Tick(cluster.tick),
        moment: Moment::Flush,
        phase_us: 0,
        header: Header::CellToBase { steps: 1, accepting: true, schema: SCHEMA },
        msgs: vec![Msg::CellToBase(CellToBase::Step(step))],
    };
    cluster.bases[0].frames.push(Frame { from: cell(1), bundle });
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::WrongBase), 1);
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

#[test]
fn the_flow_of_the_conserved_number_is_told_where_it_changes_and_balances() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, note(1));
    cluster.owner(1).step(entity, vec![Change::Prop(GOLD, Value::Int(107)), Change::Minted(7)]);
    cluster.owner(1).step(entity, vec![Change::Prop(GOLD, Value::Int(90))]);
    cluster.tick();
    let flows = flows(&cluster);
    assert_eq!(flows[0], ValueFlow { before: 100, after: 107, minted: 7, ..ValueFlow::default() });
    assert_eq!(flows[1], ValueFlow { before: 107, after: 90, ..ValueFlow::default() });
    assert_eq!(
        flows.len(),
        2,
        "a step without it says nothing; one that loses it does not balance"
    );
}

#[test]
fn the_log_says_the_same_as_the_journal() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, note(1));
    cluster.tick();
    let records = cluster.bases[0].records();
    for event in &cluster.bases[0].events {
        if let Event::Accepted { seq, digest, lsn, .. } = event {
            let LogRecord::Step(step) = &records[lsn.0 as usize - 1] else { panic!("{lsn}") };
            assert_eq!((step.seq, step.digest), (*seq, *digest));
        }
    }
}
