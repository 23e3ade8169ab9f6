//! Damage: found where it is, never taken for a crash, and not the end of the log.
#![allow(clippy::unwrap_used)]

use super::tests::*;
use super::*;
use marchland_common::journal::frame::FrameWriter;
use marchland_common::order::{Lsn, Term};

/// Twenty records in three segments, one group each.
fn written() -> MemoryDisk {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=20);
    close(log);
    assert_eq!(disk.list().unwrap().len(), 3);
    disk
}

fn broken(disk: &MemoryDisk) -> Box<Broken> {
    match try_open(disk) {
        Err(OpenError::Broken(broken)) => broken,
        Err(other) => panic!("{other}"),
        Ok((_, recovery)) => panic!("not seen: {recovery:?}"),
    }
}

#[test]
fn a_flipped_bit_before_the_last_record_is_found_where_it_is() {
    let disk = written();
    for name in disk.list().unwrap() {
        let len = disk.content(&name).unwrap().len();
        let last_record = if name == "00000003.wal" { payload(20).len() + 32 } else { 0 };
        for byte in (0..len - last_record).step_by(3) {
            let disk = disk.crash(Survives::Everything);
            disk.damage(&name, |bytes| bytes[byte] ^= 1 << (byte % 8));
            match try_open(&disk) {
                Err(OpenError::Broken(broken)) => {
                    let (damage, before) = (broken.damage(), &broken.before().records);
                    assert_eq!(damage.file, name, "{byte}");
                    assert!(damage.offset <= byte as u64);
                    assert_eq!(damage.lsn, Lsn(before.len() as u64 + 1));
                    assert_eq!(*before, numbered(1..damage.lsn.0));
                    let after = broken.following().unwrap();
                    let complete = numbered(damage.lsn.0 + 1..=20);
                    assert!(after.ends_with(&complete), "{name} {byte}: {after:?}");
                }
                Err(OpenError::Refused(ScanRefusal::Version { .. })) => {
                    panic!("a damaged version is damage");
                }
                Err(other) => panic!("{name} {byte}: {other}"),
                Ok((_, recovery)) => panic!("{name} {byte}: {recovery:?}"),
            }
        }
    }
}

#[test]
fn a_flipped_bit_in_the_last_record_is_damage_too_unless_it_looks_cut_off() {
    let disk = written();
    let len = disk.content("00000003.wal").unwrap().len();
    let start = len - payload(20).len() - 32;
    for byte in start..len {
        let disk = disk.crash(Survives::Everything);
        disk.damage("00000003.wal", |bytes| bytes[byte] ^= 0x40);
        match try_open(&disk) {
            Err(OpenError::Broken(broken)) => assert_eq!(broken.damage().lsn, Lsn(20)),
            Ok((_, recovery)) => {
                assert!(byte < start + 4, "only a length can look cut off: {byte}");
                assert_eq!(recovery.records, numbered(1..=19));
                assert_eq!(recovery.torn.unwrap().bytes, (len - start) as u64);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// With one segment for everything.
fn open_large(disk: &MemoryDisk) -> (Log, Recovery) {
    let config = LogConfig { segment_bytes: 1 << 20, ..small() };
    Log::open_in(Box::new(disk.clone()), identity(3), config, sleeper()).unwrap()
}

#[test]
fn more_than_a_group_cannot_be_torn_off() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open_large(&disk);
    write_each(&mut log, 1..=60);
    close(log);
    disk.damage("00000001.wal", |bytes| {
        let end = bytes.len();
        bytes[end - 1500..].fill(0);
    });
    assert_eq!(broken(&disk).damage().kind, DamageKind::Record);
}

#[test]
fn a_hole_in_the_group_that_was_being_written_is_torn_and_a_hole_before_it_is_damage() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open_large(&disk);
    write_each(&mut log, 1..=9);
    let before = disk.content("00000001.wal").unwrap().len();
    assert!((400..512).contains(&before));
    // One record fills the sectors that will be missing, a whole one follows in the same group.
    log.append(vec![7; 600]).unwrap();
    log.append(payload(11)).unwrap();
    log.commit();
    until_durable(&mut log, Lsn(11));
    let hole = |disk: &MemoryDisk| {
        disk.damage("00000001.wal", |bytes| bytes[512..1024].fill(0));
    };
    let crashed = disk.crash(Survives::Everything);
    hole(&crashed);
    let torn = open(&crashed).1.torn.unwrap();
    assert_eq!((torn.offset, torn.records), (before as u64, 1));

    log.append(payload(12)).unwrap();
    close(log);
    assert_eq!(disk.list().unwrap(), vec!["00000001.wal"]);
    hole(&disk);
    assert_eq!(broken(&disk).damage().lsn, Lsn(10), "a later record proves that it was synced");
}

#[test]
fn a_missing_segment_and_a_missing_record_are_damage() {
    let mut disk = written();
    let whole = disk.content("00000002.wal").unwrap();
    let first = open(&disk).1.records.len();
    assert_eq!(first, 20);
    disk.remove("00000002.wal").unwrap();
    let missing = broken(&disk);
    assert_eq!(missing.damage().kind, DamageKind::Missing);
    assert_eq!(missing.before().records, numbered(1..missing.damage().lsn.0));

    disk.create("00000002.wal").unwrap();
    let record = payload(10).len() + 32;
    let without = [&whole[..whole.len() - 2 * record], &whole[whole.len() - record..]].concat();
    disk.write_at("00000002.wal", 0, &without).unwrap();
    assert!(matches!(broken(&disk).damage().kind, DamageKind::Position { .. }));
}

#[test]
fn files_of_another_history_do_not_fit() {
    let other = MemoryDisk::default();
    let (mut log, _) = open(&other);
    for n in 1..=20 {
        log.append(payload(n).to_ascii_uppercase()).unwrap();
        let committed = log.commit();
        until_durable(&mut log, committed);
    }
    close(log);
    let segment = other.content("00000002.wal").unwrap();
    let (mut log, _) = open(&other);
    log.checkpoint(std::iter::empty(), Lsn(20)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    let checkpoint = other.content("checkpoint-00000000000000000020").unwrap();

    let mut disk = written();
    disk.damage("00000002.wal", |bytes| *bytes = segment);
    let damage = broken(&disk).damage().clone();
    assert_eq!((damage.kind, damage.offset), (DamageKind::Chain, 0));
    disk = written();
    disk.create("checkpoint-00000000000000000020").unwrap();
    disk.write_at("checkpoint-00000000000000000020", 0, &checkpoint).unwrap();
    let damage = broken(&disk).damage().clone();
    assert_eq!((damage.kind, damage.lsn), (DamageKind::Chain, Lsn(20)));
    disk.create("checkpoint-00000000000000000019").unwrap();
    disk.remove("checkpoint-00000000000000000020").unwrap();
    disk.write_at("checkpoint-00000000000000000019", 0, &checkpoint).unwrap();
    assert_eq!(open(&disk).1.damaged_checkpoints.len(), 1, "it is not what its name says");
}

#[test]
fn a_whole_record_that_does_not_continue_the_one_before_it_is_damage() {
    let meta = segment::SegmentMeta {
        identity: identity(3),
        first_lsn: Lsn(1),
        prev_hash: record::genesis_hash(7, "base-1"),
        group_bytes: 1000,
    };
    let scan = |second_prev: fn(u64) -> u64| {
        let mut bytes = Vec::new();
        let salt = segment::write_meta(&segment::segment_format(), &meta, &mut bytes);
        let frames = FrameWriter::new(salt, 1000);
        let mut prev_hash = meta.prev_hash;
        for lsn in 1..=2 {
            let mut frame = Vec::new();
            let (lsn, durable) = (Lsn(lsn), Lsn(lsn - 1));
            record::WalRecord { lsn, durable, prev_hash, payload: b"x" }.encode(&mut frame);
            frames.write(&frame, &mut bytes).unwrap();
            prev_hash = second_prev(record::chain_hash(&frame));
        }
        let mut scanner = scan::Scanner::new(Some(identity(3)), scan::Start::default());
        scanner.segment(1, &bytes, true).unwrap().map_err(|damage| (damage.kind, damage.lsn))
    };
    assert_eq!(scan(|hash| hash), Ok(()));
    assert_eq!(scan(|hash| hash ^ 1), Err((DamageKind::Chain, Lsn(2))));
}

#[test]
fn a_term_that_goes_back_is_damage() {
    let disk = MemoryDisk::default();
    let open_at = |term| {
        Log::open_in(Box::new(disk.clone()), identity(term), small(), sleeper()).map(|(log, _)| log)
    };
    let mut log = open_at(5).unwrap();
    write_each(&mut log, 1..=2);
    close(log);
    // A holder of an earlier term that wrote on regardless: the lock keeps it out in life.
    let old = Resume { durable: Lsn(2), hash: 0, next_segment: 2, segments: vec![] };
    Writer::new(Box::new(disk.clone()), identity(4), 400, 1000, old).begin_segment().unwrap();
    let Err(OpenError::Broken(broken)) = open_at(6) else { panic!("not seen") };
    let kind = DamageKind::Term { found: Term(4), before: Term(5) };
    assert_eq!(broken.damage().kind, kind);
}

#[test]
fn a_damaged_checkpoint_is_made_up_for_by_an_older_one_and_its_segments() {
    let disk = written();
    let old = disk.crash(Survives::Everything);
    let (mut log, _) = open(&disk);
    log.checkpoint((1..=20).map(payload), Lsn(20)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    let name = "checkpoint-00000000000000000020";
    disk.damage(name, |bytes| bytes[60] ^= 1);
    let only = broken(&disk);
    assert!(matches!(only.damage().kind, DamageKind::Checkpoint(_)), "{:?}", only.damage());
    assert_eq!(only.damage().file, name);

    let mut both = old;
    both.create(name).unwrap();
    both.write_at(name, 0, &disk.content(name).unwrap()).unwrap();
    let (mut log, recovery) = open(&both);
    assert_eq!(recovery.records, numbered(1..=20));
    assert_eq!(recovery.damaged_checkpoints, vec![name]);
    log.checkpoint((1..=20).map(payload), Lsn(20)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    assert!(open(&both).1.checkpoint.is_some(), "the next one takes its place");
}

#[test]
fn a_broken_log_goes_on_from_an_image_and_keeps_the_evidence() {
    let disk = written();
    disk.damage("00000002.wal", |bytes| bytes[200] ^= 1);
    let found = broken(&disk);
    assert!(found.following().unwrap().iter().any(|(lsn, _)| *lsn == Lsn(20)));
    let image = || (1..=9).map(payload);
    let mut log = found.repair(image(), small(), sleeper()).unwrap();
    let next = log.append(payload(0)).unwrap();
    assert!(next > Lsn(20), "no position is used twice");
    close(log);
    let recovery = open(&disk).1;
    assert_eq!(recovery.checkpoint.unwrap().entries, image().collect::<Vec<_>>());
    assert_eq!(recovery.records, vec![(next, payload(0))]);
    let names = disk.list().unwrap();
    assert!(names.contains(&"00000002.wal.broken".to_owned()), "{names:?}");
}

#[test]
fn a_crash_at_any_stage_of_a_repair_leaves_a_log_that_is_broken_or_repaired() {
    let damaged = written();
    damaged.damage("00000002.wal", |bytes| bytes[200] ^= 1);
    let (mut still_broken, mut repaired) = (0, 0);
    for operations in 0.. {
        let disk = damaged.crash(Survives::Everything);
        let found = broken(&disk);
        disk.cut_power_after(operations);
        if let Ok(log) = found.repair((1..=9).map(payload), small(), sleeper()) {
            close(log);
        }
        let done = !disk.is_off();
        for survives in [Survives::Synced, Survives::Everything, Survives::Drawn(operations)] {
            match try_open(&disk.crash(survives)) {
                Err(OpenError::Broken(broken)) => {
                    assert_eq!(broken.before().records, numbered(1..broken.damage().lsn.0));
                    still_broken += 1;
                }
                Ok((_, recovery)) => {
                    assert_eq!(recovery.checkpoint.unwrap().entries.len(), 9);
                    repaired += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        if done {
            break;
        }
    }
    assert!(still_broken > 3 && repaired > 3, "{still_broken} and {repaired}");
}
