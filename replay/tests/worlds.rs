//! Simulated worlds, replayed from their journals: every life of every process does again what it
//! did, and whatever is changed in a journal afterwards is found and named.
#![allow(clippy::unwrap_used)]

use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::CellInput;
use marchland_common::journal::{Event, Record, TickRecord};
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_frontier_core::Frontier;
use marchland_observe::Journals;
use marchland_replay::{LifeReplay, Outcome, ReplayOptions, Replayed, World, replay};
use marchland_sim::{SimConfig, run};
use std::sync::Arc;

type Written = Vec<(Node, Vec<Record>)>;

fn world() -> World {
    World::new(Arc::new(Frontier::new()))
}

fn of_seed(seed: u64) -> Written {
    run(&SimConfig { ticks: 400, keep_inputs: true, ..SimConfig::of_seed(seed) }).journals
}

fn replayed(journals: Written) -> Replayed {
    replay(&Journals::from_records(journals), &world(), &ReplayOptions::default())
}

fn ticks(records: &[Record]) -> impl Iterator<Item = (usize, &TickRecord)> {
    records.iter().enumerate().filter_map(|(at, record)| match record {
        Record::Tick(tick) => Some((at, tick)),
        _ => None,
    })
}

/// The longest journal of a cellapp.
fn a_cell(journals: &Written) -> usize {
    let cells = (0..journals.len()).filter(|at| journals[*at].0.name.kind == NodeKind::Cell);
    cells.max_by_key(|at| journals[*at].1.len()).unwrap()
}

fn life(replayed: &Replayed, node: Node) -> &LifeReplay {
    replayed.lives.iter().find(|life| life.node == node).unwrap()
}

#[test]
fn every_life_of_every_process_does_again_what_it_did() {
    let (mut lives, mut lost) = (0, 0);
    for seed in 1..=6 {
        let journals = of_seed(seed);
        let replayed = replayed(journals.clone());
        assert_eq!(replayed.verdict, Outcome::Equal, "seed {seed}: {replayed:#?}");
        for (node, records) in journals {
            let life = life(&replayed, node);
            let is_server = node.name.kind != NodeKind::Client;
            let written = if is_server { ticks(&records).count() as u64 } else { 0 };
            assert_eq!((life.has_core, life.moments), (is_server, written), "{node}");
            lives += u64::from(is_server);
        }
        lost += run_lives_lost(&replayed);
        assert!(replayed.real_us > 20_000_000, "{}", replayed.real_us);
    }
    assert!(lives > 40 && lost > 8, "{lives} lives, {lost} of them lost");
}

/// Lives that were followed by another one of their name.
fn run_lives_lost(replayed: &Replayed) -> u64 {
    let lives = replayed.lives.windows(2);
    lives.filter(|pair| pair[0].node.name == pair[1].node.name).count() as u64
}

#[test]
fn threads_change_nothing() {
    let journals = Journals::from_records(of_seed(3));
    let one = replay(&journals, &world(), &ReplayOptions::default());
    let many = ReplayOptions { threads: 4, ..ReplayOptions::default() };
    assert_eq!(replay(&journals, &world(), &many), one);
}

#[test]
fn one_byte_of_an_input_that_is_changed_is_found_and_its_tick_is_named() {
    let journals = of_seed(5);
    let cell = a_cell(&journals);
    let (node, records) = journals[cell].clone();
    let busy: Vec<usize> =
        ticks(&records).filter(|(_, t)| t.received.len() > 1).map(|(at, _)| at).collect();
    let (mut found, mut tried) = (0, 0);
    for step in 1..24 {
        let at = busy[busy.len() * step / 24];
        let mut changed = records.clone();
        let Record::Tick(record) = &mut changed[at] else { unreachable!() };
        let (tick, mut input) = (record.tick, record.input.to_vec());
        let byte = (input.len() - 1) * step / 24;
        input[byte] ^= 1;
        record.input = input.into();
        let replayed = replayed(vec![(node, changed)]);
        tried += 1;
        // Not every byte means something to a core: some say when a bundle was sent, for clocks.
        if let Some(difference) = &life(&replayed, node).difference {
            assert_eq!(replayed.verdict, Outcome::Differs);
            assert!(difference.tick >= tick, "{difference:?} before {tick}");
            assert!(!difference.fields.is_empty());
            found += u64::from(difference.tick == tick);
        }
    }
    assert!(found * 3 > tried * 2, "{found} of {tried} changed bytes were found at their tick");
}

#[test]
fn an_event_that_did_not_happen_so_is_named_with_its_field() {
    let mut journals = of_seed(5);
    let cell = a_cell(&journals);
    let (node, records) = &mut journals[cell];
    let node = *node;
    let (mut tick, mut entity) = (Tick(0), String::new());
    for record in records.iter_mut().skip(300) {
        let Record::Tick(record) = record else { continue };
        let steps = record.events.iter_mut().filter_map(|event| match event {
            Event::Stepped { entity, digest, .. } => Some((*entity, digest)),
            _ => None,
        });
        if let Some((id, digest)) = steps.last() {
            *digest ^= 1;
            (tick, entity) = (record.tick, id.to_string());
            break;
        }
    }
    let replayed = replayed(journals);
    let difference = life(&replayed, node).difference.clone().unwrap();
    assert_eq!((difference.tick, difference.count), (tick, 1));
    let name = &difference.fields[0].name;
    assert!(name.contains(&format!("Stepped of {entity}]")), "{name}");
    assert!(name.ends_with(".Stepped.digest"), "{name}");
}

#[test]
fn a_state_that_was_another_one_is_named_by_its_part() {
    let mut journals = of_seed(5);
    let cell = a_cell(&journals);
    let (node, records) = &mut journals[cell];
    let node = *node;
    let Record::Tick(record) = &mut records[200] else { unreachable!() };
    let tick = record.tick;
    record.digest.whole ^= 1;
    record.digest.parts[1][0] ^= 1;
    let replayed = replayed(journals);
    let difference = life(&replayed, node).difference.clone().unwrap();
    assert_eq!(difference.tick, tick);
    assert_eq!(difference.fields[0].name, "state of entities");
}

/// A cellapp's journal with a second whole core in its middle, and where that stands.
fn with_a_core_in_the_middle() -> (Node, Vec<Record>, usize) {
    let journals = of_seed(5);
    let (node, mut records) = journals[a_cell(&journals)].clone();
    let Record::Snapshot(begin) = &records[1] else { panic!("{:?}", records[1]) };
    let mut core = CellCore::restore(begin, Arc::new(Frontier::new())).unwrap();
    let middle = records.len() / 2;
    for (_, record) in ticks(&records[..middle]) {
        core.tick(postcard::from_bytes::<CellInput>(&record.input).unwrap());
    }
    records.insert(middle, Record::Snapshot(core.snapshot().into()));
    (node, records, middle)
}

#[test]
fn a_whole_core_on_the_way_is_compared_and_what_differs_in_it_is_named() {
    let (node, mut records, middle) = with_a_core_in_the_middle();
    let good = replayed(vec![(node, records.clone())]);
    assert_eq!((good.verdict, life(&good, node).cores), (Outcome::Equal, 1));

    let Record::Snapshot(bytes) = &records[middle] else { unreachable!() };
    let mut other = CellCore::restore(bytes, Arc::new(Frontier::new())).unwrap();
    let next = CellInput::empty(other.last_tick().next());
    let before = other.last_tick();
    other.tick(next);
    records[middle] = Record::Snapshot(other.snapshot().into());
    let bad = replayed(vec![(node, records)]);
    let difference = life(&bad, node).difference.clone().unwrap();
    assert_eq!(difference.tick, before);
    let tick = difference.fields.iter().find(|field| field.name == "core.tick").unwrap();
    assert_eq!((&tick.recorded, &tick.replayed), (&before.next().to_string(), &before.to_string()));
}

#[test]
fn behind_a_gap_it_goes_on_from_the_next_whole_core_and_says_what_it_passed_over() {
    let (node, mut records, middle) = with_a_core_in_the_middle();
    let tick_of = |record: &Record| match record {
        Record::Tick(tick) => tick.tick,
        other => panic!("{other:?}"),
    };
    let (from, to) = (tick_of(&records[middle - 20]), tick_of(&records[middle - 11]));
    let last = tick_of(&records[middle - 1]);
    records.splice(middle - 20..middle - 10, [Record::Gap { from, to }]);
    let replayed = replayed(vec![(node, records.clone())]);
    let life = life(&replayed, node);
    assert_eq!(replayed.verdict, Outcome::Incomplete);
    let next = Tick(to.0 + 1);
    let expected =
        format!("ticks {next} to {last} were not compared: ticks {from} to {to} were not kept");
    assert_eq!(life.unchecked, [expected]);
    assert_eq!(life.moments as usize, ticks(&records).count() - 10);
}

#[test]
fn a_part_of_a_journal_is_replayed_from_the_last_whole_core_before_it() {
    let (node, records, middle) = with_a_core_in_the_middle();
    let Record::Tick(first) = &records[middle + 1] else { unreachable!() };
    let journals = Journals::from_records(vec![(node, records.clone())]);
    let (from, to) = (Tick(first.tick.0 + 5), Tick(first.tick.0 + 30));
    let options = ReplayOptions { from: Some(from), to: Some(to), ..ReplayOptions::default() };
    let part = replay(&journals, &world(), &options);
    assert_eq!(part.verdict, Outcome::Equal);
    assert_eq!(life(&part, node).span, Some((first.tick, to)));

    let early = ReplayOptions { to: Some(to), ..ReplayOptions::default() };
    assert_eq!(life(&replay(&journals, &world(), &early), node).cores, 1);
}

#[test]
fn what_cannot_be_replayed_is_told_and_never_equal() {
    let (node, records, _) = with_a_core_in_the_middle();
    let nothing = |replayed: &Replayed| {
        assert_eq!((replayed.verdict, replayed.moments), (Outcome::Incomplete, 0), "{replayed:?}");
        life(replayed, node).unchecked.concat()
    };
    let without: Vec<Record> =
        records.iter().filter(|r| !matches!(r, Record::Snapshot(_))).cloned().collect();
    let text = nothing(&replayed(vec![(node, without)]));
    assert!(text.contains("the journal holds no whole core to begin with"), "{text}");

    let foreign = |core: &[u8]| {
        let core = Record::Snapshot(core.to_vec().into());
        let ticks = records.iter().filter(|r| matches!(r, Record::Tick(_))).cloned();
        vec![(node, std::iter::once(core).chain(ticks).collect())]
    };
    let text = nothing(&replayed(foreign(b"a core of another build")));
    assert!(text.contains("not a snapshot"), "{text}");
    let Record::Snapshot(mine) = &records[1] else { unreachable!() };
    let mut other = mine.to_vec();
    other[0] ^= 1;
    let text = nothing(&replayed(foreign(&other)));
    assert!(text.contains("with other declared kinds"), "{text}");

    assert_eq!(replayed(Vec::new()).unchecked, ["nothing was compared"]);
}

#[test]
fn inputs_that_would_stop_a_core_stop_the_replay_and_nothing_else() {
    let (node, records, _) = with_a_core_in_the_middle();
    let mut twice = records.clone();
    let Record::Tick(again) = twice[100].clone() else { unreachable!() };
    twice.insert(101, Record::Tick(again.clone()));
    let found = replayed(vec![(node, twice)]);
    let difference = life(&found, node).difference.clone().unwrap();
    assert_eq!((difference.tick, difference.record), (again.tick, 99));
    assert!(difference.fields[0].replayed.contains("no tick that may follow"), "{difference:?}");

    let mut unread = records;
    let Record::Tick(record) = &mut unread[100] else { unreachable!() };
    record.input = record.input.slice(..record.input.len() / 2);
    let found = replayed(vec![(node, unread)]);
    let difference = life(&found, node).difference.clone().unwrap();
    assert!(difference.fields[0].recorded.contains("no input"), "{difference:?}");
}
