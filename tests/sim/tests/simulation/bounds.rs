//! Bounds, in the simulator's time: how soon entities go on after one certain fault.

use marchland_common::journal::{Event, Record};
use marchland_common::order::{EntityId, Node, NodeKind, NodeName, Tick};
use marchland_sim::{STEP_US, Scripted, SimConfig, SimReport, judged, run};
use std::collections::BTreeMap;

/// When the fault happens.
const AT: u64 = 400;

const fn cell(number: u16) -> NodeName {
    NodeName { kind: NodeKind::Cell, number }
}

const fn base(number: u16) -> NodeName {
    NodeName { kind: NodeKind::Base, number }
}

/// A quiet run with one fault, judged as every run is.
fn with(seed: u64, fault: Scripted) -> SimReport {
    let config = SimConfig { script: vec![(AT, fault)], ticks: 800, ..SimConfig::calm(seed) };
    let judged = judged(&config);
    assert!(judged.complaints.is_empty(), "seed {seed}: {:#?}", judged.complaints);
    run(&config)
}

/// Every event with its process and tick, by process.
fn events(report: &SimReport) -> impl Iterator<Item = (Node, Tick, &Event)> {
    report.journals.iter().flat_map(|(node, records)| {
        records
            .iter()
            .filter_map(|record| match record {
                Record::Tick(tick) => Some(tick),
                _ => None,
            })
            .flat_map(|tick| tick.events.iter().map(|event| (*node, tick.tick, event)))
    })
}

/// How often ownership was taken from somebody who had not asked for that.
fn restores(report: &SimReport) -> usize {
    let is_restore = |event: &Event| {
        use marchland_common::journal::OwnerWhy::{GrantDeadline, Verdict};
        matches!(event, Event::OwnerChanged { why: Verdict | GrantDeadline, .. })
    };
    events(report).filter(|(.., event)| is_restore(event)).count()
}

/// By entity that was restored after the fault: the first tick of its new owner.
fn first_ticks(report: &SimReport) -> BTreeMap<EntityId, Tick> {
    let mut restored = BTreeMap::new();
    for (_, _, event) in events(report) {
        if let Event::OwnerChanged { entity, epoch, why, .. } = event
            && matches!(why, marchland_common::journal::OwnerWhy::Verdict)
        {
            restored.insert((*entity, *epoch), None);
        }
    }
    for (_, _, event) in events(report) {
        if let Event::FirstStep { entity, epoch, first_tick, .. } = event
            && let Some(first) = restored.get_mut(&(*entity, *epoch))
        {
            *first = Some(*first_tick);
        }
    }
    restored.into_iter().filter_map(|((entity, _), first)| Some((entity, first?))).collect()
}

#[test]
fn whoever_a_killed_cellapp_had_ticks_again_within_20_ticks() {
    for seed in 1..=6 {
        let report = with(seed, Scripted::Kill(vec![cell(1)], None));
        let first = first_ticks(&report);
        assert!(!first.is_empty(), "seed {seed}: nobody was restored");
        let worst = first.values().max().map_or(0, |tick| tick.0 - AT);
        println!("seed {seed}: {} entities, the last after {worst} ticks", first.len());
        assert!(worst <= 20, "seed {seed}: {worst} ticks");
    }
}

#[test]
fn whoever_a_hung_cellapp_had_ticks_elsewhere_within_40_ticks() {
    for seed in 1..=6 {
        for fault in [Scripted::Pause(cell(1), 160), Scripted::Isolate(cell(1), 160)] {
            let what = format!("seed {seed}, {fault:?}");
            let report = with(seed, fault);
            let first = first_ticks(&report);
            assert!(!first.is_empty(), "{what}: nobody was restored");
            let worst = first.values().max().map_or(0, |tick| tick.0 - AT);
            println!("{what}: {} entities, the last after {worst} ticks", first.len());
            assert!(worst <= 40, "{what}: {worst} ticks");
        }
    }
}

#[test]
fn a_zombie_runs_at_most_its_window_and_none_of_it_counts() {
    for seed in 1..=6 {
        let report = with(seed, Scripted::Pause(cell(1), 160));
        let zombie = report.verdicts.keys().find(|node| node.name == cell(1)).copied().unwrap();
        let after = Tick(AT + 100);
        let mut ran: Vec<u64> = events(&report)
            .filter(|(node, tick, event)| {
                *node == zombie && *tick > after && matches!(event, Event::Stepped { .. })
            })
            .map(|(_, tick, _)| tick.0)
            .collect();
        ran.dedup();
        let counted = events(&report).filter(|(_, tick, event)| {
            matches!(event, Event::Accepted { owner, .. } if *owner == zombie) && *tick > after
        });
        println!("seed {seed}: the zombie ran {} ticks with steps", ran.len());
        assert!(ran.len() <= 4, "seed {seed}: {ran:?}");
        assert_eq!(counted.count(), 0, "seed {seed}");
    }
}

#[test]
fn whoever_a_baseapp_keeps_goes_on_within_20_ticks_of_its_restart() {
    for seed in 1..=6 {
        let down = 30;
        let report = with(seed, Scripted::Kill(vec![base(1)], Some(down)));
        let life = |first: bool| {
            let lives = report.journals.iter().map(|(n, _)| *n).filter(|n| n.name == base(1));
            if first { lives.min() } else { lives.max() }
        };
        let (old, new) = (life(true).unwrap(), life(false).unwrap());
        assert_ne!(old, new, "seed {seed}: it was not started again");
        let began = events(&report).filter(|(n, ..)| *n == new).map(|(_, t, _)| t.0).min().unwrap();
        // The windows of its entities open at every cellapp.
        let open: BTreeMap<Node, u64> = events(&report)
            .filter(|(_, _, event)| matches!(event, Event::WindowOpened { base } if *base == new))
            .map(|(node, tick, _)| (node, tick.0))
            .collect();
        let worst = open.values().max().map_or(0, |tick| tick.saturating_sub(began));
        println!("seed {seed}: began at {began}, the last window opened {worst} ticks later");
        assert_eq!(open.len(), 3, "seed {seed}: {open:?}");
        assert!(worst <= 20, "seed {seed}: {worst} ticks");
    }
}

#[test]
fn a_store_that_is_away_for_a_minute_costs_nobody_an_owner() {
    for seed in 1..=3 {
        let away = 60_000_000 / STEP_US;
        let script = vec![(200, Scripted::StoreAway(away))];
        let config = SimConfig { script, ticks: 1_600, ..SimConfig::calm(seed) };
        let judged = judged(&config);
        assert!(judged.complaints.is_empty(), "seed {seed}: {:#?}", judged.complaints);
        assert!(judged.summary.handoffs.committed > 20, "seed {seed}: handoffs go on");
        let report = run(&config);
        assert_eq!(restores(&report), 0, "seed {seed}");
        assert!(report.verdicts.is_empty() && report.killed.is_empty(), "seed {seed}");
    }
}

#[test]
fn a_disk_that_stands_still_for_two_seconds_freezes_its_entities_and_nobody_else_notices() {
    for seed in 1..=6 {
        let stall = 2_000_000 / STEP_US;
        let report = with(seed, Scripted::DiskStall(base(1), stall));
        assert_eq!(restores(&report), 0, "seed {seed}");
        assert!(report.verdicts.is_empty() && report.killed.is_empty(), "seed {seed}");
        let closed = |number: u16| {
            events(&report)
                .filter(|(_, tick, event)| {
                    let base = base(number);
                    tick.0 > AT
                        && matches!(event, Event::WindowClosed { base: b, .. } if b.name == base)
                })
                .count()
        };
        assert!(closed(1) > 0, "seed {seed}: its entities never stood still");
        assert_eq!(closed(2), 0, "seed {seed}: those of the other base did");
        let dropped = events(&report).filter(|(.., e)| matches!(e, Event::TicksDropped(_)));
        assert_eq!(dropped.count(), 0, "seed {seed}: a tick was dropped");
    }
}
