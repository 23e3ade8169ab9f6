//! Bytes that no writer of ours made: each reader answers with a typed reason, never with a panic,
//! never with more records than were counted, and never by reserving what the bytes ask for.
#![allow(clippy::unwrap_used)]

use marchland_codec_core::{
    BLOCK_BYTES_MAX, CodecError, DeltaFields, DeltaReader, DeltaWriter, FullView, Pose, PoseChange,
    Prop, RECORDS_MAX, Version, ViewFields, ViewOp, ViewReader, ViewWriter, encode_update,
};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SlotId, Tick};
use proptest::collection::vec;
use proptest::prelude::*;

/// A header of the given format and count, followed by `records`.
fn block(format: u8, count: u32, records: &[u8]) -> Vec<u8> {
    let mut bytes = vec![format];
    bytes.extend(count.to_le_bytes());
    bytes.push(1);
    bytes.extend(records);
    bytes
}

fn delta_end(bytes: &[u8]) -> Result<usize, CodecError> {
    DeltaReader::new(bytes)?.try_fold(0, |n, record| record.map(|_| n + 1))
}

fn view_end(bytes: &[u8]) -> Result<usize, CodecError> {
    ViewReader::new(bytes)?.try_fold(0, |n, record| record.map(|_| n + 1))
}

#[test]
fn each_fault_of_a_delta_block_has_its_own_reason() {
    let long_string = [0x08, 0x02, 0x81, 0x80, 0x04];
    let cases: [(&[u8], CodecError); 13] = [
        (&[], CodecError::Truncated),
        (&[0x01], CodecError::Truncated),
        (&[0x00], CodecError::Empty),
        (&[0xf0], CodecError::Empty),
        (&[0x03, 0, 0], CodecError::UnknownBits(3)),
        (&[0x02, 2, 2], CodecError::NotCanonical),
        (&[0x02, 0x80, 0x80, 0x80, 0x80, 0x20, 2], CodecError::IntegerRange),
        (&[0xf4, 0xff, 0xff, 0xff, 0xff, 0x0f, 9], CodecError::IndexRange),
        (&[0xf4, 0xff, 0xff, 0xff, 0xff, 0x1f, 9], CodecError::IntegerRange),
        (&[0x08, 0x80, 0x08, 2], CodecError::UnknownBits(256)),
        (&[0x08, 0x05, 2, 0x04, 2], CodecError::SlotOrder(1)),
        (&long_string, CodecError::PropLength(65_537)),
        (&[0x08, 0x02, 3, b'a'], CodecError::Truncated),
    ];
    for (records, error) in cases {
        assert_eq!(delta_end(&block(0x11, 1, records)), Err(error), "{records:02x?}");
    }
    assert_eq!(delta_end(&block(0x11, 1, &[0x04, 9, 0, 0])), Err(CodecError::Trailing(2)));
    assert_eq!(delta_end(&block(0x11, 0, &[0])), Err(CodecError::Trailing(1)));
}

#[test]
fn each_fault_of_a_view_block_has_its_own_reason() {
    let cases: [(&[u8], CodecError); 9] = [
        (&[0x80], CodecError::UnknownBits(0x80)),
        (&[0x04, 0x80, 0x02], CodecError::UnknownBits(0x04)),
        (&[0x21, 0x80, 0x02], CodecError::UnknownBits(0x20)),
        (&[0x02, 0x80, 0x02], CodecError::Empty),
        (&[0x42, 0x80, 0x02], CodecError::Empty),
        (&[0x00, 0xff, 0x01], CodecError::Entity(255)),
        (&[0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10], CodecError::Entity(1 << 53)),
        (&[0x06, 0x80, 0x02, 0x80, 0x80, 0x80, 0x80, 0x08, 0], CodecError::OutOfWorld),
        (&[0x01, 0x80, 0x02, 0x80, 0x80, 0x04], CodecError::IntegerRange),
    ];
    for (records, error) in cases {
        assert_eq!(view_end(&block(0x21, 1, records)), Err(error), "{records:02x?}");
    }
}

#[test]
fn a_wrong_header_is_refused_before_any_record() {
    assert_eq!(delta_end(&block(0x21, 0, &[])), Err(CodecError::Format(0x21)));
    assert_eq!(view_end(&block(0x11, 0, &[])), Err(CodecError::Format(0x11)));
    let many = RECORDS_MAX + 1;
    assert_eq!(delta_end(&block(0x11, many, &[])), Err(CodecError::TooMany(many)));
    assert_eq!(delta_end(&block(0x11, u32::MAX, &[])), Err(CodecError::TooMany(u32::MAX)));
    let long = vec![0x11; BLOCK_BYTES_MAX + 1];
    assert_eq!(delta_end(&long), Err(CodecError::TooLong(BLOCK_BYTES_MAX + 1)));
    for end in 0..6 {
        assert_eq!(delta_end(&block(0x11, 0, &[])[..end]), Err(CodecError::Truncated), "{end}");
    }
}

#[test]
fn after_an_error_a_reader_yields_nothing_more() {
    let bytes = block(0x11, 3, &[0x04, 9, 0x00, 0x04, 9]);
    let mut reader = DeltaReader::new(&bytes).unwrap();
    assert!(reader.next().unwrap().is_ok());
    assert_eq!(reader.next(), Some(Err(CodecError::Empty)));
    assert_eq!(reader.next(), None);
    assert_eq!(reader.due(), 0);
}

#[test]
fn a_block_that_claims_everything_costs_no_allocation_to_refuse() {
    let claims = block(0x11, RECORDS_MAX, &[0x08, 0x02, 0x80, 0x80, 0x04]);
    let info = allocation_counter::measure(|| {
        assert_eq!(delta_end(&claims), Err(CodecError::Truncated));
    });
    assert_eq!(info.count_total, 0);
}

fn sample_deltas() -> Vec<u8> {
    let mut writer = DeltaWriter::new();
    writer.begin(Tick(70_000));
    for n in 0..12_u8 {
        let far = i32::from(n) * 1_000;
        let pose = PoseChange { moved: Some([far, -3]), heading: Some(n) };
        let props = [Prop::int(n, i64::from(n) << n), Prop::bytes(200, b"a name")];
        let props = if n % 3 == 0 { &props[..] } else { &[] };
        writer.push(u32::from(n) * 20, &DeltaFields { pose, props }).unwrap();
    }
    writer.finish().to_vec()
}

#[test]
fn every_cut_of_a_view_is_refused() {
    let whole = sample_view();
    assert_eq!(view_end(&whole), Ok(28));
    for cut in 0..whole.len() {
        assert_eq!(view_end(&whole[..cut]), Err(CodecError::Truncated), "cut at {cut}");
    }
}

#[test]
fn every_cut_of_a_block_is_refused_and_yields_only_its_true_first_records() {
    let whole = sample_deltas();
    let records: Vec<_> = DeltaReader::new(&whole).unwrap().map(|r| r.unwrap()).collect();
    for cut in 0..whole.len() {
        let Ok(reader) = DeltaReader::new(&whole[..cut]) else { continue };
        let read: Vec<_> = reader.collect();
        let (last, first) = read.split_last().unwrap();
        assert_eq!(last, &Err(CodecError::Truncated), "cut at {cut}");
        let first: Vec<_> = first.iter().map(|r| r.unwrap()).collect();
        assert_eq!(first, records[..first.len()], "cut at {cut}");
    }
}

/// Reads any bytes to the end; whatever is accepted, written again, gives the same bytes.
fn rewrite_deltas(bytes: &[u8]) -> Option<Vec<u8>> {
    let reader = DeltaReader::new(bytes).ok()?;
    let (due, mut seen) = (reader.due(), 0);
    let mut writer = DeltaWriter::new();
    writer.begin(reader.tick());
    for record in reader {
        let delta = record.ok()?;
        seen += 1;
        assert!(seen <= due);
        let props: Vec<_> = delta.props.collect();
        writer.push(delta.index, &DeltaFields { pose: delta.pose, props: &props }).unwrap();
    }
    assert_eq!(seen, due);
    Some(writer.finish().to_vec())
}

fn rewrite_view(bytes: &[u8]) -> Option<Vec<u8>> {
    let reader = ViewReader::new(bytes).ok()?;
    let mut writer = ViewWriter::new();
    writer.begin(reader.tick());
    let mut scratch = Vec::new();
    for record in reader {
        match record.ok()? {
            ViewOp::Leave { entity } => writer.leave(entity).unwrap(),
            ViewOp::Update { entity, fields } => {
                let props: Vec<_> = fields.props.collect();
                let fields = fields.with_props(&props[..]);
                writer.update(encode_update(&mut scratch, entity, &fields).unwrap()).unwrap();
            }
            ViewOp::Enter { entity, kind, full } => {
                let props: Vec<_> = full.props.collect();
                writer.enter(entity, kind, &full.with_props(&props[..])).unwrap();
            }
            ViewOp::Reset { entity, full } => {
                let props: Vec<_> = full.props.collect();
                writer.reset(entity, &full.with_props(&props[..])).unwrap();
            }
        }
    }
    Some(writer.finish().to_vec())
}

fn sample_view() -> Vec<u8> {
    let (mut writer, mut scratch) = (ViewWriter::new(), Vec::new());
    writer.begin(Tick(70_000));
    for n in 1..8_u8 {
        let entity = EntityId::new(SlotId(n), 1 << (4 * n));
        let version = Version { epoch: Epoch::of_grant(u64::from(n)), seq: Seq(300) };
        let props = [Prop::int(n, -i64::from(n)), Prop::bytes(40, b"a name")];
        let pose = Pose::of_world(i32::from(n) * 99_999, -7, 0x2000);
        let full = FullView { version, pose, speculative: n % 2 == 0, props: &props[..] };
        let fields = ViewFields {
            version: (n % 3 == 0).then_some(version),
            position: (n % 2 == 0).then_some([pose.x(), pose.y()]),
            heading: Some(n),
            speculative: true,
            props: &props[..usize::from(n % 3)],
        };
        writer.enter(entity, KindId(u16::from(n) << 6), &full).unwrap();
        writer.update(encode_update(&mut scratch, entity, &fields).unwrap()).unwrap();
        writer.reset(entity, &full).unwrap();
        writer.leave(entity).unwrap();
    }
    writer.finish().to_vec()
}

#[test]
fn a_single_bit_error_is_refused_or_is_written_back_alike() {
    let mut accepted = [0, 0];
    for (kind, (whole, rewrite)) in
        [(sample_deltas(), rewrite_deltas as fn(&[u8]) -> _), (sample_view(), rewrite_view)]
            .into_iter()
            .enumerate()
    {
        assert_eq!(rewrite(&whole).as_ref(), Some(&whole));
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Some(again) = rewrite(&bytes) {
                assert_eq!(again, bytes, "bit {bit}");
                accepted[kind] += 1;
            }
        }
    }
    // Otherwise the comparison above would say nothing.
    assert!(accepted.iter().all(|n| *n > 100), "{accepted:?} accepted");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_never_panic(
        raw in vec(any::<u8>(), 0..80),
        count in 0_u32..9,
        small in vec(0_u8..0x30, 0..40),
    ) {
        for records in [&raw, &small] {
            rewrite_deltas(&block(0x11, count, records));
            rewrite_view(&block(0x21, count, records));
        }
        rewrite_deltas(&raw);
        rewrite_view(&raw);
    }

    #[test]
    fn a_damaged_block_is_refused_or_has_one_spelling(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for (mut bytes, rewrite) in
            [(sample_deltas(), rewrite_deltas as fn(&[u8]) -> _), (sample_view(), rewrite_view)]
        {
            for (at, byte) in &damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Some(again) = rewrite(&bytes) {
                prop_assert_eq!(&again, &bytes);
            }
            bytes.truncate(cut.index(bytes.len()));
            if let Some(again) = rewrite(&bytes) {
                prop_assert_eq!(&again, &bytes);
            }
        }
    }
}
