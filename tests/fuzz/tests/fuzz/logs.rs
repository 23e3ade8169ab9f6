//! The write-ahead log: records, files, and what a base makes of them.

use crate::recorded::{Counts, SEED, first_life, frames, record, words};
use marchland_baseapp::log::scan::{Scanner, Start};
use marchland_baseapp::log::segment::{SegmentMeta, segment_format, write_meta};
use marchland_baseapp::log::{
    Log, LogConfig, LogIdentity, LogReport, MemoryDisk, OpenError, Storage, Survives, Unbegun,
};
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{BaseConfig, BaseInput};
use marchland_baseapp_core::log::{LogRecord, replay};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::journal::frame::FrameWriter;
use marchland_common::msg::Moment;
use marchland_common::order::{Lsn, Node, NodeKind, Term, Tick};
use marchland_common::rng::Rng;
use marchland_frontier_core::kinds;
use marchland_fuzz::{damaged, each_round, examples, mutate, pick};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a decoder may reserve for each byte that it is given.
const BYTES_PER_BYTE: u64 = 200;
const BYTES_BESIDE: u64 = 64 << 10;

/// Records as a base wrote them, and of every kind.
fn corpus() -> (Node, Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let report = record();
    let (me, _) = first_life(&report, NodeKind::Base, 1);
    let written = report.logs[&me.name].clone();
    let words = words(&report, &frames(&report));
    let drawn = examples::<LogRecord>(&mut Rng(7), &words, 30);
    (me, written, drawn.iter().map(LogRecord::encode).collect())
}

#[test]
fn every_record_comes_back_equal_and_damaged_it_is_read_or_refused() {
    let (_, mut corpus, drawn) = corpus();
    corpus.extend(drawn);
    let mut counts = Counts::default();
    let mut take = |bytes: &[u8]| {
        let mut read = None;
        let cost = allocation_counter::measure(|| read = LogRecord::decode(bytes).ok());
        let most = BYTES_PER_BYTE * bytes.len() as u64 + BYTES_BESIDE;
        assert!(cost.bytes_max <= most, "{} bytes took {}", bytes.len(), cost.bytes_max);
        let Some(record) = read else { return counts.add("refused") };
        assert_eq!(LogRecord::decode(&record.encode()).as_ref(), Ok(&record));
        counts.add("read");
    };
    corpus.iter().for_each(|bytes| take(bytes));
    each_round("records", 30_000, |rng| {
        let (bytes, other) = (pick(rng, &corpus), pick(rng, &corpus));
        take(&damaged(rng, bytes, other));
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        assert!(["read", "refused"].iter().all(|name| counts.of(name) > 5_000), "{counts:?}");
    }
}

/// A base that goes on from what its log says, for a little.
fn live(me: Node, recovered: marchland_baseapp_core::log::Recovered) {
    let mut slots: Vec<_> = recovered.store.slots.keys().copied().collect();
    slots.truncate(300);
    let life = Node { incarnation: marchland_common::order::Incarnation(1 << 40), ..me };
    let config = BaseConfig::new(life, SEED, 50_000);
    let mut core = BaseCore::new(config, Arc::new(kinds()), recovered);
    let cell = Node::new(NodeKind::Cell, 1, 1 << 41);
    let members = [life, cell].map(|node| Member { node, state: MemberState::Serving });
    let owner = |slot| SlotOwner { slot, base: me.name, term: Term(1 << 40) };
    let mut map = vec![
        MapChange::Members(members.to_vec()),
        MapChange::Slots(slots.into_iter().map(owner).collect()),
    ];
    for tick in 1..4 {
        let input = BaseInput {
            tick: Tick(1_000_000 + tick),
            moment: Moment::Flush,
            dropped: None,
            durable: Some(core.last_lsn()),
            map: std::mem::take(&mut map),
            frames: Vec::new(),
            clients: Vec::new(),
            orders: Vec::new(),
        };
        core.tick(input);
    }
}

#[test]
fn a_log_with_other_records_in_it_is_refused_or_gone_on_from() {
    let (me, written, drawn) = corpus();
    let kinds = kinds();
    let written = &written[..written.len().min(400)];
    let mut counts = Counts::default();
    each_round("replay", 600, |rng| {
        let mut log = written.to_vec();
        log.truncate(rng.below(log.len() as u64) as usize + 1);
        for _ in 0..=rng.below(3) {
            let at = rng.below(log.len() as u64) as usize;
            match rng.below(4) {
                0 => {
                    let other = pick(rng, written);
                    log[at] = damaged(rng, &log[at], other);
                }
                1 => log.insert(at, pick(rng, &drawn).clone()),
                2 => {
                    let (bytes, other) = (pick(rng, &drawn), pick(rng, written));
                    log.insert(at, damaged(rng, bytes, other));
                }
                _ => drop(log.swap_remove(at)),
            }
            if log.is_empty() {
                return;
            }
        }
        match replay(&kinds, &log) {
            Ok(recovered) => {
                live(me, recovered);
                counts.add("read");
            }
            Err(_) => counts.add("refused"),
        }
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        assert!(["read", "refused"].iter().all(|name| counts.of(name) > 30), "{counts:?}");
    }
}

fn identity() -> LogIdentity {
    LogIdentity { cluster: 7, base: "base-1".to_owned(), term: Term(3) }
}

/// A log in three segments with a checkpoint, and its records.
fn on_disk(written: &[Vec<u8>]) -> MemoryDisk {
    let disk = MemoryDisk::default();
    let bytes = written.iter().map(|record| record.len() as u64 + 40).sum::<u64>();
    let config = LogConfig { segment_bytes: bytes / 3, ..LogConfig::STANDARD };
    let (mut log, _) =
        Log::open_in(Box::new(disk.clone()), identity(), config, Box::new(|| {})).unwrap();
    for group in written.chunks(5) {
        for record in group {
            log.append(record.clone()).unwrap();
        }
        let lsn = log.commit();
        while !log.persisted().covers(lsn) {
            let report = log.wait(Instant::now() + Duration::from_secs(60)).unwrap();
            assert!(!matches!(report, LogReport::Stalled { .. }));
        }
    }
    assert!(log.close(Duration::from_secs(60)).ended);
    disk
}

fn numbered(written: &[Vec<u8>], count: usize) -> Vec<(Lsn, Vec<u8>)> {
    let number = |(at, record): (usize, &Vec<u8>)| (Lsn(at as u64 + 1), record.clone());
    written.iter().take(count).enumerate().map(number).collect()
}

#[test]
fn a_damaged_file_of_a_log_gives_a_beginning_of_what_was_written_and_nothing_else() {
    let (_, written, _) = corpus();
    let written = &written[..60];
    let disk = on_disk(written);
    let names = disk.list().unwrap();
    assert!(names.len() >= 3, "{names:?}");
    let mut counts = Counts::default();
    each_round("log files", 2_000, |rng| {
        let disk = disk.crash(Survives::Everything);
        let (name, other) = (pick(rng, &names), pick(rng, &names));
        let other = disk.content(other).unwrap();
        disk.damage(name, |bytes| mutate(rng, bytes, &other));
        let read = match Unbegun::read(Box::new(disk), identity()) {
            Ok(log) => {
                counts.add("whole or torn");
                log.recovery().records.clone()
            }
            Err(OpenError::Broken(broken)) => {
                counts.add("broken");
                let _ = broken.following();
                broken.before().records.clone()
            }
            Err(_) => return counts.add("refused"),
        };
        assert_eq!(read, numbered(written, read.len()), "{name}");
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        assert!(["whole or torn", "broken"].iter().all(|n| counts.of(n) > 20), "{counts:?}");
    }
}

#[test]
fn frames_that_are_whole_around_any_content_are_read_or_called_damage() {
    let (_, written, _) = corpus();
    let meta = SegmentMeta {
        identity: identity(),
        first_lsn: Lsn(1),
        prev_hash: marchland_baseapp::log::record::genesis_hash(7, "base-1"),
        group_bytes: 1 << 20,
    };
    let mut taken = 0;
    each_round("frames", 4_000, |rng| {
        let mut bytes = Vec::new();
        let salt = if rng.chance(1, 4) {
            let meta = damaged(rng, &postcard::to_stdvec(&meta).unwrap(), &written[0]);
            marchland_common::journal::frame::write_header(&segment_format(), &meta, &mut bytes)
        } else {
            write_meta(&segment_format(), &meta, &mut bytes)
        };
        let frames = FrameWriter::new(salt, 1 << 20);
        let mut hash = meta.prev_hash;
        for n in 1..5 {
            let payload = &pick(rng, &written)[..];
            let mut record = Vec::new();
            marchland_baseapp::log::record::WalRecord {
                lsn: Lsn(n),
                durable: Lsn(n - 1),
                prev_hash: hash,
                payload,
            }
            .encode(&mut record);
            if rng.chance(1, 4) {
                record = damaged(rng, &record, &written[0]);
            }
            hash = marchland_baseapp::log::record::chain_hash(&record);
            // An empty record cannot be written.
            let _ = frames.write(&record, &mut bytes);
        }
        let mut scanner = Scanner::new(Some(identity()), Start::default());
        let read = scanner.segment(1, &bytes, rng.chance(1, 2));
        taken += u64::from(matches!(read, Ok(Ok(()))) && scanner.finish().is_ok());
        let _ = marchland_baseapp::log::scan::readable_records(&bytes, Lsn(rng.below(4)));
        let _ = marchland_baseapp::log::image::read_image(&bytes, Lsn(rng.below(4)));
    });
    assert!(taken > 0 || std::env::var_os("MARCH_FUZZ_ROUND").is_some());
}
