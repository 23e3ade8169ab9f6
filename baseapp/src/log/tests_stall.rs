//! Disks that are full, slow, short or forgetful: nothing that was taken is lost.
#![allow(clippy::unwrap_used)]

use super::tests::*;
use super::*;
use marchland_common::order::Lsn;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn is_stall(report: &LogReport) -> bool {
    matches!(report, LogReport::Stalled { .. })
}

#[test]
fn a_full_disk_stalls_the_log_until_there_is_space_and_loses_nothing() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=3);
    let used = disk.content("00000001.wal").unwrap().len();
    disk.set_capacity(Some(used + 50));
    for n in 4..=6 {
        log.append(payload(n)).unwrap();
    }
    log.commit();
    let reports = until(&mut log, is_stall);
    let [LogReport::Stalled { reason: StallReason::DiskFull(_) }] = &reports[..] else {
        panic!("{reports:?}");
    };
    for n in 7..=100 {
        log.append(payload(n)).unwrap();
    }
    log.commit();
    let mut refused = 0;
    while log.append(payload(0)).is_ok() {
        refused += 1;
    }
    assert!(refused < 100, "the queue has a limit");
    let last = log.commit();
    let tries = log.stats().retries.load(Ordering::Relaxed);
    while log.stats().retries.load(Ordering::Relaxed) < tries + 3 {
        std::thread::yield_now();
    }
    assert_eq!(log.persisted().through(), Lsn(3), "nothing is confirmed meanwhile");
    disk.set_capacity(None);
    let reports = until_durable(&mut log, last);
    assert!(!reports.iter().any(is_stall), "said once: {reports:?}");
    assert_eq!(log.stats().stalls.load(Ordering::Relaxed), 1);
    close(log);
    let records = open(&disk.crash(Survives::Synced)).1.records;
    assert_eq!(records[..100], numbered(1..=100));
    assert_eq!(records.len() as u64, last.0);
}

#[test]
fn a_full_disk_at_the_turn_of_a_segment_loses_nothing() {
    for room in (0..300).step_by(7) {
        let disk = MemoryDisk::default();
        let (mut log, _) = open(&disk);
        let used = disk.content("00000001.wal").unwrap().len();
        disk.set_capacity(Some(used + 200 + room));
        (1..=30).for_each(|n| {
            log.append(payload(n)).unwrap();
            log.commit();
        });
        until(&mut log, is_stall);
        disk.set_capacity(None);
        until_durable(&mut log, Lsn(30));
        close(log);
        assert_eq!(open(&disk).1.records, numbered(1..=30), "{room}");
    }
}

#[test]
fn a_failed_sync_is_not_believed_when_it_succeeds_later() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=2);
    disk.fail_syncs(2);
    let before = disk.counts();
    log.append(payload(3)).unwrap();
    log.commit();
    let reports = until_durable(&mut log, Lsn(3));
    let [LogReport::Stalled { reason: StallReason::Disk(_) }, _] = &reports[..] else {
        panic!("{reports:?}");
    };
    let after = disk.counts();
    assert_eq!((after.syncs - before.syncs, after.writes - before.writes), (3, 3));
    assert_eq!(open(&disk.crash(Survives::Synced)).1.records, numbered(1..=3));
}

#[test]
fn short_writes_are_continued() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    disk.set_longest_write(Some(3));
    write_each(&mut log, 1..=20);
    assert_eq!(open(&disk.crash(Survives::Synced)).1.records, numbered(1..=20));
}

#[test]
fn while_a_sync_hangs_appending_goes_on_and_all_that_waited_is_one_group() {
    let disk = MemoryDisk::default();
    let config = LogConfig { segment_bytes: 1 << 20, ..small() };
    let (mut log, _) =
        Log::open_in(Box::new(disk.clone()), identity(3), config, sleeper()).unwrap();
    let before = disk.counts().syncs;
    disk.hold_syncs();
    log.append(payload(1)).unwrap();
    log.commit();
    disk.wait_for_held_syncs(1);
    for n in 2..=20 {
        log.append(payload(n)).unwrap();
        log.commit();
    }
    assert_eq!(log.poll(), None);
    disk.release_syncs();
    until_durable(&mut log, Lsn(20));
    assert_eq!(disk.counts().syncs - before, 2);
    assert_eq!(log.stats().groups.load(Ordering::Relaxed), 2);
}

#[test]
fn a_stalled_log_closes_at_once_and_says_what_is_not_durable() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=2);
    disk.fail_writes(u32::MAX);
    log.append(payload(3)).unwrap();
    log.commit();
    until(&mut log, is_stall);
    assert_eq!(close(log), Closed { last: Lsn(3), durable: Lsn(2), ended: true });
    disk.fail_writes(0);
    assert_eq!(open(&disk).1.records, numbered(1..=2));
}

#[test]
fn a_disk_that_hangs_is_not_waited_for_beyond_the_deadline() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    disk.hold_syncs();
    log.append(payload(1)).unwrap();
    let closed = log.close(Duration::from_millis(1));
    assert_eq!(closed, Closed { last: Lsn(1), durable: Lsn(0), ended: false });
    disk.release_syncs();
}

#[test]
fn a_checkpoint_without_space_is_given_up_and_another_succeeds() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=3);
    disk.set_capacity(Some(2000));
    let image = || (0..1000).map(payload);
    log.checkpoint(image(), Lsn(3)).unwrap();
    let failed = |report: &LogReport| matches!(report, LogReport::CheckpointFailed { .. });
    let reports = until(&mut log, failed);
    let Some(LogReport::CheckpointFailed { through: Lsn(3), reason }) = reports.last() else {
        panic!("{reports:?}");
    };
    assert!(matches!(reason, StallReason::DiskFull(_)));
    write_each(&mut log, 4..=6);
    disk.set_capacity(None);
    log.checkpoint(image(), Lsn(6)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    let recovery = open(&disk).1;
    assert_eq!(recovery.checkpoint.unwrap().entries.len(), 1000);
    assert_eq!(recovery.records, vec![]);
}

#[test]
fn a_file_that_may_not_grow_is_a_full_disk_and_whatever_else_is_none() {
    use std::io::ErrorKind;
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
        assert!(matches!(StallReason::of(&kind.into()), StallReason::DiskFull(_)), "{kind}");
    }
    let broken = StallReason::of(&ErrorKind::PermissionDenied.into());
    assert!(matches!(broken, StallReason::Disk(_)));
}

#[test]
fn a_checkpoint_that_was_given_up_is_not_due_again_before_the_log_grew() {
    let disk = MemoryDisk::default();
    let config = LogConfig { checkpoint_bytes: 800, ..small() };
    let (mut log, _) =
        Log::open_in(Box::new(disk.clone()), identity(3), config, sleeper()).unwrap();
    let grows = |log: &mut Log, bytes: usize| {
        log.append(vec![7; bytes]).unwrap();
        let last = log.commit();
        until_durable(log, last);
        last
    };
    let last = grows(&mut log, 800);
    assert!(log.checkpoint_due(0));
    let huge = std::iter::once(vec![0; image::ENTRY_BYTES_MAX + 1]);
    log.checkpoint(huge, last).unwrap();
    until(&mut log, |report| matches!(report, LogReport::CheckpointFailed { .. }));
    assert!(!log.checkpoint_due(0));
    grows(&mut log, 49);
    assert!(!log.checkpoint_due(0));
    let last = grows(&mut log, 1);
    assert!(log.checkpoint_due(0));
    log.checkpoint(std::iter::empty(), last).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    assert!(!log.checkpoint_due(0));
    grows(&mut log, 800);
    assert!(log.checkpoint_due(0), "what failed once is forgotten");
}

#[test]
fn an_entry_over_the_limit_fails_the_checkpoint_and_not_the_log() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    let huge = vec![0; image::ENTRY_BYTES_MAX + 1];
    log.checkpoint(std::iter::once(huge), Lsn(0)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::CheckpointFailed { .. }));
    write_each(&mut log, 1..=2);
    let names = disk.list().unwrap();
    assert_eq!(names, vec!["00000001.wal"], "nothing unfinished stays behind");
}

#[test]
fn groups_become_durable_between_the_slices_of_a_checkpoint() {
    let disk = MemoryDisk::default();
    let resume = Resume { durable: Lsn(0), hash: 1, next_segment: 1, segments: vec![] };
    let mut writer = Writer::new(Box::new(disk.clone()), identity(3), 1 << 30, 1000, resume);
    writer.begin_segment().unwrap();
    writer.queue(numbered(1..=2));
    let entries = (0..40).map(|_| vec![0; 100_000]);
    let mut job = CheckpointJob::new(&mut writer, Lsn(2), Box::new(entries));
    writer.queue(numbered(3..=3));
    assert!(!job.is_ready(&writer), "what the image holds is not durable yet");
    assert_eq!(writer.flush().unwrap().unwrap().lsn, Lsn(2), "a group ends with the image");
    let mut slices = 0;
    for n in 4.. {
        assert!(job.is_ready(&writer));
        writer.queue(numbered(n..=n));
        assert_eq!(writer.flush().unwrap().unwrap().lsn, Lsn(n));
        slices += 1;
        if job.step(&mut writer).unwrap().is_some() {
            break;
        }
    }
    assert_eq!(slices, 14, "four megabytes, three entries in a slice");
}

#[test]
fn a_log_thread_that_is_gone_is_reported_once_and_refuses() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=2);
    let broken = std::iter::from_fn(|| -> Option<Vec<u8>> { panic!("an image that fails") });
    log.checkpoint(broken, Lsn(2)).unwrap();
    assert_eq!(log.wait(deadline()), Some(LogReport::Lost));
    assert_eq!(log.poll(), None);
    assert_eq!(log.append(payload(3)), Err(AppendError::Stopped { payload: payload(3) }));
    assert_eq!(log.checkpoint(std::iter::empty(), Lsn(2)), Err(CheckpointRefusal::Busy));
    assert_eq!(close(log).durable, Lsn(2));
}
