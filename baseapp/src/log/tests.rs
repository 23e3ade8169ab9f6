//! The log through its front door, on disks without faults.
#![allow(clippy::unwrap_used)]

use super::*;
use marchland_common::order::{Lsn, Term};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(super) fn identity(term: u64) -> LogIdentity {
    LogIdentity { cluster: 7, base: "base-1".to_owned(), term: Term(term) }
}

pub(super) fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 400,
        queue_items: 100,
        queue_bytes: 4000,
        group_bytes: 1000,
        checkpoint_bytes: 500,
        retry: Duration::from_millis(1),
    }
}

pub(super) fn sleeper() -> Waker {
    Box::new(|| {})
}

pub(super) fn open(disk: &MemoryDisk) -> (Log, Recovery) {
    try_open(disk).unwrap()
}

pub(super) fn try_open(disk: &MemoryDisk) -> Result<(Log, Recovery), OpenError> {
    Log::open_in(Box::new(disk.clone()), identity(3), small(), sleeper())
}

/// Long enough for any machine; a test that waits so long has failed.
pub(super) fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Waits until `wanted` shows up; what came before it.
pub(super) fn until(log: &mut Log, wanted: impl Fn(&LogReport) -> bool) -> Vec<LogReport> {
    let mut reports = Vec::new();
    loop {
        let report = log.wait(deadline()).expect("a report within the deadline");
        let found = wanted(&report);
        reports.push(report);
        if found {
            return reports;
        }
    }
}

pub(super) fn until_durable(log: &mut Log, lsn: Lsn) -> Vec<LogReport> {
    if log.persisted().covers(lsn) {
        return Vec::new();
    }
    until(log, |report| matches!(report, LogReport::Durable { lsn: newest, .. } if *newest >= lsn))
}

pub(super) fn payload(n: u64) -> Vec<u8> {
    format!("payload {n}").into_bytes()
}

/// Appends, each record as a group of its own.
pub(super) fn write_each(log: &mut Log, numbers: impl IntoIterator<Item = u64>) {
    for n in numbers {
        assert_eq!(log.append(payload(n)).unwrap(), Lsn(n));
        let committed = log.commit();
        until_durable(log, committed);
    }
}

pub(super) fn close(log: Log) -> Closed {
    let closed = log.close(Duration::from_secs(60));
    assert!(closed.ended);
    closed
}

pub(super) fn numbered(numbers: impl IntoIterator<Item = u64>) -> Vec<(Lsn, Vec<u8>)> {
    numbers.into_iter().map(|n| (Lsn(n), payload(n))).collect()
}

#[test]
fn what_was_durable_is_there_again_and_positions_go_on() {
    let disk = MemoryDisk::default();
    let (mut log, recovery) = open(&disk);
    assert_eq!(recovery, Recovery::default());
    write_each(&mut log, 1..=5);
    close(log);
    let (mut log, recovery) = open(&disk);
    assert_eq!(recovery.records, numbered(1..=5));
    write_each(&mut log, 6..=8);
    close(log);
    assert_eq!(open(&disk).1.records, numbered(1..=8));
}

#[test]
fn one_commit_is_one_sync_however_many_records_it_holds() {
    let disk = MemoryDisk::default();
    let (mut log, _) = Log::open_in(
        Box::new(disk.clone()),
        identity(3),
        LogConfig { segment_bytes: 1 << 20, ..small() },
        sleeper(),
    )
    .unwrap();
    for records in [1, 7, 20] {
        let before = disk.counts();
        for _ in 0..records {
            log.append(vec![1; 5]).unwrap();
        }
        assert_eq!(disk.counts(), before, "appending alone touches no disk");
        let committed = log.commit();
        assert_eq!(log.commit(), committed, "an empty commit asks for nothing");
        until_durable(&mut log, committed);
        let after = disk.counts();
        assert_eq!((after.syncs, after.writes), (before.syncs + 1, before.writes + 1));
    }
    assert_eq!(log.stats().groups.load(Ordering::Relaxed), 3);
    assert_eq!(log.stats().records.load(Ordering::Relaxed), 28);
}

#[test]
fn a_group_over_its_limit_is_written_as_several() {
    let disk = MemoryDisk::default();
    let config = LogConfig { segment_bytes: 1 << 20, ..small() };
    let (mut log, _) =
        Log::open_in(Box::new(disk.clone()), identity(3), config, sleeper()).unwrap();
    let before = disk.counts().syncs;
    (0..5).for_each(|n| assert_eq!(log.append(vec![n; 400]).unwrap(), Lsn(u64::from(n) + 1)));
    let committed = log.commit();
    until_durable(&mut log, committed);
    assert_eq!(disk.counts().syncs - before, 3, "two of 432 bytes fit into 1000");
    close(log);
    assert_eq!(open(&disk).1.records.len(), 5);
}

#[test]
fn full_segments_are_followed_by_new_ones() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=40);
    assert_eq!(log.stats().segments.load(Ordering::Relaxed), 5);
    close(log);
    let segments: Vec<String> = disk.list().unwrap();
    assert_eq!(segments.len(), 5);
    assert_eq!(segments[0], "00000001.wal");
    assert_eq!(open(&disk).1.records, numbered(1..=40));
}

#[test]
fn starting_again_and_again_leaves_no_empty_segments() {
    let disk = MemoryDisk::default();
    for _ in 0..10 {
        close(open(&disk).0);
    }
    assert_eq!(disk.list().unwrap(), vec!["00000010.wal"]);
}

#[test]
fn too_much_that_is_not_durable_is_refused_and_handed_back() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    (0..100).for_each(|_| assert!(log.append(vec![1]).is_ok()));
    let full = AppendError::Full { payload: vec![2], items: 100, bytes: 100 };
    assert_eq!(log.append(vec![2]), Err(full));
    let committed = log.commit();
    until_durable(&mut log, committed);
    (0..4).for_each(|_| assert!(log.append(vec![1; 960]).is_ok()));
    let full = AppendError::Full { payload: vec![2; 200], items: 4, bytes: 3840 };
    assert_eq!(log.append(vec![2; 200]), Err(full));
    assert_eq!(log.append(vec![2; 160]).unwrap(), Lsn(105), "what fits is taken");
    assert_eq!(log.stats().refused_full.load(Ordering::Relaxed), 2);
}

#[test]
fn a_record_over_the_limit_is_refused_and_the_largest_is_not() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    let limit = small().record_bytes_max();
    let too_large = AppendError::TooLarge { payload: vec![1; limit + 1], limit };
    assert_eq!(log.append(vec![1; limit + 1]), Err(too_large));
    log.append(vec![1; limit]).unwrap();
    log.append(vec![]).unwrap();
    close(log);
    let records = open(&disk).1.records;
    assert_eq!(records, vec![(Lsn(1), vec![1; limit]), (Lsn(2), vec![])]);
}

#[test]
fn each_report_wakes_the_tick_thread() {
    let woken = Arc::new(AtomicU64::new(0));
    let waker = Arc::clone(&woken);
    let waker: Waker = Box::new(move || {
        waker.fetch_add(1, Ordering::SeqCst);
    });
    let disk = MemoryDisk::default();
    let (mut log, _) = Log::open_in(Box::new(disk), identity(3), small(), waker).unwrap();
    write_each(&mut log, 1..=3);
    close(log);
    assert_eq!(woken.load(Ordering::SeqCst), 3);
}

#[test]
fn closing_makes_durable_what_was_only_appended() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    (1..=3).for_each(|n| drop(log.append(payload(n))));
    assert_eq!(close(log), Closed { last: Lsn(3), durable: Lsn(3), ended: true });
    assert_eq!(open(&disk).1.records, numbered(1..=3));
}

#[test]
fn a_later_term_and_a_foreign_log_are_refused_and_an_earlier_term_goes_on() {
    let disk = MemoryDisk::default();
    write_each(&mut open(&disk).0, 1..=3);
    let open_as = |identity: LogIdentity| {
        Log::open_in(Box::new(disk.clone()), identity, small(), sleeper()).map(|(_, found)| found)
    };
    let refusal = |identity| match open_as(identity) {
        Err(OpenError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    };
    let earlier = refusal(identity(2));
    assert!(matches!(earlier, ScanRefusal::NewerTerm { found: Term(3), ours: Term(2), .. }));
    let base = LogIdentity { base: "base-2".to_owned(), ..identity(9) };
    let text = refusal(base).to_string();
    assert!(text.contains("base-1") && text.contains("base-2"), "{text}");
    let cluster = LogIdentity { cluster: 8, ..identity(9) };
    assert!(matches!(refusal(cluster), ScanRefusal::Foreign { their_cluster: 7, .. }));
    assert_eq!(open_as(identity(4)).unwrap().records, numbered(1..=3));
    assert!(matches!(refusal(identity(3)), ScanRefusal::NewerTerm { found: Term(4), .. }));
}

#[test]
fn a_log_of_a_newer_build_is_refused_by_its_version() {
    let mut disk = MemoryDisk::default();
    let newer =
        marchland_common::journal::frame::Format { versions: 2..=2, ..segment::segment_format() };
    let mut bytes = Vec::new();
    segment::write_meta(&newer, &0_u8, &mut bytes);
    disk.create("00000001.wal").unwrap();
    disk.write_at("00000001.wal", 0, &bytes).unwrap();
    let refused = try_open(&disk).err().unwrap();
    assert!(matches!(refused, OpenError::Refused(ScanRefusal::Version { .. })), "{refused}");
    assert!(refused.to_string().contains("version 2"), "{refused}");
}

#[test]
fn a_real_folder_is_held_by_one_process_and_free_after_closing() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Log::open(folder.path(), identity(3), small(), sleeper());
    let (mut log, _) = open().unwrap();
    let refused = open().err().unwrap();
    let pid = Some(std::process::id());
    assert!(matches!(&refused, OpenError::Locked { pid: found, .. } if *found == pid));
    write_each(&mut log, 1..=30);
    let seen = inspect(folder.path()).unwrap();
    assert_eq!((seen.identity, seen.damage), (Some(identity(3)), None));
    assert_eq!(seen.recovery.records, numbered(1..=30));
    close(log);
    let (mut log, recovery) = open().unwrap();
    assert_eq!(recovery.records, numbered(1..=30));
    log.checkpoint(vec![payload(1)].into_iter(), Lsn(30)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    let recovery = open().unwrap().1;
    assert_eq!(recovery.checkpoint.unwrap().entries, vec![payload(1)]);
    assert_eq!(recovery.records, vec![]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = file.path().join("log");
    let refused = Log::open(&folder, identity(3), small(), sleeper()).err().unwrap().to_string();
    assert!(refused.contains(&folder.display().to_string()), "{refused}");
}

#[test]
fn a_checkpoint_replaces_what_is_older_and_recovery_begins_with_it() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    write_each(&mut log, 1..=40);
    assert!(!log.checkpoint_due(1 << 20), "four times the image is more than the limit");
    log.append(payload(41)).unwrap();
    let image = || (0..3).map(payload);
    let not_newest = |through| CheckpointRefusal::NotNewest { through, newest: Lsn(40) };
    assert_eq!(log.checkpoint(image(), Lsn(41)), Err(not_newest(Lsn(41))), "not committed");
    assert_eq!(log.checkpoint(image(), Lsn(40)), Err(not_newest(Lsn(40))), "more is appended");
    assert_eq!(log.commit(), Lsn(41));
    log.append(vec![0; 500]).unwrap();
    log.commit();
    assert!(log.checkpoint_due(10));
    log.checkpoint(image(), Lsn(42)).unwrap();
    assert_eq!(log.checkpoint(image(), Lsn(42)), Err(CheckpointRefusal::Busy));
    assert!(!log.checkpoint_due(10), "one is on its way");
    let done = until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    let Some(LogReport::Checkpointed { through: Lsn(42), removed, .. }) = done.last() else {
        panic!("{done:?}");
    };
    assert!(*removed >= 4, "{removed}");
    assert!(!log.checkpoint_due(10), "nothing was appended since");
    write_each(&mut log, 43..=50);
    close(log);
    let (mut log, recovery) = open(&disk);
    let expected = Image { through: Lsn(42), entries: image().collect() };
    assert_eq!(recovery.checkpoint, Some(expected));
    assert_eq!(recovery.records, numbered(43..=50));
    log.checkpoint(std::iter::empty(), Lsn(50)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    close(log);
    let names = disk.list().unwrap();
    let checkpoints = names.iter().filter(|name| name.starts_with("checkpoint")).count();
    assert_eq!(checkpoints, 1, "{names:?}");
    assert_eq!(open(&disk).1.checkpoint.unwrap().entries, Vec::<Vec<u8>>::new());
}

#[test]
fn a_checkpoint_of_an_empty_log_is_a_log() {
    let disk = MemoryDisk::default();
    let (mut log, _) = open(&disk);
    log.checkpoint(std::iter::once(payload(9)), Lsn(0)).unwrap();
    until(&mut log, |report| matches!(report, LogReport::Checkpointed { .. }));
    write_each(&mut log, 1..=2);
    close(log);
    let recovery = open(&disk).1;
    assert_eq!(recovery.checkpoint.unwrap().entries, vec![payload(9)]);
    assert_eq!(recovery.records, numbered(1..=2));
}

#[test]
fn persisted_never_goes_back() {
    let mut persisted = Persisted::new(PersistRule::LocalSync, Lsn(4));
    assert!(persisted.covers(Lsn(4)) && !persisted.covers(Lsn(5)));
    persisted.on_local_sync(Lsn(9));
    persisted.on_local_sync(Lsn(6));
    assert_eq!(persisted.through(), Lsn(9));
}
