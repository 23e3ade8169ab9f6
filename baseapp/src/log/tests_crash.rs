//! Crashes at every step, with any part of what was not synced surviving.
#![allow(clippy::unwrap_used)]

use super::recover::load;
use super::tests::*;
use super::*;
use marchland_common::order::Lsn;
use proptest::prelude::*;

/// Opens a log without a thread, so that each operation of the disk has its number.
fn open_writer(disk: &MemoryDisk) -> std::io::Result<(Writer, Recovery)> {
    let mut disk: Box<dyn Storage> = Box::new(disk.clone());
    let loaded = load(&*disk, Some(&identity(3))).expect("a crash never refuses a log");
    assert_eq!(loaded.damage, None, "a crash is never damage");
    let (recovery, resume) = loaded.clean(&mut *disk).map_err(std::io::Error::other)?;
    let mut writer = Writer::new(disk, identity(3), 400, 3000, resume);
    writer.begin_segment()?;
    Ok((writer, recovery))
}

#[test]
fn what_a_start_reads_after_a_failed_sync_and_a_kill_is_synced_before_it_counts() {
    let disk = MemoryDisk::default();
    let (mut writer, _) = open_writer(&disk).unwrap();
    // Each larger than a sector, so that each has to be written once more.
    let records: Vec<_> = (1..=4).map(|n| (Lsn(n), vec![n as u8; 700])).collect();
    writer.queue(records[..2].to_vec());
    writer.flush().unwrap();
    writer.begin_segment().unwrap();
    writer.queue(records[2..].to_vec());
    disk.fail_syncs(1);
    writer.flush().unwrap_err();
    drop(writer);
    let (_, recovery) = open_writer(&disk).unwrap();
    assert_eq!(recovery.records, records, "the system still remembers it");
    assert_eq!(open(&disk.crash(Survives::Synced)).1.records, records);
}

#[test]
fn a_checkpoint_keeps_the_segment_that_holds_the_first_record_after_it() {
    let disk = MemoryDisk::default();
    let (mut writer, _) = open_writer(&disk).unwrap();
    writer.queue(numbered(1..=2));
    writer.flush().unwrap();
    let image = (1..=2).map(|_| vec![0; 2 << 20]);
    let mut job = CheckpointJob::new(&mut writer, Lsn(2), Box::new(image));
    assert_eq!(job.step(&mut writer).unwrap(), None);
    writer.queue(numbered(3..=3));
    writer.flush().unwrap();
    writer.begin_segment().unwrap();
    writer.queue(numbered(4..=4));
    writer.flush().unwrap();
    while job.step(&mut writer).unwrap().is_none() {}
    let (_, recovery) = open_writer(&disk).unwrap();
    assert_eq!(recovery.checkpoint.unwrap().through, Lsn(2));
    assert_eq!(recovery.records, numbered(3..=4));
}

fn held(recovery: &Recovery) -> Vec<(Lsn, Vec<u8>)> {
    let image = recovery.checkpoint.iter().flat_map(|image| {
        image.entries.iter().zip(1..).map(|(entry, lsn)| (Lsn(lsn), entry.clone()))
    });
    image.chain(recovery.records.iter().cloned()).collect()
}

#[test]
fn a_cut_at_any_byte_of_the_last_segment_keeps_every_earlier_record() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=12);
    close(log);
    let last = disk.list().unwrap().pop().unwrap();
    let bytes = disk.content(&last).unwrap();
    let (meta, header) =
        segment::read_meta::<segment::SegmentMeta>(&segment::segment_format(), &bytes).unwrap();
    let earlier = meta.first_lsn.0 - 1;
    assert!((1..10).contains(&earlier), "the last segment is one of several and holds some");
    for cut in 0..=bytes.len() {
        let disk = disk.crash(Survives::Everything);
        disk.damage(&last, |bytes| bytes.truncate(cut));
        if cut < header.len {
            let Err(OpenError::Broken(broken)) = try_open(&disk) else { panic!("not seen") };
            assert_eq!(broken.before().records, numbered(1..=earlier), "a header is synced");
            continue;
        }
        let whole = (cut - header.len) / (payload(10).len() + record::RECORD_PREFIX + 8);
        let count = earlier + whole as u64;
        let (mut log, recovery) = open(&disk);
        assert_eq!(recovery.records, numbered(1..=count));
        let torn = (cut - header.len) % (payload(10).len() + record::RECORD_PREFIX + 8);
        assert_eq!(recovery.torn.map_or(0, |torn| torn.bytes), torn as u64);
        write_each(&mut log, count + 1..=count + 2);
        close(log);
        assert_eq!(open(&disk).1.records, numbered(1..=count + 2), "it goes on");
    }
}

/// One life of a log: groups of records until the power goes. What was durable at the end.
fn live(disk: &MemoryDisk, groups: &[(usize, usize)], written: &mut Vec<(Lsn, Vec<u8>)>) -> Lsn {
    let mut durable = Lsn(written.len() as u64);
    let Ok((mut writer, _)) = open_writer(disk) else { return durable };
    for (records, size) in groups {
        for _ in 0..*records {
            let lsn = Lsn(written.len() as u64 + 1);
            let byte = if lsn.0.is_multiple_of(3) { 0 } else { lsn.0 as u8 };
            written.push((lsn, vec![byte; size % 700]));
            writer.queue(written.last().cloned());
        }
        while writer.has_work() {
            match writer.flush() {
                Ok(Some(flushed)) => durable = flushed.lsn,
                _ if disk.is_off() => return durable,
                _ => {}
            }
        }
    }
    durable
}

fn groups() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((1..6_usize, 0..700_usize), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Several lives, each ended by a crash at any operation, of which any part survives: every
    /// durable record is there, in order, and what is beyond them was written, never invented.
    #[test]
    fn no_crash_loses_a_durable_record(
        lives in prop::collection::vec((groups(), 0..60_u64, any::<u64>(), 0..4_u32), 1..5)
    ) {
        let mut disk = MemoryDisk::default();
        let mut written = Vec::new();
        for (groups, operations, seed, failing_syncs) in lives {
            disk.cut_power_after(operations);
            disk.fail_syncs(failing_syncs);
            let durable = live(&disk, &groups, &mut written);
            match seed % 4 {
                0 => disk = disk.crash(Survives::Synced),
                // Only the process was killed: what is not synced may still be lost later.
                1 => disk.heal(),
                _ => disk = disk.crash(Survives::Drawn(seed)),
            }
            let (_, recovery) = open_writer(&disk).unwrap();
            prop_assert!(recovery.records.len() as u64 >= durable.0);
            prop_assert!(written.starts_with(&recovery.records));
            written.truncate(recovery.records.len());
            // What a start reads is confirmed from then on.
            let after_crash = load(&disk.crash(Survives::Synced), Some(&identity(3))).unwrap();
            prop_assert_eq!(after_crash.damage, None);
            prop_assert_eq!(after_crash.recovery.records, recovery.records);
        }
    }

    /// Arbitrary bytes as a segment are a refusal or damage, never a panic.
    #[test]
    fn arbitrary_files_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>()
    ) {
        let mut disk = MemoryDisk::default();
        let (mut writer, _) = open_writer(&disk).unwrap();
        writer.queue(numbered(1..=20));
        while writer.flush().unwrap().is_some() {}
        disk.damage("00000001.wal", |file| {
            let at = at.index(file.len());
            file.splice(at.., bytes.iter().copied());
        });
        disk.create("checkpoint-00000000000000000003").unwrap();
        disk.write_at("checkpoint-00000000000000000003", 0, &bytes).unwrap();
        if let Err(OpenError::Broken(broken)) = try_open(&disk) {
            prop_assert!(numbered(1..=20).starts_with(&broken.before().records));
            broken.following().unwrap();
        }
    }
}

/// Writes ten records, takes a checkpoint, writes five more; stops where the power goes.
fn checkpoint_under_power_cut(disk: &MemoryDisk) -> Option<Lsn> {
    let (mut writer, _) = open_writer(disk).ok()?;
    let mut durable = Lsn(0);
    let mut job = None;
    for n in 1..=15 {
        writer.queue(numbered(n..=n));
        match writer.flush() {
            Ok(Some(flushed)) => durable = flushed.lsn,
            _ => return Some(durable),
        }
        if n == 10 {
            let image: Entries = Box::new((1..=10).map(payload));
            job = Some(CheckpointJob::new(&mut writer, Lsn(10), image));
        }
        if let Some(mut running) = job.take() {
            match running.step(&mut writer) {
                Ok(None) => job = Some(running),
                Ok(Some(_)) => {}
                Err(_) => running.abort(&mut writer),
            }
        }
    }
    Some(durable)
}

#[test]
fn a_crash_at_any_stage_of_a_checkpoint_loses_nothing() {
    let mut with_image = 0;
    let mut without = 0;
    for operations in 0.. {
        let disk = MemoryDisk::default();
        disk.cut_power_after(operations);
        let durable = checkpoint_under_power_cut(&disk).unwrap_or_default();
        let drawn = (0..12).map(Survives::Drawn);
        for survives in [Survives::Synced, Survives::Everything].into_iter().chain(drawn) {
            let after = disk.crash(survives);
            let (_, recovery) = open_writer(&after).unwrap();
            let held = held(&recovery);
            assert!(held.len() as u64 >= durable.0, "{operations} {survives:?}");
            assert!(numbered(1..=15).starts_with(&held), "{operations} {survives:?}");
            let whole = recovery.checkpoint.is_some();
            with_image += u32::from(whole);
            without += u32::from(!whole);
            let names = after.list().unwrap();
            assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}");
        }
        if !disk.is_off() {
            break;
        }
    }
    assert!(with_image > 100 && without > 100, "both happened: {with_image} and {without}");
}
