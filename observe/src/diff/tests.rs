//! Equal recordings are equal, whatever their lives are called; of different ones the first difference
//! is told with its fields.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing::{Plan, history};
use marchland_common::journal::{Event, Record};

fn run(seed: u64) -> Vec<(Node, Vec<Record>)> {
    history(Plan { ticks: 60, ..Plan::new(seed) }).journals
}

/// The same, in a store that had counted further.
fn renamed(journals: Vec<(Node, Vec<Record>)>) -> Vec<(Node, Vec<Record>)> {
    let text = serde_json::to_string(&journals).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    rename(&mut value);
    serde_json::from_value(value).unwrap()
}

fn rename(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            if let (Some(number), true) = (
                fields.get("incarnation").and_then(serde_json::Value::as_u64),
                fields.contains_key("name"),
            ) {
                fields.insert("incarnation".to_owned(), (number + 1_000).into());
            }
            fields.values_mut().for_each(rename);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(rename),
        _ => {}
    }
}

#[test]
fn equal_recordings_are_equal_under_any_incarnations() {
    let (a, b) = (Journals::from_records(run(5)), Journals::from_records(renamed(run(5))));
    assert_ne!(a.processes()[0].node().incarnation, b.processes()[0].node().incarnation);
    let compared = compare(&a, &b, None);
    assert_eq!(compared.first, None);
    assert_eq!((compared.lives, compared.differing), (5, 0), "three cells and two bases");
    assert!(compared.equal > 1_000 && compared.left_out.is_empty(), "{compared:?}");
}

#[test]
fn the_first_difference_is_told_with_its_fields_and_not_one_that_follows() {
    let whole = run(5);
    let mut other = whole.clone();
    let mut place = None;
    for (node, records) in &mut other {
        for record in records.iter_mut() {
            let Record::Tick(tick) = record else { continue };
            if node.name.kind != NodeKind::Cell || tick.tick < Tick(20) {
                continue;
            }
            // From tick 20 on every digest is another one, at all cells.
            for (at, event) in tick.events.iter_mut().enumerate() {
                if let Event::Stepped { digest, .. } = event {
                    *digest ^= 1;
                    let n = (tick.received.len() + at) as u64;
                    place = place.or(Some((tick.tick, node.name, n)));
                }
            }
        }
    }
    let compared = compare(&Journals::from_records(whole), &Journals::from_records(other), None);
    let first = compared.first.unwrap();
    assert!(first.tick >= Tick(20) && first.tick <= place.unwrap().0, "{first:?}");
    assert_eq!(first.process.kind, NodeKind::Cell);
    let fields: Vec<&str> = first.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["digest"]);
    assert_eq!(first.first.unwrap().kind(), "stepped");
    assert!(compared.differing > 1);
}

#[test]
fn another_kind_a_missing_end_and_another_state_are_differences() {
    let whole = run(5);
    let with = |change: &dyn Fn(&mut TickRecord)| {
        let mut other = whole.clone();
        for record in &mut other[0].1 {
            if let Record::Tick(tick) = record
                && tick.tick == Tick(30)
            {
                change(tick);
            }
        }
        let a = Journals::from_records(whole.clone());
        compare(&a, &Journals::from_records(other), None).first.unwrap()
    };
    let gone = with(&|tick| tick.events.clear());
    assert_eq!((gone.tick, gone.what), (Tick(30), "a fact differs"));
    assert_ne!(gone.first.map(|f| f.kind()), gone.second.map(|f| f.kind()));
    let state = with(&|tick| tick.digest.whole ^= 1);
    assert!(state.what.contains("the state is not"), "{state:?}");
    let mut short = whole.clone();
    short[1].1.truncate(20);
    let short = Journals::from_records(short);
    let ends = compare(&Journals::from_records(whole.clone()), &short, None).first.unwrap();
    assert!(ends.what.contains("ends here"), "{ends:?}");
    assert!(ends.second.is_none());
}

#[test]
fn what_is_in_one_recording_only_is_named() {
    let (mut a, b) = (run(5), run(5));
    a.retain(|(node, _)| *node != b[0].0);
    let compared = compare(&Journals::from_records(a), &Journals::from_records(b), None);
    assert_eq!(compared.left_out, ["cell-1 is only in the second recording"]);
    let nobody = NodeName { kind: NodeKind::Cell, number: 9 };
    let none = compare(&Journals::default(), &Journals::default(), Some(nobody));
    assert_eq!((none.lives, none.first), (0, None));
}
