//! Faults of logs, links and clocks.

use super::*;
use crate::testing::CELLS;

/// A cell hears nothing of a base for a while, and its entities run on.
pub fn silent_base(history: &mut History, _: &mut Rng) -> bool {
    let Some(base) = history.journals.iter().find(|(n, _)| n.name.kind == NodeKind::Base) else {
        return false;
    };
    let base = base.0;
    for (node, records) in &mut history.journals {
        if node.name.kind != NodeKind::Cell {
            continue;
        }
        for record in records {
            if let Record::Tick(tick) = record
                && (20..30).contains(&tick.tick.0)
            {
                tick.received.retain(|bundle| bundle.peer != base);
            }
        }
    }
    true
}

/// A base misses a bundle of a cell, does not ask what it holds, and counts later ticks of it all
/// the same.
pub fn unlisted_loss(history: &mut History, rng: &mut Rng) -> bool {
    let cells = history.journals.iter().map(|(node, _)| *node);
    let cells: Vec<Node> = cells.filter(|node| node.name.kind == NodeKind::Cell).collect();
    let lost = cells[rng.below(cells.len() as u64) as usize];
    for (node, records) in &mut history.journals {
        if node.name.kind != NodeKind::Base {
            continue;
        }
        for record in records {
            if let Record::Tick(tick) = record
                && tick.tick == Tick(25)
            {
                tick.received.retain(|bundle| bundle.peer != lost);
            }
        }
    }
    true
}

/// The log reports after what rests on it has left.
pub fn durable_too_late(
    history: &mut History,
    rng: &mut Rng,
    early: impl Fn(&Event) -> bool,
) -> bool {
    let Some(place) = pick(&history.places(early), rng) else { return false };
    let events = &mut history.tick_mut(place.0, place.1).events;
    let Some(at) = events.iter().position(|event| matches!(event, Event::Durable { .. })) else {
        return false;
    };
    let durable = events.remove(at);
    events.push(durable);
    true
}

/// Nothing that a base says is durable at the moment in which a grant leaves.
pub fn grant_too_early(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = pick(&history.places(is_handoff), rng) else { return false };
    let tick = history.tick_at(place);
    let Event::OwnerChanged { lsn, .. } = *history.event(place) else { return false };
    let late = history.places(|event| matches!(event, Event::Durable { .. }));
    for late in late.into_iter().filter(|late| late.0 == place.0) {
        let near = (tick.0..tick.0 + 4).contains(&history.tick_at(late).0);
        if let Event::Durable { lsn: durable } = history.event_mut(late)
            && near
        {
            *durable = Lsn(lsn.0 - 1);
        }
    }
    true
}

pub fn lost_step(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { flow: None, .. });
    let Some((_, later)) = pair(history, rng, fits, |a, b| match (a, b) {
        (Event::Accepted { entity: a, .. }, Event::Accepted { entity: b, .. }) => a == b,
        _ => false,
    }) else {
        return false;
    };
    let Event::Accepted { entity, epoch, seq, .. } = *history.event(later) else { return false };
    let made = history.places(|event| match event {
        Event::Stepped { entity: e, epoch: p, seq: s, .. } => (*e, *p, *s) == (entity, epoch, seq),
        _ => false,
    });
    // The owner never made it either: a step that its owner made may be part of a later one.
    made.into_iter().for_each(|place| {
        history.remove(place);
    });
    history.remove(later);
    true
}

pub fn lost_bundle(history: &mut History, rng: &mut Rng) -> bool {
    let journal = rng.below(CELLS as u64) as usize;
    let (record, _) = history.ticks(journal).nth(30).expect("the history is longer");
    history.tick_mut(journal, record).received.remove(0);
    true
}

pub fn invented_bundle(history: &mut History, _: &mut Rng) -> bool {
    let cell = history.journals.iter().position(|(n, _)| n.name.kind == NodeKind::Cell);
    let Some(journal) = cell else { return false };
    let (record, tick) = history.ticks(journal).last().expect("the history is longer");
    let last = *tick.received.last().expect("all speak in every tick");
    let invented = BundleRef { n: last.n + 1, ..last };
    history.tick_mut(journal, record).received.push(invented);
    true
}

pub fn undropped(history: &mut History, _: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::TicksDropped(_)));
    let Some(place) = places.first().copied() else { return false };
    history.remove(place);
    true
}

pub fn repeated_tick(history: &mut History, rng: &mut Rng) -> bool {
    let journal = rng.below(CELLS as u64) as usize;
    let (record, _) = history.ticks(journal).nth(20).expect("the history is longer");
    let tick = &mut history.tick_mut(journal, record).tick;
    tick.0 -= 1;
    true
}
