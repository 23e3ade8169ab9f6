//! Cuts, flips and arbitrary bytes.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

const LIMIT: usize = 64;

fn format() -> Format {
    Format { magic: *b"TESTSEGM", versions: 2..=3 }
}

/// A segment with these records, and where each of them begins.
fn segment(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let writer = FrameWriter::new(write_header(&format(), b"meta", &mut bytes), LIMIT);
    let mut starts = Vec::new();
    for payload in payloads {
        starts.push(bytes.len());
        writer.write(payload, &mut bytes).unwrap();
    }
    (bytes, starts)
}

fn read(bytes: &[u8]) -> Result<(Vec<Vec<u8>>, Tail), HeaderError> {
    let header = read_header(&format(), bytes)?;
    let mut reader = FrameReader::new(bytes, header.len, header.salt, LIMIT);
    let records = reader.by_ref().map(|r| r.payload.to_vec()).collect();
    Ok((records, reader.tail()))
}

fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![3 => Just(0), 1 => Just(8), 1 => any::<u8>()];
    prop::collection::vec(prop::collection::vec(byte, 1..=LIMIT), 1..12)
}

#[test]
fn a_cut_at_any_byte_keeps_all_whole_records_and_is_torn() {
    let payloads: Vec<Vec<u8>> = (1..=20).map(|n| vec![n; n as usize]).collect();
    let (bytes, mut starts) = segment(&payloads);
    starts.push(bytes.len());
    for cut in 0..bytes.len() {
        let Ok((records, tail)) = read(&bytes[..cut]) else {
            assert!(cut < starts[0], "a whole header is read");
            assert_eq!(read(&bytes[..cut]).unwrap_err(), HeaderError::Truncated);
            continue;
        };
        let whole = starts.iter().filter(|start| **start <= cut).count() - 1;
        assert_eq!(records, payloads[..whole]);
        let at_boundary = starts[whole] == cut;
        let torn = Tail::Torn { offset: starts[whole] };
        assert_eq!(tail, if at_boundary { Tail::Clean } else { torn });
    }
}

#[test]
fn each_flipped_bit_is_found_where_it_is() {
    let payloads: Vec<Vec<u8>> = (1..=6).map(|n| vec![n; 5 + n as usize]).collect();
    let (bytes, starts) = segment(&payloads);
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok((records, tail)) = read(&bytes) else {
            assert!(bit / 8 < starts[0]);
            continue;
        };
        let broken = starts.iter().filter(|start| **start <= bit / 8).count() - 1;
        assert_eq!(records, payloads[..broken]);
        let offset = starts[broken];
        let last = broken + 1 == payloads.len();
        let in_length = bit / 8 < offset + 4;
        let corrupt = Tail::Corrupt { offset };
        match tail {
            // A last record that claims to be shorter than it is has something behind it.
            _ if last && in_length => assert_ne!(tail, Tail::Clean),
            _ => assert_eq!(tail, if last { Tail::Torn { offset } } else { corrupt }),
        }
    }
}

#[test]
fn a_broken_record_can_be_passed_on_request() {
    let payloads: Vec<Vec<u8>> = (1..=3).map(|n| vec![n; 9]).collect();
    let (mut bytes, starts) = segment(&payloads);
    bytes[starts[1] + RECORD_HEAD] ^= 1;
    let header = read_header(&format(), &bytes).unwrap();
    let mut reader = FrameReader::new(&bytes, header.len, header.salt, LIMIT);
    assert_eq!(reader.by_ref().count(), 1);
    let Search::Found(mut later) = reader.search(|_| true) else { panic!("there is a third") };
    assert_eq!(later.next(), Some(Record { offset: starts[2], payload: &[3; 9] }));
    assert_eq!(later.tail(), Tail::Clean);
    assert!(matches!(reader.search(|payload| payload[0] == 7), Search::Nothing));
}

#[test]
fn a_segment_inside_a_torn_payload_is_no_record() {
    let (inner, _) = segment(&[vec![1; 4]]);
    let mut outer = Vec::new();
    let salt = write_header(&format(), b"another", &mut outer);
    FrameWriter::new(salt, LIMIT).write(&inner, &mut outer).unwrap();
    let header = read_header(&format(), &outer).unwrap();
    let cut = FrameReader::new(&outer[..outer.len() - 1], header.len, header.salt, LIMIT);
    assert_eq!(cut.tail(), Tail::Torn { offset: header.len });
}

#[test]
fn space_that_was_never_written_is_a_torn_end() {
    let (mut bytes, _) = segment(&[vec![1; 4]]);
    let end = bytes.len();
    bytes.resize(end + 4096, 0);
    assert_eq!(read(&bytes).unwrap(), (vec![vec![1; 4]], Tail::Torn { offset: end }));
}

#[test]
fn a_length_over_the_limit_is_refused_by_writer_and_reader() {
    let (mut bytes, starts) = segment(&[vec![1; 4], vec![2; 4]]);
    let header = read_header(&format(), &bytes).unwrap();
    let writer = FrameWriter::new(header.salt, LIMIT + 1);
    let strict = FrameWriter::new(header.salt, LIMIT);
    let (len, limit) = (LIMIT + 1, LIMIT);
    let end = bytes.len();
    let too_large = Err(FrameError::TooLarge { len, limit });
    assert_eq!(strict.write(&vec![3; len], &mut bytes), too_large);
    assert_eq!(strict.write(&[], &mut bytes), Err(FrameError::Empty));
    assert_eq!(bytes.len(), end, "a refused record leaves nothing behind");
    writer.write(&vec![3; len], &mut bytes).unwrap();
    assert_eq!(read(&bytes).unwrap().0.len(), 2);
    bytes[starts[0]..starts[0] + 4].copy_from_slice(&[0xff; 4]);
    assert_eq!(read(&bytes).unwrap(), (vec![], Tail::Corrupt { offset: starts[0] }));
}

#[test]
fn a_header_of_another_kind_or_version_names_itself() {
    let other = Format { magic: *b"OTHERSEG", versions: 3..=3 };
    let newer = Format { magic: *b"TESTSEGM", versions: 4..=4 };
    let mut bytes = Vec::new();
    write_header(&other, b"", &mut bytes);
    assert_eq!(read(&bytes).unwrap_err(), HeaderError::WrongMagic);
    bytes.clear();
    write_header(&newer, b"", &mut bytes);
    let unknown = HeaderError::UnknownVersion { found: 4, oldest: 2, newest: 3 };
    assert_eq!(read(&bytes).unwrap_err(), unknown);
    let older = Format { magic: *b"TESTSEGM", versions: 1..=2 };
    bytes.clear();
    write_header(&older, b"", &mut bytes);
    assert_eq!(read_header(&format(), &bytes).unwrap().version, 2);
}

#[test]
fn a_search_through_lengths_without_end_gives_up_instead_of_hanging() {
    // Each offset claims a megabyte: trying all of them would hash a terabyte.
    let bytes = [0, 0, 16, 0].repeat(1 << 19);
    let reader = FrameReader::new(&bytes, 0, Salt(1), 4 << 20);
    assert!(matches!(reader.search(|_| true), Search::GaveUp));
    assert!(matches!(reader.search(|_| false), Search::Nothing));
}

proptest! {
    #[test]
    fn any_cut_recovers_the_records_before_it(
        payloads in payloads(), cut in any::<prop::sample::Index>()
    ) {
        let (bytes, starts) = segment(&payloads);
        let cut = starts[0] + cut.index(bytes.len() - starts[0]);
        let (records, tail) = read(&bytes[..cut]).unwrap();
        prop_assert!(payloads.starts_with(&records));
        let whole = starts.iter().filter(|s| **s <= cut).count() - 1;
        prop_assert!(records.len() == whole || tail == Tail::Clean);
        prop_assert!(!matches!(tail, Tail::Corrupt { .. }), "{tail:?}");
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut junk in prop::collection::vec(any::<u8>(), 0..300), payloads in payloads()
    ) {
        let _ = read(&junk);
        let (mut bytes, _) = segment(&payloads);
        let at = junk.len() % bytes.len();
        junk.truncate(bytes.len() - at);
        bytes[at..at + junk.len()].copy_from_slice(&junk);
        if let Ok((records, _)) = read(&bytes) {
            prop_assert!(records.len() <= payloads.len());
        }
    }
}
