#![allow(clippy::unwrap_used)]
use super::*;
use crate::order::SlotId;
use proptest::prelude::*;

type Marks = InboxMarks<u64>;

fn from(n: u64) -> EntityId {
    EntityId::new(SlotId(3), n)
}

#[test]
fn a_message_delivered_again_gets_the_same_answer_until_it_is_settled() {
    let mut marks = Marks::default();
    assert_eq!(marks.check(from(1), 7), InboxVerdict::New);
    marks.record(from(1), 7, 70).unwrap();
    assert_eq!(marks.check(from(1), 7), InboxVerdict::Duplicate(Some(70)));
    assert_eq!(marks.check(from(1), 9), InboxVerdict::New, "an outbox serves many receivers");
    assert_eq!(marks.settle(from(1), 7, false), Settled { answers: 1, forgotten: false });
    assert_eq!(marks.check(from(1), 7), InboxVerdict::Duplicate(None));
}

#[test]
fn what_is_recorded_is_not_recorded_again() {
    let mut marks = Marks::default();
    marks.record(from(1), 7, 70).unwrap();
    for out_seq in [7, 6, 0] {
        assert_eq!(marks.record(from(1), out_seq, 1), Err(InboxRefused::Known { high: 7 }));
    }
    assert_eq!(marks.check(from(1), 7), InboxVerdict::Duplicate(Some(70)));
}

#[test]
fn a_source_is_forgotten_only_when_nothing_of_it_is_open() {
    let mut marks = Marks::default();
    marks.record(from(1), 7, 70).unwrap();
    marks.record(from(1), 8, 80).unwrap();
    assert_eq!(marks.settle(from(1), 7, true), Settled { answers: 1, forgotten: false });
    assert_eq!(marks.check(from(1), 8), InboxVerdict::Duplicate(Some(80)));
    assert_eq!(marks.settle(from(1), 8, true), Settled { answers: 1, forgotten: true });
    assert!(marks.rows().is_empty());
    assert_eq!(marks.settle(from(1), 8, true), Settled::default());
}

#[test]
fn the_257th_source_waits_until_one_is_forgotten() {
    let mut marks = Marks::default();
    (1..=256).for_each(|n| marks.record(from(n), 1, n).unwrap());
    assert_eq!(marks.check(from(257), 1), InboxVerdict::Full);
    assert_eq!(marks.record(from(257), 1, 0), Err(InboxRefused::Full));
    assert_eq!(marks.check(from(256), 2), InboxVerdict::New, "a known source goes on");
    assert!(marks.settle(from(9), 1, true).forgotten);
    assert_eq!(marks.check(from(257), 1), InboxVerdict::New);
}

#[test]
fn a_source_that_is_never_settled_is_full_at_the_size_of_an_outbox() {
    let mut marks = Marks::default();
    (1..=64).for_each(|n| marks.record(from(1), n, n).unwrap());
    assert_eq!(marks.check(from(1), 65), InboxVerdict::Full);
    assert_eq!(marks.record(from(1), 65, 0), Err(InboxRefused::Full));
    marks.settle(from(1), 1, false);
    assert_eq!(marks.check(from(1), 65), InboxVerdict::New);
}

#[test]
fn marks_that_break_the_rules_do_not_decode() {
    let mark = |n, high, answers: &[(u64, u64)]| InboxMark {
        source: from(n),
        high,
        answers: answers.to_vec(),
    };
    let broken = [
        vec![mark(2, 1, &[]), mark(1, 1, &[])],
        vec![mark(1, 1, &[]), mark(1, 1, &[])],
        vec![mark(1, 1, &[(2, 0)])],
        vec![mark(1, 3, &[(2, 0), (2, 0)])],
        (1..=257).map(|n| mark(n, 1, &[])).collect(),
    ];
    for marks in broken {
        let bytes = postcard::to_stdvec(&Marks { marks }).unwrap();
        assert!(postcard::from_bytes::<Marks>(&bytes).is_err());
    }
}

proptest! {
    #[test]
    fn value_from_many_sources_is_credited_once_across_any_number_of_moves(
        arrivals in proptest::collection::vec((1u64..6, 1u64..60, any::<bool>()), 1..500),
    ) {
        let mut marks = Marks::default();
        let mut credited: Vec<(u64, u64)> = Vec::new();
        for (source, out_seq, settles) in arrivals {
            marks = postcard::from_bytes(&postcard::to_stdvec(&marks).unwrap()).unwrap();
            match marks.check(from(source), out_seq) {
                InboxVerdict::New => {
                    prop_assert!(credited.iter().all(|(s, n)| *s != source || *n < out_seq));
                    credited.push((source, out_seq));
                    marks.record(from(source), out_seq, out_seq).unwrap();
                }
                InboxVerdict::Duplicate(Some(answer)) => prop_assert_eq!(answer, out_seq),
                InboxVerdict::Duplicate(None) => {}
                InboxVerdict::Full => prop_assert!(false, "at most 59 answers can be open"),
            }
            if settles {
                marks.settle(from(source), out_seq, false);
            }
        }
    }
}
