//! The link plane: bundles of every message, whole and damaged.

use crate::recorded::{Counts, encoded, frames, read, record, words};
use marchland_common::msg::{
    BaseToBase, BaseToCell, Bundle, CellToBase, CellToCell, Header, Moment, Msg,
};
use marchland_common::order::Tick;
use marchland_common::rng::Rng;
use marchland_fuzz::{damaged, each_round, examples, mutate_fields, pick};
use marchland_proto::convert::{BUNDLE_CHANGES_MAX, BUNDLE_MEMORY, BUNDLE_MSGS_MAX, BadMessage};
use marchland_runtime::link::BUNDLE_BYTES_MAX;
use std::collections::BTreeMap;

/// What it may reserve besides, however little it is given.
const BYTES_BESIDE: u64 = 64 << 10;

fn bundle_of(header: Header, msgs: Vec<Msg>) -> Bundle {
    Bundle { n: 7, src_tick: Tick(900), moment: Moment::Flush, phase_us: -3, header, msgs }
}

/// Bundles of one message each, of every kind: as they were sent in a real run, and drawn.
fn corpus() -> Vec<Bundle> {
    let report = record();
    let frames = frames(&report);
    let (words, mut rng) = (words(&report, &frames), Rng(3));
    let mut of_kind: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let mut corpus = Vec::new();
    for frame in frames {
        let header = frame.bundle.header;
        for msg in frame.bundle.msgs {
            // The first two bytes of an encoded message are its direction and its variant.
            let kind = postcard::to_stdvec(&msg).unwrap()[..2].to_vec();
            let count = of_kind.entry(kind).or_default();
            *count += 1;
            if *count < 40 && count.is_multiple_of(4) {
                corpus.push(bundle_of(header, vec![msg]));
            }
        }
    }
    assert!(of_kind.len() > 20, "the run sent only {} kinds of messages", of_kind.len());
    let to_base = examples::<CellToBase>(&mut rng, &words, 12).into_iter().map(Msg::CellToBase);
    let to_cell = examples::<BaseToCell>(&mut rng, &words, 12).into_iter().map(Msg::BaseToCell);
    let cells = examples::<CellToCell>(&mut rng, &words, 12).into_iter().map(Msg::CellToCell);
    let bases = examples::<BaseToBase>(&mut rng, &words, 12).into_iter().map(Msg::BaseToBase);
    for msg in to_base.chain(to_cell).chain(cells).chain(bases) {
        corpus.push(bundle_of(Header::Peer, vec![msg]));
    }
    for header in examples(&mut rng, &words, 4) {
        corpus.push(bundle_of(header, Vec::new()));
    }
    corpus
}

/// Reads bytes, and holds what reads against what it must be.
fn take(bytes: &[u8]) -> Result<Bundle, BadMessage> {
    let mut result = Ok(());
    let mut read_back = None;
    let cost = allocation_counter::measure(|| match read(bytes) {
        Ok(bundle) => read_back = Some(bundle),
        Err(bad) => result = Err(bad),
    });
    let most = BUNDLE_MEMORY * bytes.len() as u64 + BYTES_BESIDE;
    assert!(cost.bytes_max <= most, "{} bytes took {}", bytes.len(), cost.bytes_max);
    result?;
    let bundle = read_back.unwrap();
    assert_eq!(read(&encoded(bundle.clone())).as_ref(), Ok(&bundle));
    Ok(bundle)
}

#[test]
fn every_message_comes_back_equal_and_damaged_it_is_read_or_refused() {
    let corpus: Vec<Bundle> = corpus();
    let encoded: Vec<Vec<u8>> = corpus.iter().cloned().map(encoded).collect();
    for (bundle, bytes) in corpus.iter().zip(&encoded) {
        assert_eq!(take(bytes).as_ref(), Ok(bundle));
    }
    let mut counts = Counts::default();
    each_round("bundles", 40_000, |rng| {
        let (bytes, other) = (pick(rng, &encoded), pick(rng, &encoded));
        let bytes = match rng.below(4) {
            0 => damaged(rng, bytes, other),
            _ => mutate_fields(rng, bytes, other),
        };
        counts.add(match take(&bytes) {
            Ok(_) => "read",
            Err(_) => "refused",
        });
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        let both = [counts.of("read"), counts.of("refused")];
        assert!(both.iter().all(|count| *count > 5_000), "read and refused: {both:?}");
    }
}

/// A field of protobuf.
fn field(number: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(&(number << 3 | 2)).unwrap();
    bytes.extend(postcard::to_stdvec(&(body.len() as u64)).unwrap());
    bytes.extend_from_slice(body);
    bytes
}

/// So many elements of a list that each take as few bytes as can be.
fn packed(len: usize, element: &[u8]) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(&(len / element.len())).unwrap();
    bytes.extend(element.iter().cycle().take(len / element.len() * element.len()));
    bytes
}

/// Steps in one item: of each the entity, epoch, seq, digests, time, no first tick, and a delta of
/// changes that are one byte each.
fn steps(changes: &[usize]) -> Vec<u8> {
    let step = |count: &usize| {
        let head: &[u8] = &[1, 1, 1, 1, 1, 1, 0, 0];
        [head, &packed(*count, &[13])].concat()
    };
    let mut bytes = postcard::to_stdvec(&changes.len()).unwrap();
    bytes.extend(changes.iter().flat_map(step));
    let (header, item) = (field(7, &[]), field(1, &bytes));
    [header, field(8, &item)].concat()
}

/// What a message of the allowed bytes may hold would take gigabytes: it is refused for its counts.
#[test]
fn a_bundle_that_holds_more_than_a_process_says_at_once_is_refused_before_room_is_made_for_it() {
    let most = read(&steps(&[BUNDLE_CHANGES_MAX - 1, 1])).unwrap();
    assert_eq!(most.msgs.len(), 2);
    let len = BUNDLE_BYTES_MAX - 64;
    let item = |what: Vec<u8>| [field(7, &[]), field(8, &what)].concat();
    let small = [&field(7, &[])[..], &field(8, &field(33, &[])).repeat(len / 5)].concat();
    let hostile = [
        ("changes", steps(&[BUNDLE_CHANGES_MAX, 1])),
        ("changes", steps(&[len])),
        ("messages", item(field(1, &packed(len, &[1, 1, 1, 1, 1, 1, 0, 0, 0])))),
        ("messages", item(field(20, &packed(len, &[1, 1, 1])))),
        ("messages", small),
    ];
    for (what, bytes) in hostile {
        assert!(bytes.len() <= BUNDLE_BYTES_MAX);
        let mut said = None;
        let cost = allocation_counter::measure(|| said = read(&bytes).err());
        assert_eq!(said, Some(BadMessage::TooMany(what)));
        assert!(cost.bytes_max <= (1 << 20) + bytes.len() as u64, "{what}: {}", cost.bytes_max);
    }
    // A cellapp's megabyte of the smallest messages fits.
    const { assert!(BUNDLE_MSGS_MAX * 4 >= 1 << 20) }
}

#[test]
fn a_bundle_of_the_smallest_parts_takes_no_more_memory_than_is_said() {
    // As much as is not refused for its counts.
    const LEN: usize = BUNDLE_MSGS_MAX * 3;
    let header = field(7, &[]);
    let items =
        |item: &[u8]| [header.clone(), field(8, item).repeat(LEN / (item.len() + 2))].concat();
    let item = |what: Vec<u8>| [header.clone(), field(8, &what)].concat();
    let kinds = [
        ("empty items", items(&[])),
        ("small items", items(&field(33, &[]))),
        ("acknowledgements", item(field(20, &packed(LEN, &[1, 1, 1])))),
        ("steps", item(field(1, &packed(LEN, &[1, 1, 1, 1, 1, 1, 0, 0, 0])))),
        ("changes", steps(&[BUNDLE_CHANGES_MAX])),
        ("slots", item(field(36, &packed(LEN, &[1, 1])))),
        ("sessions", item(field(21, &field(8, &[]).repeat(LEN / 2)))),
        ("hosts", item(field(50, &field(8, &[]).repeat(LEN / 2)))),
        ("witnesses", item(field(50, &field(9, &[]).repeat(LEN / 2)))),
        ("sights", item(field(50, &field(9, &field(3, &[]).repeat(LEN / 2))))),
        ("properties", item(field(51, &field(7, &[]).repeat(LEN / 2)))),
    ];
    let mut over = Vec::new();
    for (name, bytes) in kinds {
        let cost = allocation_counter::measure(|| drop(read(&bytes)));
        let ratio = cost.bytes_max / bytes.len() as u64;
        if ratio > BUNDLE_MEMORY {
            over.push((name, ratio));
        }
    }
    assert!(over.is_empty(), "{over:?}");
}
