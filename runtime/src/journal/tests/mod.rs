#![allow(clippy::unwrap_used)]

mod disk;
mod space;

use super::*;
use disk::{FakeDisk, records_of};
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind, SessionId};

const CELL: Node = Node::new(NodeKind::Cell, 3, 1_207);
const PATIENCE: Duration = Duration::from_secs(60);

fn config(dir: PathBuf) -> JournalConfig {
    let header = JournalHeader {
        cluster: 7,
        node: CELL,
        build: "test".to_owned(),
        schema: 1,
        seed: 2,
        config: String::new(),
        segment: 0,
        wall_ms: 0,
    };
    JournalConfig::new(dir, header)
}

fn record(tick: u64) -> TickRecord {
    let entity = marchland_common::order::EntityId(257);
    let event = Event::SessionClosed { entity, session: SessionId(tick) };
    TickRecord {
        input: Bytes::from(vec![tick as u8; 40]),
        ..TickRecord::without_core(Tick(tick), vec![event])
    }
}

fn start(disk: &FakeDisk, mode: JournalMode) -> (Journal, Counters) {
    let counters = Counters::default();
    let config = JournalConfig { mode, ..config(PathBuf::from("nowhere")) };
    let journal = Journal::start_on(disk.clone(), config, Bytes::from_static(b"core"), &counters);
    (journal.unwrap(), counters)
}

fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "the condition was never reached");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ticks(records: &[Record]) -> Vec<(u64, u64)> {
    let span = |record: &Record| match record {
        Record::Tick(tick) => Some((tick.tick.0, tick.tick.0)),
        Record::Gap { from, to } => Some((from.0, to.0)),
        Record::Header(_) | Record::Snapshot(_) | Record::End { .. } => None,
    };
    records.iter().filter_map(span).collect()
}

#[test]
fn what_was_handed_over_is_read_back_and_an_end_in_order_says_so() {
    let disk = FakeDisk::default();
    let (mut journal, _) = start(&disk, JournalMode::Strict);
    let tickets: Vec<_> = (5..9).map(|tick| journal.append(record(tick))).collect();
    assert!(journal.close("SIGTERM", PATIENCE));
    assert!(tickets.iter().all(ReleaseTicket::is_written));
    let records = records_of(&disk.segment(0));
    let Record::Header(header) = &records[0] else { panic!("{records:?}") };
    assert_eq!((header.node, header.segment), (CELL, 0));
    assert_eq!(records[1], Record::Snapshot(Bytes::from_static(b"core")));
    let expected: Vec<_> = (5..9).map(|tick| Record::Tick(record(tick))).collect();
    assert_eq!(records[2..6], expected);
    assert_eq!(records[6..], [Record::End { why: "SIGTERM".to_owned() }]);
}

#[test]
fn a_journal_cut_at_any_byte_holds_every_record_before_the_cut_and_no_end_mark() {
    let disk = FakeDisk::default();
    let (mut journal, _) = start(&disk, JournalMode::Strict);
    let tickets: Vec<_> = (1..6).map(|tick| journal.append(record(tick))).collect();
    until(|| tickets.iter().all(ReleaseTicket::is_written));
    drop(journal);
    let whole = disk.segment(0);
    let all = records_of(&whole);
    assert_eq!(all.len(), 7);
    let mut held = 0;
    for cut in frame::SEGMENT_HEAD..=whole.len() {
        let records = records_of(&whole[..cut]);
        assert_eq!(records[..], all[..records.len()]);
        assert!(records.len() == held || records.len() == held + 1);
        held = records.len();
    }
    assert_eq!(held, 7);
}

#[test]
fn each_segment_begins_with_a_header_and_a_snapshot_and_no_record_is_lost_between() {
    let disk = FakeDisk::default();
    let counters = Counters::default();
    let config = JournalConfig { segment_bytes: 300, ..config(PathBuf::new()) };
    let mut journal =
        Journal::start_on(disk.clone(), config, Bytes::from_static(b"at 0"), &counters).unwrap();
    let mut begun = 0;
    for tick in 1..=60 {
        let ticket = journal.append(record(tick));
        until(|| ticket.is_written());
        if journal.wants_snapshot() {
            begun += 1;
            journal.begin_segment(Bytes::from(format!("at {tick}")));
        }
    }
    assert!(journal.close("done", PATIENCE));
    assert!(begun > 5, "only {begun} segments");
    let mut next = 1;
    for segment in 0..=begun {
        let records = records_of(&disk.segment(segment));
        let Record::Header(header) = &records[0] else { panic!("{records:?}") };
        assert_eq!(header.segment, segment);
        let at = format!("at {}", next - 1);
        assert_eq!(records[1], Record::Snapshot(Bytes::from(at)));
        for (tick, _) in ticks(&records) {
            assert_eq!(tick, next);
            next += 1;
        }
    }
    assert_eq!(next, 61);
}

#[test]
fn a_full_disk_withholds_what_is_sent_freezes_and_loses_no_byte_when_it_has_room_again() {
    let disk = FakeDisk::default();
    let (mut journal, counters) = start(&disk, JournalMode::Strict);
    disk.write_at_most(17);
    until(|| journal.append(record(1)).is_written());
    let before = journal.handed;
    disk.fill_up();
    let tickets: Vec<_> = (2..=40).map(|tick| journal.append(record(tick))).collect();
    until(|| journal.shared.is_failing());
    assert!(tickets.iter().all(|ticket| !ticket.is_written()));
    let Some(JournalNews::Behind { ticks: behind, why }) = journal.poll() else { panic!() };
    assert!(behind > BEHIND_TICKS_MAX && why.is_some());
    assert_eq!(journal.poll(), None, "told once");
    disk.make_room();
    until(|| tickets.iter().all(ReleaseTicket::is_written));
    assert_eq!(journal.poll(), Some(JournalNews::CaughtUp));
    assert_eq!(journal.poll(), None);
    assert!(journal.close("done", PATIENCE));
    let written: Vec<u64> = ticks(&records_of(&disk.segment(0))).iter().map(|t| t.0).collect();
    let expected: Vec<u64> = std::iter::repeat_n(1, before as usize).chain(2..=40).collect();
    assert_eq!(written, expected);
    assert!(counters.snapshot()["journal_write_errors"] > 0);
    assert_eq!(counters.snapshot()["journal_records_left_out"], 0);
}

#[test]
fn a_strict_journal_that_can_hold_no_more_marks_a_gap_and_releases_with_it() {
    let disk = FakeDisk::default();
    let (mut journal, counters) = start(&disk, JournalMode::Strict);
    disk.fill_up();
    // The writer stands before the first record, so that the queue holds what it can hold.
    let first = journal.append(record(1));
    until(|| journal.shared.is_failing());
    let last = RECORDS_WAIT_MAX as u64 * 2;
    let tickets: Vec<_> = (2..=last).map(|tick| journal.append(record(tick))).collect();
    disk.make_room();
    until(|| journal.shared.waiting() == 0);
    assert!(!tickets[last as usize - 2].is_written(), "its gap is not written yet");
    let ticket = journal.append(record(last + 1));
    until(|| ticket.is_written());
    assert!(first.is_written() && tickets.iter().all(ReleaseTicket::is_written));
    assert!(journal.close("done", PATIENCE));
    let spans = ticks(&records_of(&disk.segment(0)));
    let left_out: u64 =
        spans.iter().filter(|(from, to)| from != to).map(|(from, to)| to - from + 1).sum();
    assert_eq!(left_out, counters.snapshot()["journal_records_left_out"]);
    assert!(left_out > 0);
    let mut next = 1;
    for (from, to) in spans {
        assert_eq!(from, next);
        next = to + 1;
    }
    assert_eq!(next, last + 2);
}

#[test]
fn an_end_mark_never_stands_behind_a_gap_that_is_not_marked() {
    let disk = FakeDisk::default();
    let (mut journal, _) = start(&disk, JournalMode::Strict);
    disk.fill_up();
    journal.append(record(1));
    until(|| journal.shared.is_failing());
    let last = RECORDS_WAIT_MAX as u64 * 2;
    (2..=last).for_each(|tick| drop(journal.append(record(tick))));
    let (room, closed) =
        (disk.clone(), std::thread::spawn(move || journal.close("done", PATIENCE)));
    room.make_room();
    assert!(closed.join().unwrap());
    let records = records_of(&disk.segment(0));
    assert_eq!(records.last(), Some(&Record::End { why: "done".to_owned() }));
    let Some(&(from, to)) = ticks(&records).last() else { panic!() };
    assert!(from < to && to == last, "{from}..{to}");
}

#[test]
fn a_lossy_journal_holds_nothing_up_and_says_what_is_missing() {
    let disk = FakeDisk::default();
    let (mut journal, counters) = start(&disk, JournalMode::Lossy);
    disk.fill_up();
    let tickets: Vec<_> = (1..=60).map(|tick| journal.append(record(tick))).collect();
    assert!(tickets.iter().all(ReleaseTicket::is_written), "nothing waits");
    assert!(matches!(journal.poll(), Some(JournalNews::Behind { .. })));
    disk.make_room();
    until(|| journal.lag() == 0);
    let ticket = journal.append(record(61));
    until(|| ticket.is_written());
    assert_eq!(journal.poll(), Some(JournalNews::CaughtUp));
    assert!(journal.close("done", PATIENCE));
    let handed = BEHIND_TICKS_MAX + 1;
    let mut expected: Vec<_> = (1..=handed).map(|tick| (tick, tick)).collect();
    expected.extend([(handed + 1, 60), (61, 61)]);
    assert_eq!(ticks(&records_of(&disk.segment(0))), expected);
    assert_eq!(counters.snapshot()["journal_records_left_out"], 60 - handed);
}

#[test]
fn an_end_in_order_does_not_wait_for_a_disk_that_takes_nothing() {
    let disk = FakeDisk::default();
    let (mut journal, _) = start(&disk, JournalMode::Strict);
    disk.fill_up();
    journal.append(record(1));
    assert!(!journal.close("SIGTERM", Duration::from_millis(20)));
}

use marchland_common::journal::frame;
