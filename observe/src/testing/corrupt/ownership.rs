//! Faults of owners and of who makes them owners.

use super::*;
use crate::testing::CELLS;

pub fn second_activation(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Activated { .. }));
    let Some(first) = pick(&places, rng) else { return false };
    let event = history.event(first).clone();
    let tick = history.tick_at(first);
    let other = (first.0 + 1) % CELLS;
    let cells: Vec<usize> = (0..history.journals.len())
        .filter(|at| history.journals[*at].0.name.kind == NodeKind::Cell)
        .collect();
    let journal = cells[other % cells.len()];
    let later = history.ticks(journal).find(|(_, record)| record.tick.0 > tick.0 + 2);
    let Some((record, _)) = later.filter(|_| journal != first.0) else { return false };
    history.insert((journal, record, 0), event);
    true
}

pub fn activation_too_early(history: &mut History, rng: &mut Rng) -> bool {
    let places = history
        .places(|event| matches!(event, Event::Activated { epoch, .. } if epoch.grant() > 1));
    let Some(place) = pick(&places, rng) else { return false };
    let event = history.remove(place);
    history.insert((place.0, place.1 - 1, 0), event);
    true
}

pub fn step_while_frozen(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Frozen { .. }));
    let Some(place) = pick(&places, rng) else { return false };
    let Event::Frozen { entity, epoch, seq, .. } = *history.event(place) else { return false };
    let seq = Seq(seq.0 + 1);
    let step = Event::Stepped { entity, epoch, seq, prev_digest: 1, digest: 2 };
    history.insert((place.0, place.1, place.2 + 1), step);
    true
}

pub fn step_of_an_ended_epoch(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { epoch, .. } if epoch.grant() > 1);
    change(history, rng, fits, |event| {
        if let Event::Accepted { epoch, .. } = event {
            *epoch = before(*epoch);
        }
    })
}

pub fn step_of_another_life(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { .. });
    change(history, rng, fits, |event| {
        if let Event::Accepted { owner, .. } = event {
            *owner = Node::new(NodeKind::Cell, owner.name.number, owner.incarnation.0 + 50);
        }
    })
}

/// The base tells an owner that its epoch ended, and the owner goes on.
pub fn fence_that_is_ignored(history: &mut History, rng: &mut Rng) -> bool {
    let fits =
        |event: &Event| matches!(event, Event::FirstStep { first_tick, .. } if first_tick.0 < 20);
    let Some(place) = pick(&history.places(fits), rng) else { return false };
    let Event::FirstStep { entity, epoch, owner, .. } = *history.event(place) else {
        return false;
    };
    let steps = history.places(|event| match event {
        Event::Stepped { entity: e, epoch: p, .. } => (*e, *p) == (entity, epoch),
        _ => false,
    });
    let last = steps.last().map(|last| history.tick_at(*last));
    if last.is_none_or(|last| last.0 < history.tick_at(place).0 + 20) {
        return false;
    }
    let current = epoch.next_grant();
    history.insert(place, Event::FencedSent { entity, epoch, current, to: owner });
    true
}

pub fn kept_copy(history: &mut History, rng: &mut Rng) -> bool {
    let mut places = history.places(|event| matches!(event, Event::Deactivated { .. }));
    let activated = history.places(|event| matches!(event, Event::Activated { .. }));
    let entity_of = |event: &Event| match event {
        Event::Deactivated { entity, .. } | Event::Activated { entity, .. } => Some(*entity),
        _ => None,
    };
    // A copy that a later grant replaces is kept by nobody.
    places.retain(|end| {
        let entity = entity_of(history.event(*end));
        let mut later = activated.iter().filter(|at| at.0 == end.0 && at.1 >= end.1);
        later.all(|at| entity_of(history.event(*at)) != entity)
    });
    let Some(place) = pick(&places, rng) else { return false };
    history.remove(place);
    true
}

/// The last owner loses its copy without a word.
pub fn lost_real(history: &mut History, rng: &mut Rng) -> bool {
    let owners = history.places(|event| matches!(event, Event::OwnerChanged { .. }));
    let Some(place) = pick(&owners, rng) else { return false };
    let Event::OwnerChanged { entity, .. } = *history.event(place) else { return false };
    let epoch_at = |at: &&Place| match history.event(**at) {
        Event::OwnerChanged { entity: e, epoch, .. } if *e == entity => Some(*epoch),
        _ => None,
    };
    let last = owners.iter().filter(|at| epoch_at(at).is_some()).max_by_key(epoch_at);
    let Some(Event::OwnerChanged { epoch, to, .. }) = last.map(|last| history.event(*last)) else {
        return false;
    };
    let (epoch, to) = (*epoch, *to);
    let destroyed = history.places(|event| match event {
        Event::Destroyed { entity: e, .. } => *e == entity,
        _ => false,
    });
    let journal = history.journals.iter().position(|(node, _)| *node == to);
    let (Some(journal), true) = (journal, destroyed.is_empty()) else { return false };
    let Some((record, _)) = history.ticks(journal).last() else { return false };
    let why = marchland_common::journal::EndWhy::Fenced;
    let gone = Event::Deactivated { entity, epoch, seq: Seq(1), why };
    let at = history.tick_mut(journal, record).events.len();
    history.insert((journal, record, at), gone);
    true
}

pub fn reborn(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Created { .. }));
    let Some(place) = pick(&places, rng) else { return false };
    let event = history.event(place).clone();
    history.insert((place.0, place.1, place.2 + 1), event);
    true
}

/// The entity had strayed long before it was handed over.
pub fn strayed_long_ago(history: &mut History, rng: &mut Rng) -> bool {
    let mut found = Vec::new();
    for birth in history.places(|event| matches!(event, Event::Activated { .. })) {
        let Event::Activated { entity, epoch, .. } = *history.event(birth) else { continue };
        let ends = history.places(|event| match event {
            Event::Frozen { entity: e, .. }
            | Event::Returned { entity: e, .. }
            | Event::Deactivated { entity: e, .. } => *e == entity,
            _ => false,
        });
        let end = ends.into_iter().find(|end| end.0 == birth.0 && end.1 > birth.1);
        let strayed = |end: &Place| history.tick_at(*end).0 > history.tick_at(birth).0 + 25;
        if end.is_some_and(|end| strayed(&end)) {
            found.push((birth, entity, epoch));
        }
    }
    let Some((birth, entity, epoch)) = pick(&found, rng) else { return false };
    history.insert((birth.0, birth.1, birth.2 + 1), Event::Strayed { entity, epoch });
    true
}

pub fn doubled_tick(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = pick(&history.places(is_handoff), rng) else { return false };
    let Event::OwnerChanged { entity, epoch, last_tick, .. } = *history.event(place) else {
        return false;
    };
    let firsts = history.places(|event| match event {
        Event::FirstStep { entity: e, epoch: p, .. } => (*e, *p) == (entity, epoch),
        _ => false,
    });
    let (Some(first), Some(last)) = (firsts.first().copied(), last_tick) else { return false };
    if let Event::FirstStep { first_tick, .. } = history.event_mut(first) {
        *first_tick = last;
    }
    true
}
