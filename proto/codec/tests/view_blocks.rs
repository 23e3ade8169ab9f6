//! Client view blocks through their public doors: what is written reads back, and an update is the
//! same bytes for every witness.
#![allow(clippy::unwrap_used)]

use marchland_codec_core::{
    FullView, Pose, Prop, PushError, UpdateArena, Version, ViewFields, ViewOp, ViewReader,
    ViewWriter, encode_update,
};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SlotId, Tick};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Texts = BTreeMap<u8, Vec<u8>>;

/// An operation with owned properties; numbers are tested through `ints`, the rest through texts.
#[derive(Clone, Debug)]
enum Op {
    Enter(EntityId, KindId, FullView<Texts>),
    Update(EntityId, ViewFields<Texts>),
    Reset(EntityId, FullView<Texts>),
    Leave(EntityId),
}

/// Texts of even length travel as they are, the others as a number, so that both types occur.
fn prop_list(texts: &Texts) -> Vec<Prop<'_>> {
    texts
        .iter()
        .map(|(slot, text)| match text.split_first() {
            Some((first, _)) if text.len() % 2 == 1 => Prop::int(*slot, i64::from(*first) - 100),
            _ => Prop::bytes(*slot, text),
        })
        .collect()
}

fn an_entity() -> impl Strategy<Value = EntityId> {
    let counter = prop_oneof![1_u64..100, 1..=EntityId::COUNTER_MAX];
    (any::<u8>(), counter).prop_map(|(slot, counter)| EntityId::new(SlotId(slot), counter))
}

fn a_version() -> impl Strategy<Value = Version> {
    let epoch = prop_oneof![any::<u64>().prop_map(Epoch), (0_u64..9).prop_map(Epoch::of_grant)];
    (epoch, any::<u64>()).prop_map(|(epoch, seq)| Version { epoch, seq: Seq(seq) })
}

fn texts() -> impl Strategy<Value = Texts> {
    btree_map(any::<u8>(), vec(any::<u8>(), 0..40), 0..4)
}

fn a_full_view() -> impl Strategy<Value = FullView<Texts>> {
    (a_version(), any::<(i32, i32, u16)>(), any::<bool>(), texts()).prop_map(
        |(version, (x, y, heading), speculative, props)| FullView {
            version,
            pose: Pose::of_world(x, y, heading),
            speculative,
            props,
        },
    )
}

fn fields() -> impl Strategy<Value = ViewFields<Texts>> {
    let position = of(any::<(i32, i32)>())
        .prop_map(|at| at.map(|(x, y)| Pose::of_world(x, y, 0)).map(|pose| [pose.x(), pose.y()]));
    (of(a_version()), position, of(any::<u8>()), any::<bool>(), texts())
        .prop_map(|(version, position, heading, speculative, props)| ViewFields {
            version,
            position,
            heading,
            speculative,
            props,
        })
        .prop_filter("an update changes something", |f| {
            f.version.is_some()
                || f.position.is_some()
                || f.heading.is_some()
                || !f.props.is_empty()
        })
}

fn an_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (an_entity(), any::<u16>(), a_full_view()).prop_map(|(entity, kind, full)| Op::Enter(
            entity,
            KindId(kind),
            full
        )),
        (an_entity(), fields()).prop_map(|(entity, fields)| Op::Update(entity, fields)),
        (an_entity(), a_full_view()).prop_map(|(entity, full)| Op::Reset(entity, full)),
        an_entity().prop_map(Op::Leave),
    ]
}

fn write(writer: &mut ViewWriter, scratch: &mut Vec<u8>, op: &Op) {
    let props = match op {
        Op::Enter(_, _, full) | Op::Reset(_, full) => prop_list(&full.props),
        Op::Update(_, fields) => prop_list(&fields.props),
        Op::Leave(_) => Vec::new(),
    };
    match op {
        Op::Enter(entity, kind, full) => {
            writer.enter(*entity, *kind, &full.clone().with_props(&props[..])).unwrap();
        }
        Op::Update(entity, fields) => {
            let fields = fields.clone().with_props(&props[..]);
            writer.update(encode_update(scratch, *entity, &fields).unwrap()).unwrap();
        }
        Op::Reset(entity, full) => {
            writer.reset(*entity, &full.clone().with_props(&props[..])).unwrap();
        }
        Op::Leave(entity) => writer.leave(*entity).unwrap(),
    }
}

fn assert_same(read: ViewOp<'_>, wrote: &Op) {
    match (read, wrote) {
        (ViewOp::Enter { entity, kind, full }, Op::Enter(e, k, f)) => {
            assert_eq!((entity, kind), (*e, *k));
            assert_full(full.with_props(full.props.collect()), f);
        }
        (ViewOp::Reset { entity, full }, Op::Reset(e, f)) => {
            assert_eq!(entity, *e);
            assert_full(full.with_props(full.props.collect()), f);
        }
        (ViewOp::Update { entity, fields }, Op::Update(e, f)) => {
            assert_eq!(entity, *e);
            let read: ViewFields<Vec<_>> = fields.with_props(fields.props.collect());
            assert_eq!(read, f.clone().with_props(prop_list(&f.props)));
        }
        (ViewOp::Leave { entity }, Op::Leave(e)) => assert_eq!(entity, *e),
        (read, wrote) => panic!("{read:?} is not {wrote:?}"),
    }
}

fn assert_full(read: FullView<Vec<Prop<'_>>>, wrote: &FullView<Texts>) {
    assert_eq!(read, wrote.clone().with_props(prop_list(&wrote.props)));
}

proptest! {
    #[test]
    fn every_block_reads_back_in_the_order_of_the_calls(
        tick: u64,
        ops in vec(an_op(), 0..25),
    ) {
        let (mut writer, mut scratch) = (ViewWriter::new(), Vec::new());
        writer.begin(Tick(tick));
        ops.iter().for_each(|op| write(&mut writer, &mut scratch, op));
        let reader = ViewReader::new(writer.finish()).unwrap();
        prop_assert_eq!(reader.tick(), Tick(tick));
        prop_assert_eq!(reader.check(), Ok(()));
        let read: Vec<_> = reader.map(|op| op.unwrap()).collect();
        prop_assert_eq!(read.len(), ops.len());
        read.into_iter().zip(&ops).for_each(|(read, wrote)| assert_same(read, wrote));
    }

    #[test]
    fn an_update_is_the_same_bytes_for_every_witness_whatever_else_each_one_sees(
        shared in vec((an_entity(), fields()), 1..6),
        others in vec(vec(an_op(), 0..4), 2..5),
    ) {
        let mut arena = UpdateArena::default();
        arena.begin();
        let updates: Vec<_> = shared
            .iter()
            .map(|(entity, f)| {
                arena.encode(*entity, &f.clone().with_props(&prop_list(&f.props)[..])).unwrap()
            })
            .collect();
        let mut scratch = Vec::new();
        for ops in &others {
            let mut witness = ViewWriter::new();
            ops.iter().for_each(|op| write(&mut witness, &mut scratch, op));
            let before = witness.byte_len();
            for update in &updates {
                witness.update(arena.get(*update).unwrap()).unwrap();
            }
            let copied = updates.iter().flat_map(|u| arena.get(*u).unwrap().as_bytes().to_vec());
            let block = witness.finish();
            prop_assert_eq!(&block[before..], &copied.collect::<Vec<_>>()[..]);
            let read: Vec<_> = ViewReader::new(block).unwrap().map(|op| op.unwrap()).collect();
            for (op, (entity, f)) in read[ops.len()..].iter().zip(&shared) {
                assert_same(*op, &Op::Update(*entity, f.clone()));
            }
        }
    }
}

#[test]
fn an_update_encoded_alone_and_in_the_arena_is_the_same_and_small() {
    let fields = ViewFields {
        position: Some([-1_200, 4_000]),
        heading: Some(9),
        ..ViewFields::<&[Prop<'_>]>::default()
    };
    let entity = EntityId::new(SlotId(1), 40);
    let (mut scratch, mut arena) = (vec![1, 2, 3], UpdateArena::default());
    let alone = encode_update(&mut scratch, entity, &fields).unwrap();
    let update = arena.encode(entity, &fields).unwrap();
    assert_eq!(arena.get(update).unwrap(), alone);
    assert_eq!(alone.as_bytes(), [0x0e, 0x81, 0x50, 0xdf, 0x12, 0xc0, 0x3e, 9]);
}

#[test]
fn an_update_of_an_earlier_tick_cannot_be_copied() {
    let mut arena = UpdateArena::default();
    let fields = ViewFields { heading: Some(1), ..ViewFields::<&[Prop<'_>]>::default() };
    let old = arena.encode(EntityId::new(SlotId(0), 1), &fields).unwrap();
    arena.begin();
    assert_eq!(arena.get(old), Err(PushError::Stale));
    arena.encode(EntityId::new(SlotId(0), 2), &fields).unwrap();
    assert_eq!(arena.get(old), Err(PushError::Stale));
}

#[test]
fn an_impossible_update_is_refused_and_leaves_no_bytes_in_the_arena() {
    let mut arena = UpdateArena::default();
    let good = EntityId::new(SlotId(0), 1);
    let empty = ViewFields::<&[Prop<'_>]>::default();
    let turned = ViewFields { heading: Some(1), ..empty };
    let twice = [Prop::int(4, 1), Prop::int(4, 2)];
    let cases = [
        (good, ViewFields { speculative: true, ..empty }, PushError::Empty),
        (EntityId(255), turned, PushError::Entity(255)),
        (EntityId(1 << 53), turned, PushError::Entity(1 << 53)),
        (good, ViewFields { position: Some([i32::MAX, 0]), ..empty }, PushError::OutOfWorld),
        (good, ViewFields { props: &twice[..], ..turned }, PushError::SlotOrder(4)),
    ];
    let first = arena.encode(good, &turned).unwrap();
    for (entity, fields, error) in cases {
        assert_eq!(arena.encode(entity, &fields), Err(error));
    }
    let second = arena.encode(good, &turned).unwrap();
    assert_eq!(arena.get(first).unwrap(), arena.get(second).unwrap());
    let mut writer = ViewWriter::new();
    assert_eq!(writer.leave(EntityId(0)), Err(PushError::Entity(0)));
    assert_eq!(writer.count(), 0);
}
