//! Real folders: the bound on what they hold, and those that cannot be written.

use super::*;
use std::process::Command;

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_oldest_segments_of_all_lives_go_and_the_one_in_use_and_foreign_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: usize| {
        std::fs::write(dir.path().join(name), vec![0; bytes]).unwrap();
    };
    for segment in 0..3 {
        put(&format!("cell-3-900-00000{segment}.journal"), 100);
    }
    put("cell-3-1207-000000.journal", 100);
    put("cell-4-900-000000.journal", 100);
    put("notes.txt", 100);
    let mut files = Files::new(dir.path().to_owned(), CELL, 250);
    let open = files.create(1).unwrap();
    assert_eq!(files.trim(1).unwrap(), 2);
    let kept = [
        "cell-3-1207-000000.journal",
        "cell-3-1207-000001.journal",
        "cell-3-900-000002.journal",
        "cell-4-900-000000.journal",
        "notes.txt",
    ];
    assert_eq!(names(dir.path()), kept);
    open.set_len(1_000).unwrap();
    assert_eq!(files.trim(1).unwrap(), 2);
    let kept = ["cell-3-1207-000001.journal", "cell-4-900-000000.journal", "notes.txt"];
    assert_eq!(names(dir.path()), kept);
    assert!(files.create(1).is_err(), "a segment is never written over");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    let refused = Journal::start(config(file.clone()), Bytes::new(), &Counters::default());
    let error = refused.unwrap_err().to_string();
    assert!(error.contains(file.to_str().unwrap()), "{error}");
}

/// A file system of 64 KiB; none where this user may not mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(dir.path()).output();
        mounted.is_ok_and(|out| out.status.success()).then_some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_real_disk_that_fills_up_and_gets_room_again_holds_every_record() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: this user may not mount a small file system");
        return;
    };
    let dir = disk.0.path();
    std::fs::write(dir.join("ballast"), vec![0; 40 << 10]).unwrap();
    let mut journal =
        Journal::start(config(dir.to_owned()), Bytes::new(), &Counters::default()).unwrap();
    let tickets: Vec<_> = (1..=500).map(|tick| journal.append(record(tick))).collect();
    until(|| journal.shared.is_failing());
    assert!(matches!(journal.poll(), Some(JournalNews::Behind { why: Some(_), .. })));
    assert!(!tickets[499].is_written());
    std::fs::remove_file(dir.join("ballast")).unwrap();
    until(|| tickets[499].is_written());
    assert!(journal.close("done", PATIENCE));
    let bytes = std::fs::read(dir.join("cell-3-1207-000000.journal")).unwrap();
    let written: Vec<u64> = ticks(&records_of(&bytes)).iter().map(|t| t.0).collect();
    assert_eq!(written, (1..=500).collect::<Vec<_>>());
    // A second process finds no room to begin.
    std::fs::write(dir.join("ballast"), vec![0; 64 << 10]).ok();
    let other =
        JournalHeader { node: Node::new(NodeKind::Cell, 4, 1), ..config(dir.into()).header };
    let refused = Journal::start(
        JournalConfig::new(dir.to_owned(), other),
        Bytes::from(vec![0; 64 << 10]),
        &Counters::default(),
    );
    assert!(matches!(refused, Err(JournalError::Unwritable { .. })));
}
