//! What viewers need to open a trace: its documented structure, checked in both forms.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::causal::Span;
use crate::testing::{Plan, history};
use marchland_common::journal::Record;
use marchland_common::order::Tick;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn recording() -> Journals {
    Journals::from_records(history(Plan { ticks: 60, ..Plan::new(11) }).journals)
}

fn traced(journals: &Journals, options: &TraceOptions, form: Form) -> (Vec<u8>, Figures) {
    let mut out = Vec::new();
    let figures = trace(journals, &Catalog::of(journals), options, form, &mut out).unwrap();
    (out, figures)
}

fn events(options: &TraceOptions) -> (Vec<Value>, Figures) {
    let (bytes, figures) = traced(&recording(), options, Form::Json);
    let whole: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(whole["displayTimeUnit"], "ms");
    assert!(whole["otherData"]["times"].as_str().unwrap().starts_with("nominal"));
    (whole["traceEvents"].as_array().unwrap().clone(), figures)
}

type Row = (u64, u64);

fn row(event: &Value) -> Row {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

fn at(event: &Value) -> u64 {
    event["ts"].as_u64().unwrap()
}

#[test]
fn chrome_events_are_named_and_slices_nest() {
    let (events, figures) = events(&TraceOptions::new(50_000));
    let of = |ph: &'static str| events.iter().filter(move |event| event["ph"] == ph);
    let known = ["M", "X", "i", "s", "t", "f"];
    assert!(events.iter().all(|event| known.contains(&event["ph"].as_str().unwrap())));
    let named: BTreeSet<Row> = of("M").filter(|e| e["name"] == "thread_name").map(row).collect();
    let processes = of("M").filter(|event| event["name"] == "process_name");
    let names: Vec<&str> = processes.map(|e| e["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cell-1", "cell-2", "cell-3", "base-1", "base-2"]);
    let mut open: BTreeMap<Row, Vec<u64>> = BTreeMap::new();
    for slice in of("X") {
        assert!(named.contains(&row(slice)));
        let (begin, end) = (at(slice), at(slice) + slice["dur"].as_u64().unwrap());
        let around = open.entry(row(slice)).or_default();
        around.retain(|end| *end > begin);
        assert!(around.last().is_none_or(|outer| end <= *outer), "{slice}");
        around.push(end);
        assert_eq!(slice["args"]["nominal"], true);
    }
    assert_eq!(of("X").count() as u64, figures.slices);
    assert_eq!(of("i").count() as u64, figures.marks);
    assert!(of("i").all(|mark| mark["s"] == "t" && mark["args"]["event"].is_string()));
    assert!(figures.left_out.iter().any(|left| left.contains("1 clients")), "{figures:?}");
}

#[test]
fn chrome_flows_are_bound_to_slices_and_lead_from_one_to_another() {
    let (events, figures) = events(&TraceOptions::new(50_000));
    let mut slices: BTreeMap<Row, Vec<(u64, u64)>> = BTreeMap::new();
    for slice in events.iter().filter(|event| event["ph"] == "X") {
        let (begin, long) = (at(slice), slice["dur"].as_u64().unwrap());
        slices.entry(row(slice)).or_default().push((begin, begin + long));
    }
    let flows: Vec<&Value> =
        events.iter().filter(|e| ["s", "t", "f"].contains(&e["ph"].as_str().unwrap())).collect();
    assert_eq!(flows.len() as u64, figures.arrows);
    let mut ends: BTreeMap<String, BTreeMap<&str, Vec<u64>>> = BTreeMap::new();
    for flow in &flows {
        let inside = slices[&row(flow)].iter().any(|(a, b)| (*a..*b).contains(&at(flow)));
        assert!(inside, "{flow}");
        assert_eq!(flow["bp"] == "e", flow["ph"] == "f");
        let key = format!("{} {}", flow["cat"], flow["id"]);
        ends.entry(key)
            .or_default()
            .entry(flow["ph"].as_str().unwrap())
            .or_default()
            .push(at(flow));
    }
    let whole = |of: &&BTreeMap<&str, Vec<u64>>| of.contains_key("s") && of.contains_key("f");
    assert!(ends.values().filter(whole).count() > 500);
    for of in ends.values() {
        assert!(of.get("s").is_none_or(|all| all.len() == 1) || of.contains_key("t"), "{of:?}");
        if let (Some(begins), Some(arrives)) = (of.get("s"), of.get("f")) {
            let tick = |at: u64| at / 50_000;
            assert!(tick(begins[0]) <= tick(arrives[0]), "{of:?}");
        }
    }
    let handoffs = ends.iter().filter(|(key, of)| key.contains("handoff") && of.len() == 3);
    assert!(handoffs.count() > 5, "from the old owner by the base to the new one");
}

#[test]
fn a_span_and_a_bound_choose_what_is_drawn_and_say_what_is_left_out() {
    let span = Span { from: Tick(20), to: Tick(29) };
    let (some, figures) = events(&TraceOptions { span: Some(span), ..TraceOptions::new(50_000) });
    assert_eq!(figures.ticks, Some((20, 29)));
    let ticks: BTreeSet<u64> = some
        .iter()
        .filter(|event| event["ph"] == "X")
        .filter_map(|slice| slice["args"]["tick"].as_u64())
        .collect();
    assert_eq!(ticks, (20..=29).collect());
    let (few, figures) = events(&TraceOptions { items_max: 2_000, ..TraceOptions::new(50_000) });
    assert!(few.len() < 6_000 && !few.is_empty(), "{}", few.len());
    assert!(figures.left_out.iter().any(|left| left.contains("--tick")), "{figures:?}");
    let (nothing, figures) = traced(&Journals::default(), &TraceOptions::new(1), Form::Json);
    assert!(serde_json::from_slice::<Value>(&nothing).is_ok());
    assert_eq!(figures, Figures::default());
}

#[test]
fn what_a_journal_could_not_keep_is_drawn_as_such() {
    let mut journals = history(Plan { ticks: 60, ..Plan::new(11) }).journals;
    journals[0].1.push(Record::Gap { from: Tick(30), to: Tick(31) });
    let (bytes, _) =
        traced(&Journals::from_records(journals), &TraceOptions::new(50_000), Form::Json);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("the journal could not keep these ticks"));
}

/// One field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, by number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return n;
            }
        }
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (eight, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(eight.try_into().unwrap()))
            }
            2 => {
                let len = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(len);
                bytes = rest;
                Field::Bytes(inner)
            }
            other => panic!("wire type {other}"),
        };
        out.push((key >> 3, field));
    }
    out
}

fn number(fields: &[(u64, Field<'_>)], wanted: u64) -> Option<u64> {
    fields.iter().find_map(|(field, value)| match value {
        Field::Number(n) if *field == wanted => Some(*n),
        _ => None,
    })
}

fn inner<'a>(fields: &'a [(u64, Field<'a>)], wanted: u64) -> Option<&'a [u8]> {
    fields.iter().find_map(|(field, value)| match value {
        Field::Bytes(bytes) if *field == wanted => Some(*bytes),
        _ => None,
    })
}

#[test]
fn track_events_are_packets_on_described_tracks_whose_slices_nest() {
    let (bytes, figures) = traced(&recording(), &TraceOptions::new(50_000), Form::TrackEvent);
    let mut tracks = BTreeSet::new();
    let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let (mut slices, mut marks, mut flows) = (0, 0, 0);
    for (field, packet) in fields(&bytes) {
        let Field::Bytes(packet) = packet else { panic!("a trace is packets") };
        assert_eq!(field, 1);
        let packet = fields(packet);
        if let Some(descriptor) = inner(&packet, 60) {
            let descriptor = fields(descriptor);
            let parent = number(&descriptor, 5);
            assert!(parent.is_none_or(|parent| tracks.contains(&parent)));
            assert!(parent.is_some() || inner(&descriptor, 3).is_some(), "a row or a process");
            tracks.insert(number(&descriptor, 1).unwrap());
            continue;
        }
        let at = number(&packet, 8).unwrap();
        assert_eq!(number(&packet, 10), Some(1), "of one sequence");
        let event = fields(inner(&packet, 11).unwrap());
        let track = number(&event, 11).unwrap();
        assert!(tracks.contains(&track));
        let on_track = open.entry(track).or_default();
        match number(&event, 9) {
            Some(1) => {
                assert!(on_track.last().is_none_or(|outer| *outer <= at));
                on_track.push(at);
                slices += 1;
                assert!(inner(&event, 23).is_some(), "it has a name");
            }
            Some(2) => assert!(on_track.pop().is_some_and(|began| began < at)),
            Some(3) => {
                assert!(on_track.last().is_some_and(|began| *began <= at));
                marks += 1;
            }
            other => panic!("type {other:?}"),
        }
        flows += event.iter().filter(|(field, _)| [47, 48].contains(field)).count() as u64;
    }
    assert!(open.values().all(Vec::is_empty), "all slices end");
    assert_eq!((slices, marks, flows), (figures.slices, figures.marks, figures.arrows));
}
