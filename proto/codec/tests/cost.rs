//! Exact costs of the workload that `examples/codec_cost` measures: bytes and allocations do not
//! depend on the machine, so that they are asserted here.
#![allow(clippy::unwrap_used)]

#[path = "../examples/codec_cost/protobuf.rs"]
mod protobuf;
#[path = "../examples/codec_cost/workload.rs"]
mod workload;

use allocation_counter::measure;
use marchland_codec_core::{
    DeltaWriter, HEADER_BYTES_MAX, Prop, UpdateArena, ViewFields, ViewReader, ViewWriter,
};
use marchland_common::order::{EntityId, SlotId, Tick};
use workload::{GHOSTS, Ghosts, Ticks, WALK_MM, apply, encode};

fn bytes_per_ghost(blocks: &[Vec<u8>]) -> f64 {
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    bytes as f64 / (blocks.len() * GHOSTS) as f64
}

#[test]
fn a_walking_ghost_takes_less_than_three_and_a_half_bytes_and_a_running_one_less_than_five() {
    let walking = bytes_per_ghost(&Ticks::walking().packed());
    assert!(walking <= 3.5, "{walking} bytes per walking ghost");
    let running = bytes_per_ghost(&Ticks::moving(3 * WALK_MM).packed());
    assert!(walking < running && running <= 5.0, "{running} bytes per running ghost");
}

#[test]
fn protobuf_takes_at_least_two_and_a_half_times_the_bytes() {
    let work = Ticks::walking();
    let ratio = bytes_per_ghost(&work.protobuf()) / bytes_per_ghost(&work.packed());
    assert!(ratio >= 2.5, "{ratio} times the bytes");
}

#[test]
fn both_codecs_carry_the_same_changes() {
    let work = Ticks::walking();
    let (mut by_packed, mut by_protobuf) = (Ghosts::default(), Ghosts::default());
    let mut reader = protobuf::Reader::default();
    for (packed, protobuf) in work.packed().iter().zip(work.protobuf()) {
        assert_eq!(apply(packed, &mut by_packed), reader.apply(&protobuf, &mut by_protobuf));
    }
    assert_eq!(by_packed, by_protobuf);
    assert_ne!(by_packed, Ghosts::default());
}

#[test]
fn the_header_takes_at_most_two_dozen_bytes() {
    let mut writer = DeltaWriter::new();
    writer.begin(Tick(u64::MAX));
    assert_eq!(writer.finish().len(), HEADER_BYTES_MAX);
    const { assert!(HEADER_BYTES_MAX <= 24) };
}

#[test]
fn encoding_and_applying_a_thousand_ghosts_allocates_nothing_once_the_buffer_has_grown() {
    let work = Ticks::walking();
    let mut writer = DeltaWriter::new();
    let longest = work.iter().max_by_key(|tick| encode(&mut writer, tick).len()).unwrap();
    encode(&mut writer, longest);
    let mut ghosts = Ghosts::default();
    let steady = measure(|| {
        for tick in work.iter() {
            apply(encode(&mut writer, tick), &mut ghosts);
        }
    });
    assert_eq!(steady.count_total, 0);
    let queued = measure(|| drop(writer.finish_bytes()));
    assert_eq!(queued.count_total, 1, "one allocation per block");
}

#[test]
fn sixty_two_updates_for_a_hundred_witnesses_are_encoded_once_and_copied_without_allocation() {
    const VISIBLE: u64 = 62;
    let mut arena = UpdateArena::default();
    let mut witness = ViewWriter::new();
    let mut refs = Vec::with_capacity(VISIBLE as usize);
    let mut tick = |number: u64| {
        arena.begin();
        refs.clear();
        for n in 0..VISIBLE {
            let hp = [Prop::int(2, 90)];
            let fields = ViewFields {
                position: Some([n as i32 * 100, -3_000]),
                heading: Some(7),
                props: if n % 10 == 0 { &hp[..] } else { &[] },
                ..ViewFields::default()
            };
            refs.push(arena.encode(EntityId::new(SlotId(1), n + 1), &fields).unwrap());
        }
        for _ in 0..100 {
            witness.begin(Tick(number));
            for update in &refs {
                witness.update(arena.get(*update).unwrap()).unwrap();
            }
        }
        assert_eq!(ViewReader::new(witness.finish()).unwrap().count(), VISIBLE as usize);
        witness.byte_len()
    };
    let bytes = tick(1);
    assert!(bytes <= 62 * 9, "{bytes} bytes for {VISIBLE} movers");
    assert_eq!(measure(|| assert_eq!(tick(2), bytes)).count_total, 0);
}
