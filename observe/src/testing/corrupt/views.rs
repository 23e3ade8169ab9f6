//! Faults in what hosts and clients are shown.

use super::*;

pub fn ghost_of_an_ended_epoch(history: &mut History, rng: &mut Rng) -> bool {
    let same = |a: &Event, b: &Event| match (a, b) {
        (
            Event::GhostApplied { entity: a, epoch: x, .. },
            Event::GhostApplied { entity: b, epoch: y, .. },
        ) => a == b && x == y && x.grant() > 1,
        _ => false,
    };
    let fits = |event: &Event| matches!(event, Event::GhostApplied { .. });
    let Some((_, later)) = pair(history, rng, fits, same) else { return false };
    if let Event::GhostApplied { epoch, .. } = history.event_mut(later) {
        *epoch = before(*epoch);
    }
    true
}

pub fn older_view(history: &mut History, rng: &mut Rng, back: impl Fn(&mut Event)) -> bool {
    let fits =
        |event: &Event| matches!(event, Event::ClientSaw { confirmed: Some(seq), .. } if seq.0 > 2);
    let same = |a: &Event, b: &Event| match (a, b) {
        (Event::ClientSaw { entity: a, .. }, Event::ClientSaw { entity: b, .. }) => a == b,
        _ => false,
    };
    let Some((_, later)) = pair(history, rng, fits, same) else { return false };
    back(history.event_mut(later));
    true
}

pub fn ghost_goes_back(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::GhostApplied { .. });
    let same = |a: &Event, b: &Event| match (a, b) {
        (
            Event::GhostApplied { entity: a, epoch: x, seq: s, .. },
            Event::GhostApplied { entity: b, epoch: y, seq: t, .. },
        ) => a == b && x == y && s < t,
        _ => false,
    };
    let Some((first, later)) = pair(history, rng, fits, same) else { return false };
    let old = history.event(first).clone();
    history.insert((later.0, later.1, later.2 + 1), old);
    true
}

pub fn forgotten_leave(history: &mut History, rng: &mut Rng) -> bool {
    let key = |event: &Event| match event {
        Event::Left { session, entity, .. } | Event::Entered { session, entity, .. } => {
            Some((*session, *entity))
        }
        _ => None,
    };
    let lefts = history.places(|event| matches!(event, Event::Left { .. }));
    let entered = history.places(|event| matches!(event, Event::Entered { .. }));
    let again = |left: &Place| {
        let (name, tick) = (key(history.event(*left)), history.tick_at(*left));
        entered
            .iter()
            .any(|enter| key(history.event(*enter)) == name && history.tick_at(*enter) > tick)
    };
    let lefts: Vec<Place> = lefts.iter().filter(|left| again(left)).copied().collect();
    let Some(place) = pick(&lefts, rng) else { return false };
    history.remove(place);
    true
}
