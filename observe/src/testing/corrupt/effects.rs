//! Faults in what commands, messages and timers do.

use super::*;

pub fn swapped_commands(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::CommandRun { .. });
    let same = |a: &Event, b: &Event| match (a, b) {
        (Event::CommandRun { session: a, .. }, Event::CommandRun { session: b, .. }) => a == b,
        _ => false,
    };
    let Some((first, later)) = pair(history, rng, fits, same) else { return false };
    let n_of = |event: &Event| match event {
        Event::CommandRun { n, .. } => *n,
        _ => 0,
    };
    let (a, b) = (n_of(history.event(first)), n_of(history.event(later)));
    for (place, number) in [(first, b), (later, a)] {
        if let Event::CommandRun { n, .. } = history.event_mut(place) {
            *n = number;
        }
    }
    true
}

pub fn unpaid_message(history: &mut History, rng: &mut Rng) -> bool {
    let runs = history.places(|event| matches!(event, Event::MessageRun { .. }));
    let Some(run) = pick(&runs, rng) else { return false };
    let Event::MessageRun { source, out_seq, .. } = *history.event(run) else { return false };
    let sent = history.places(|event| match event {
        Event::MessageReleased { source: s, out_seq: n, .. } => (*s, *n) == (source, out_seq),
        _ => false,
    });
    let Some(sent) = sent.first().copied() else { return false };
    let event = history.remove(sent);
    let (record, _) = history.ticks(sent.0).last().expect("the history is longer");
    history.tick_mut(sent.0, record).events.push(event);
    true
}

pub fn spoil_flow(history: &mut History, rng: &mut Rng, spoil: impl Fn(&mut Event)) -> bool {
    let fits = |event: &Event| match event {
        Event::Accepted { flow: Some(flow), .. } => flow.received > 0,
        _ => false,
    };
    change(history, rng, fits, spoil)
}

pub fn said_twice(history: &mut History, rng: &mut Rng, fits: impl Fn(&Event) -> bool) -> bool {
    let Some(place) = pick(&history.places(fits), rng) else { return false };
    let event = history.event(place).clone();
    history.insert(place, event);
    true
}

/// A command that is taken in and never heard of again.
pub fn swallowed_command(history: &mut History, _: &mut Rng) -> bool {
    let queued = history.places(|event| matches!(event, Event::CommandQueued { .. }));
    let given = history.places(|event| matches!(event, Event::SlotGiven { .. }));
    // What waits for a slot that moves is said again to its next keeper.
    let stays = |place: &&Place| match history.event(**place) {
        Event::CommandQueued { entity, .. } => {
            !given.iter().any(|given| match history.event(*given) {
                Event::SlotGiven { slot, .. } => given.0 == place.0 && *slot == entity.slot(),
                _ => false,
            })
        }
        _ => false,
    };
    let Some(place) = queued.iter().find(stays).copied() else { return false };
    let Event::CommandQueued { entity, .. } = *history.event(place) else { return false };
    let session = SessionId(99 << 8);
    history.insert(place, Event::CommandQueued { entity, session, n: 1 });
    true
}

pub fn outcome_of(event: &mut Event) {
    let (Event::ClientAnswered { outcome, .. }
    | Event::CommandConfirmed { outcome, .. }
    | Event::CommandRun { outcome, .. }) = event
    else {
        return;
    };
    *outcome = CommandOutcome::Rejected(Rejection::Busy);
}
