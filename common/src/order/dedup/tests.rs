#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

type Table = CommandDedup<String>;

const ONE: SessionId = SessionId(1);
const TWO: SessionId = SessionId(2);
const THREE: SessionId = SessionId(3);

fn attached() -> Table {
    let mut table = Table::default();
    assert!(table.attach(ONE).new);
    table
}

fn answer(n: u64) -> String {
    format!("answer {n}")
}

#[test]
fn a_command_sent_again_gets_the_same_answer_until_it_is_acknowledged() {
    let mut table = attached();
    assert_eq!(table.check(ONE, 1), CommandVerdict::New);
    table.record(ONE, 1, answer(1)).unwrap();
    assert_eq!(table.check(ONE, 1), CommandVerdict::Duplicate(Some(answer(1))));
    assert_eq!(table.acknowledge(ONE, 1), 1);
    assert_eq!(table.check(ONE, 1), CommandVerdict::Duplicate(None));
    assert_eq!(table.check(ONE, 2), CommandVerdict::New);
}

#[test]
fn a_command_may_not_overtake_the_one_before_it() {
    let mut table = attached();
    assert_eq!(table.check(ONE, 2), CommandVerdict::Gap { expected: 1 });
    assert_eq!(table.check(ONE, u64::MAX), CommandVerdict::Gap { expected: 1 });
    let refused = Err(RecordRefused::OutOfOrder { expected: 1 });
    assert_eq!(table.record(ONE, 2, answer(2)), refused);
    assert_eq!(table.record(ONE, 0, answer(0)), refused);
    assert_eq!(table.check(ONE, 0), CommandVerdict::Duplicate(None), "numbers begin at 1");
}

#[test]
fn the_sixty_fifth_unacknowledged_command_is_told_busy() {
    let mut table = attached();
    for n in 1..=64 {
        assert_eq!(table.check(ONE, n), CommandVerdict::New);
        table.record(ONE, n, answer(n)).unwrap();
    }
    assert_eq!(table.check(ONE, 65), CommandVerdict::Busy);
    assert_eq!(table.record(ONE, 65, answer(65)), Err(RecordRefused::Busy));
    assert_eq!(table.check(ONE, 64), CommandVerdict::Duplicate(Some(answer(64))));
    assert_eq!(table.acknowledge(ONE, 1), 1);
    assert_eq!(table.check(ONE, 65), CommandVerdict::New);
}

#[test]
fn the_newest_login_replaces_the_oldest_session() {
    let mut table = attached();
    table.record(ONE, 1, answer(1)).unwrap();
    assert_eq!(table.attach(TWO), Attached { new: true, replaced: None });
    let replaced = table.attach(THREE).replaced.unwrap();
    assert_eq!((replaced.session, replaced.high), (ONE, 1));
    assert_eq!(table.check(ONE, 2), CommandVerdict::NotAttached);
    assert_eq!(table.record(ONE, 2, answer(2)), Err(RecordRefused::NotAttached));
    assert_eq!(table.acknowledge(ONE, 9), 0);
    assert_eq!(table.check(TWO, 1), CommandVerdict::New);
}

#[test]
fn a_session_that_attaches_again_keeps_its_numbers_and_becomes_the_newest() {
    let mut table = attached();
    table.record(ONE, 1, answer(1)).unwrap();
    table.attach(TWO);
    assert_eq!(table.attach(ONE), Attached { new: false, replaced: None });
    assert_eq!(table.check(ONE, 1), CommandVerdict::Duplicate(Some(answer(1))));
    assert_eq!(table.attach(THREE).replaced.unwrap().session, TWO);
    assert_eq!(table.detach(ONE).unwrap().high, 1);
    assert_eq!(table.detach(ONE), None);
}

#[test]
fn a_table_that_breaks_the_rules_does_not_decode() {
    let row = |session, high, numbers: &[u64]| SessionRow {
        session,
        high,
        answers: numbers.iter().map(|n| (*n, answer(*n))).collect(),
    };
    let many: Vec<u64> = (1..=65).collect();
    let broken = [
        vec![row(ONE, 2, &[3])],
        vec![row(ONE, 2, &[2, 1])],
        vec![row(ONE, 2, &[0])],
        vec![row(ONE, 65, &many)],
        vec![row(ONE, 0, &[]), row(ONE, 0, &[])],
        vec![row(ONE, 0, &[]), row(TWO, 0, &[]), row(THREE, 0, &[])],
    ];
    for rows in broken {
        let bytes = postcard::to_stdvec(&Table { rows }).unwrap();
        assert!(postcard::from_bytes::<Table>(&bytes).is_err());
    }
    let good = Table { rows: vec![row(ONE, 5, &[2, 5]), row(TWO, 0, &[])] };
    let bytes = postcard::to_stdvec(&good).unwrap();
    assert_eq!(postcard::from_bytes::<Table>(&bytes).unwrap(), good);
}

proptest! {
    #[test]
    fn however_often_and_wherever_commands_arrive_each_is_applied_once_and_in_order(
        arrivals in proptest::collection::vec((1u64..90, any::<bool>(), any::<bool>()), 1..600),
    ) {
        let mut table = Table::default();
        table.attach(ONE);
        let (mut applied, mut seen) = (0, 0);
        for (n, travels, acknowledges) in arrivals {
            if travels {
                table = postcard::from_bytes(&postcard::to_stdvec(&table).unwrap()).unwrap();
            }
            match table.check(ONE, n) {
                CommandVerdict::New => {
                    prop_assert_eq!(n, applied + 1);
                    applied = n;
                    table.record(ONE, n, answer(n)).unwrap();
                }
                CommandVerdict::Duplicate(Some(text)) => {
                    prop_assert!(n <= applied && n > seen);
                    prop_assert_eq!(text, answer(n));
                }
                CommandVerdict::Duplicate(None) => prop_assert!(n <= seen),
                CommandVerdict::Gap { expected } => prop_assert_eq!(expected, applied + 1),
                CommandVerdict::Busy => prop_assert_eq!(applied - seen, 64),
                CommandVerdict::NotAttached => prop_assert!(false),
            }
            if acknowledges && n <= applied {
                seen = seen.max(n);
                table.acknowledge(ONE, n);
            }
        }
    }
}

#[test]
fn a_number_that_the_client_acknowledges_is_never_new_even_if_its_base_answered_it_alone() {
    let mut table = CommandDedup::default();
    table.attach(SessionId(1));
    table.record(SessionId(1), 1, "first").expect("the first command is new");
    assert_eq!(table.acknowledge(SessionId(1), 2), 1);
    assert_eq!(table.check(SessionId(1), 2), CommandVerdict::Duplicate(None));
    assert_eq!(table.check(SessionId(1), 3), CommandVerdict::New);
}
