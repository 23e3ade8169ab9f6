//! Ghost delta blocks through their public doors: what is written reads back, and the exact bytes
//! of a few blocks.
#![allow(clippy::unwrap_used)]

use marchland_codec_core::{
    BLOCK_BYTES_MAX, BYTES_PROP_MAX, CodecError, DeltaFields, DeltaReader, DeltaWriter, Pose,
    PoseChange, Prop, PropValue, PushError, RECORDS_MAX, ghost_digest,
};
use marchland_common::order::Tick;
use marchland_common::world::Value;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Props = BTreeMap<u8, Value>;

fn prop_list(props: &Props) -> Vec<Prop<'_>> {
    props.iter().map(|(slot, value)| Prop { slot: *slot, value: value.into() }).collect()
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        (-200_i64..200).prop_map(Value::Int),
        vec(any::<u8>(), 0..300).prop_map(Value::Bytes),
    ]
}

fn a_movement() -> impl Strategy<Value = [i32; 2]> {
    prop_oneof![any::<[i32; 2]>(), [-9_i32..9, -9_i32..9]]
}

fn a_record() -> impl Strategy<Value = (PoseChange, Props)> {
    let moved = proptest::option::of(a_movement());
    let heading = proptest::option::of(any::<u8>());
    (moved, heading, btree_map(any::<u8>(), a_value(), 0..4))
        .prop_map(|(moved, heading, props)| (PoseChange { moved, heading }, props))
        .prop_filter("a record changes something", |(pose, props)| {
            !pose.is_empty() || !props.is_empty()
        })
}

fn an_index() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..40, any::<u32>(), Just(u32::MAX)]
}

fn encode(tick: u64, records: &BTreeMap<u32, (PoseChange, Props)>) -> Vec<u8> {
    let mut writer = DeltaWriter::new();
    writer.begin(Tick(tick));
    for (index, (pose, props)) in records {
        writer.push(*index, &DeltaFields { pose: *pose, props: &prop_list(props) }).unwrap();
    }
    assert_eq!(writer.count() as usize, records.len());
    writer.finish().to_vec()
}

fn moved(dx: i32, dy: i32) -> DeltaFields<'static> {
    DeltaFields { pose: PoseChange { moved: Some([dx, dy]), heading: None }, props: &[] }
}

proptest! {
    #[test]
    fn every_block_reads_back_as_it_was_written(
        tick: u64,
        records in btree_map(an_index(), a_record(), 0..30),
    ) {
        let bytes = encode(tick, &records);
        let reader = DeltaReader::new(&bytes).unwrap();
        prop_assert_eq!(reader.tick(), Tick(tick));
        prop_assert_eq!(reader.due() as usize, records.len());
        prop_assert_eq!(reader.check(), Ok(()));
        let read: Vec<_> = reader.map(|r| r.unwrap()).collect();
        prop_assert_eq!(read.len(), records.len());
        for (delta, (index, (pose, props))) in read.iter().zip(&records) {
            prop_assert_eq!(delta.index, *index);
            prop_assert_eq!(delta.pose, *pose);
            let read: Props = delta.props.map(|p| (p.slot, p.value.into())).collect();
            prop_assert_eq!(&read, props);
        }
    }

    #[test]
    fn a_ghost_that_applies_every_delta_keeps_the_digest_of_its_real(
        walk in vec((any::<i32>(), any::<i32>(), any::<u16>(), -5_i64..5), 1..20),
    ) {
        let (mut sent, mut sent_hp) = (Pose::default(), 0);
        let (mut ghost, mut ghost_hp) = (sent, sent_hp);
        let mut writer = DeltaWriter::new();
        for (tick, (x, y, heading, hp)) in (1..).zip(walk) {
            let real = Pose::of_world(x, y, heading);
            let hp_prop = [Prop::int(0, hp)];
            let props: &[Prop<'_>] = if hp == sent_hp { &[] } else { &hp_prop };
            let fields = DeltaFields { pose: real.change_since(sent), props };
            (sent, sent_hp) = (real, hp);
            writer.begin(Tick(tick));
            match writer.push(7, &fields) {
                Err(PushError::Empty) => {}
                other => other.unwrap(),
            }
            for delta in DeltaReader::new(writer.finish()).unwrap().map(|d| d.unwrap()) {
                ghost = ghost.apply(delta.pose).unwrap();
                for prop in delta.props {
                    let PropValue::Int(hp) = prop.value else { panic!("hp is a number") };
                    ghost_hp = hp;
                }
            }
            prop_assert_eq!(
                ghost_digest(ghost, [Prop::int(0, ghost_hp)]),
                ghost_digest(real, hp_prop)
            );
        }
    }
}

#[test]
fn a_walking_neighbour_takes_three_bytes_and_the_format_is_fixed() {
    let mut writer = DeltaWriter::new();
    writer.begin(Tick(300));
    let pose = PoseChange { moved: Some([5, -3]), heading: Some(0x40) };
    writer.push(0, &DeltaFields { pose, props: &[] }).unwrap();
    writer.push(1, &DeltaFields { pose, props: &[Prop::int(2, -1)] }).unwrap();
    writer.push(3, &moved(8, 0)).unwrap();
    writer
        .push(30, &DeltaFields { props: &[Prop::bytes(1, b"ab")], ..Default::default() })
        .unwrap();
    let header = [0x11, 4, 0, 0, 0, 0xac, 0x02];
    let records: [&[u8]; 4] = [
        &[0x05, 0xd5, 0x40],
        &[0x0d, 0xd5, 0x40, 0x08, 0x01],
        &[0x12, 16, 0],
        &[0xf8, 11, 0x06, 2, b'a', b'b'],
    ];
    assert_eq!(writer.finish(), [&header[..], &records.concat()].concat());
}

#[test]
fn a_refused_record_leaves_the_block_as_it_was() {
    let mut writer = DeltaWriter::new();
    writer.begin(Tick(1));
    writer.push(5, &moved(1, 1)).unwrap();
    let before = writer.finish().to_vec();
    let too_long = vec![0; BYTES_PROP_MAX + 1];
    let cases = [
        (5, moved(1, 1), PushError::IndexOrder { index: 5, last: 5 }),
        (0, moved(1, 1), PushError::IndexOrder { index: 0, last: 5 }),
        (6, DeltaFields::default(), PushError::Empty),
        (
            6,
            DeltaFields { props: &[Prop::int(3, 1), Prop::int(3, 1)], ..moved(1, 1) },
            PushError::SlotOrder(3),
        ),
        (
            6,
            DeltaFields { props: &[Prop::int(0, 1), Prop::bytes(1, &too_long)], ..moved(1, 1) },
            PushError::PropLength(BYTES_PROP_MAX + 1),
        ),
    ];
    for (index, fields, error) in cases {
        assert_eq!(writer.push(index, &fields), Err(error));
        assert_eq!(writer.finish(), before);
    }
    writer.push(6, &moved(1, 1)).unwrap();
    assert_eq!(DeltaReader::new(writer.finish()).unwrap().count(), 2);
}

#[test]
fn a_full_block_says_so_and_is_still_readable() {
    let mut writer = DeltaWriter::new();
    for index in 0..RECORDS_MAX {
        writer.push(index, &moved(1, 0)).unwrap();
    }
    assert_eq!(writer.push(RECORDS_MAX, &moved(1, 0)), Err(PushError::Full));
    assert_eq!(DeltaReader::new(writer.finish()).unwrap().check(), Ok(()));

    let long = vec![7; BYTES_PROP_MAX];
    let fields = DeltaFields { props: &[Prop::bytes(0, &long)], ..Default::default() };
    writer.begin(Tick(1));
    let fit = (0..).take_while(|index| writer.push(*index, &fields).is_ok()).count();
    assert_eq!(fit, BLOCK_BYTES_MAX / BYTES_PROP_MAX - 1);
    assert_eq!(writer.push(99, &fields), Err(PushError::Full));
    assert_eq!(DeltaReader::new(writer.finish()).unwrap().check(), Ok(()));
}

#[test]
fn a_record_that_no_block_could_hold_is_not_called_full() {
    let long = vec![7; BYTES_PROP_MAX];
    let props: Vec<_> = (0..17).map(|slot| Prop::bytes(slot, &long)).collect();
    let mut writer = DeltaWriter::new();
    let pushed = writer.push(0, &DeltaFields { props: &props, ..Default::default() });
    assert!(matches!(pushed, Err(PushError::TooLong(bytes)) if bytes > BLOCK_BYTES_MAX));
}

#[test]
fn beginning_again_forgets_records_and_order() {
    let mut writer = DeltaWriter::new();
    writer.push(u32::MAX, &moved(1, 1)).unwrap();
    assert_eq!(
        writer.push(u32::MAX, &moved(1, 1)),
        Err(PushError::IndexOrder { index: u32::MAX, last: u32::MAX })
    );
    writer.begin(Tick(9));
    writer.push(0, &moved(2, 2)).unwrap();
    let bytes = writer.finish_bytes();
    let read: Result<Vec<_>, CodecError> = DeltaReader::new(&bytes).unwrap().collect();
    assert_eq!(read.unwrap().len(), 1);
}
