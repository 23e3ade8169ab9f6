//! Histories with one fact changed: each is a fault that some process could have, and the
//! invariant that must find it.

use super::History;
use marchland_common::journal::{BundleRef, Event, OwnerWhy, Record, TickRecord};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, Seq, SessionId, Tick};
use marchland_common::rng::Rng;
use marchland_common::world::{CommandOutcome, Rejection};

/// A fault and who must find it.
pub struct Corruption {
    pub name: &'static str,
    pub invariant: &'static str,
    /// False where the history has no place for it.
    pub apply: fn(&mut History, &mut Rng) -> bool,
}

/// Where an event stands: journal, record, event.
type Place = (usize, usize, usize);

impl History {
    pub fn ticks(&self, journal: usize) -> impl Iterator<Item = (usize, &TickRecord)> {
        let records = self.journals[journal].1.iter().enumerate();
        records.filter_map(|(at, record)| match record {
            Record::Tick(tick) => Some((at, tick)),
            _ => None,
        })
    }

    pub fn tick_mut(&mut self, journal: usize, record: usize) -> &mut TickRecord {
        match &mut self.journals[journal].1[record] {
            Record::Tick(tick) => tick,
            other => panic!("{other:?} is no tick"),
        }
    }

    fn event(&self, place: Place) -> &Event {
        match &self.journals[place.0].1[place.1] {
            Record::Tick(tick) => &tick.events[place.2],
            other => panic!("{other:?} is no tick"),
        }
    }

    fn event_mut(&mut self, place: Place) -> &mut Event {
        &mut self.tick_mut(place.0, place.1).events[place.2]
    }

    fn remove(&mut self, place: Place) -> Event {
        self.tick_mut(place.0, place.1).events.remove(place.2)
    }

    fn insert(&mut self, place: Place, event: Event) {
        self.tick_mut(place.0, place.1).events.insert(place.2, event);
    }

    /// The places of all events that fit, by journal and in order.
    pub fn places(&self, fits: impl Fn(&Event) -> bool) -> Vec<Place> {
        let mut out = Vec::new();
        for journal in 0..self.journals.len() {
            for (record, tick) in self.ticks(journal) {
                let events = tick.events.iter().enumerate();
                out.extend(events.filter(|(_, e)| fits(e)).map(|(at, _)| (journal, record, at)));
            }
        }
        out
    }

    fn tick_at(&self, place: Place) -> Tick {
        match &self.journals[place.0].1[place.1] {
            Record::Tick(tick) => tick.tick,
            other => panic!("{other:?} is no tick"),
        }
    }
}

fn pick<T: Copy>(all: &[T], rng: &mut Rng) -> Option<T> {
    (!all.is_empty()).then(|| all[rng.below(all.len() as u64) as usize])
}

/// Changes one event of those that fit. `change` says whether it could.
fn change(
    history: &mut History,
    rng: &mut Rng,
    fits: impl Fn(&Event) -> bool,
    change: impl Fn(&mut Event),
) -> bool {
    let Some(place) = pick(&history.places(fits), rng) else { return false };
    change(history.event_mut(place));
    true
}

/// Says an event of an entity again before a later step that the same life makes of it.
fn repeat_before_step(
    history: &mut History,
    rng: &mut Rng,
    of: impl Fn(&Event) -> Option<(EntityId, Epoch)>,
) -> bool {
    let mut pairs = Vec::new();
    for first in history.places(|event| of(event).is_some()) {
        let name = of(history.event(first));
        let steps = history.places(|event| match event {
            Event::Stepped { entity, epoch, .. } => Some((*entity, *epoch)) == name,
            _ => false,
        });
        let later = steps.into_iter().find(|step| step.0 == first.0 && step.1 > first.1);
        pairs.extend(later.map(|later| (first, later)));
    }
    let Some((first, later)) = pick(&pairs, rng) else { return false };
    let event = history.event(first).clone();
    history.insert(later, event);
    true
}

fn is_handoff(event: &Event) -> bool {
    matches!(event, Event::OwnerChanged { why: OwnerWhy::Handoff(_), .. })
}

const fn before(epoch: Epoch) -> Epoch {
    Epoch::of_grant(epoch.grant() - 1)
}

/// Two places of one row, the earlier first, for which `same` holds.
fn pair(
    history: &History,
    rng: &mut Rng,
    fits: impl Fn(&Event) -> bool,
    same: impl Fn(&Event, &Event) -> bool,
) -> Option<(Place, Place)> {
    let places = history.places(fits);
    let mut pairs = Vec::new();
    for (at, first) in places.iter().enumerate() {
        let later = places[at + 1..].iter().find(|later| {
            later.0 == first.0 && same(history.event(*first), history.event(**later))
        });
        pairs.extend(later.map(|later| (*first, *later)));
    }
    pick(&pairs, rng)
}

fn second_activation(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Activated { .. }));
    let Some(first) = pick(&places, rng) else { return false };
    let event = history.event(first).clone();
    let tick = history.tick_at(first);
    let other = (first.0 + 1) % super::CELLS;
    let cells: Vec<usize> = (0..history.journals.len())
        .filter(|at| history.journals[*at].0.name.kind == NodeKind::Cell)
        .collect();
    let journal = cells[other % cells.len()];
    let later = history.ticks(journal).find(|(_, record)| record.tick.0 > tick.0 + 2);
    let Some((record, _)) = later.filter(|_| journal != first.0) else { return false };
    history.insert((journal, record, 0), event);
    true
}

fn activation_too_early(history: &mut History, rng: &mut Rng) -> bool {
    let places = history
        .places(|event| matches!(event, Event::Activated { epoch, .. } if epoch.grant() > 1));
    let Some(place) = pick(&places, rng) else { return false };
    let event = history.remove(place);
    history.insert((place.0, place.1 - 1, 0), event);
    true
}

fn step_while_frozen(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Frozen { .. }));
    let Some(place) = pick(&places, rng) else { return false };
    let Event::Frozen { entity, epoch, seq, .. } = *history.event(place) else { return false };
    let seq = Seq(seq.0 + 1);
    let step = Event::Stepped { entity, epoch, seq, prev_digest: 1, digest: 2 };
    history.insert((place.0, place.1, place.2 + 1), step);
    true
}

fn step_of_an_ended_epoch(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { epoch, .. } if epoch.grant() > 1);
    change(history, rng, fits, |event| {
        if let Event::Accepted { epoch, .. } = event {
            *epoch = before(*epoch);
        }
    })
}

fn step_of_another_life(history: &mut History, rng: &mut Rng) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { .. });
    change(history, rng, fits, |event| {
        if let Event::Accepted { owner, .. } = event {
            *owner = Node::new(NodeKind::Cell, owner.name.number, owner.incarnation.0 + 50);
        }
    })
}

fn ghost_of_an_ended_epoch(history: &mut History, rng: &mut Rng) -> bool {
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

/// The base tells an owner that its epoch ended, and the owner goes on.
fn fence_that_is_ignored(history: &mut History, rng: &mut Rng) -> bool {
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

/// A cell hears nothing of a base for a while, and its entities run on.
fn silent_base(history: &mut History, _: &mut Rng) -> bool {
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

/// The log reports after what rests on it has left.
fn durable_too_late(history: &mut History, rng: &mut Rng, early: impl Fn(&Event) -> bool) -> bool {
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
fn grant_too_early(history: &mut History, rng: &mut Rng) -> bool {
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

fn lost_step(history: &mut History, rng: &mut Rng) -> bool {
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

fn swapped_commands(history: &mut History, rng: &mut Rng) -> bool {
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

fn lost_bundle(history: &mut History, rng: &mut Rng) -> bool {
    let journal = rng.below(super::CELLS as u64) as usize;
    let (record, _) = history.ticks(journal).nth(30).expect("the history is longer");
    history.tick_mut(journal, record).received.remove(0);
    true
}

fn invented_bundle(history: &mut History, _: &mut Rng) -> bool {
    let cell = history.journals.iter().position(|(n, _)| n.name.kind == NodeKind::Cell);
    let Some(journal) = cell else { return false };
    let (record, tick) = history.ticks(journal).last().expect("the history is longer");
    let last = *tick.received.last().expect("all speak in every tick");
    let invented = BundleRef { n: last.n + 1, ..last };
    history.tick_mut(journal, record).received.push(invented);
    true
}

fn older_view(history: &mut History, rng: &mut Rng, back: impl Fn(&mut Event)) -> bool {
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

fn ghost_goes_back(history: &mut History, rng: &mut Rng) -> bool {
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

fn kept_copy(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Deactivated { .. }));
    let Some(place) = pick(&places, rng) else { return false };
    history.remove(place);
    true
}

/// The last owner loses its copy without a word.
fn lost_real(history: &mut History, rng: &mut Rng) -> bool {
    let owners = history.places(|event| matches!(event, Event::OwnerChanged { .. }));
    let Some(place) = pick(&owners, rng) else { return false };
    let Event::OwnerChanged { entity, .. } = *history.event(place) else { return false };
    let last = owners.iter().rev().find(|at| match history.event(**at) {
        Event::OwnerChanged { entity: e, .. } => *e == entity,
        _ => false,
    });
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

fn reborn(history: &mut History, rng: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::Created { .. }));
    let Some(place) = pick(&places, rng) else { return false };
    let event = history.event(place).clone();
    history.insert((place.0, place.1, place.2 + 1), event);
    true
}

/// The entity had strayed long before it was handed over.
fn strayed_long_ago(history: &mut History, rng: &mut Rng) -> bool {
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

fn unpaid_message(history: &mut History, rng: &mut Rng) -> bool {
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

fn flow(history: &mut History, rng: &mut Rng, spoil: impl Fn(&mut Event)) -> bool {
    let fits = |event: &Event| matches!(event, Event::Accepted { flow: Some(flow), .. } if flow.received > 0);
    change(history, rng, fits, spoil)
}

fn undropped(history: &mut History, _: &mut Rng) -> bool {
    let places = history.places(|event| matches!(event, Event::TicksDropped(_)));
    let Some(place) = places.first().copied() else { return false };
    history.remove(place);
    true
}

fn repeated_tick(history: &mut History, rng: &mut Rng) -> bool {
    let journal = rng.below(super::CELLS as u64) as usize;
    let (record, _) = history.ticks(journal).nth(20).expect("the history is longer");
    let tick = &mut history.tick_mut(journal, record).tick;
    tick.0 -= 1;
    true
}

fn doubled_tick(history: &mut History, rng: &mut Rng) -> bool {
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

fn forgotten_leave(history: &mut History, rng: &mut Rng) -> bool {
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

fn said_twice(history: &mut History, rng: &mut Rng, fits: impl Fn(&Event) -> bool) -> bool {
    let Some(place) = pick(&history.places(fits), rng) else { return false };
    let event = history.event(place).clone();
    history.insert(place, event);
    true
}

/// A command that is taken in and never heard of again.
fn swallowed_command(history: &mut History, _: &mut Rng) -> bool {
    let queued = history.places(|event| matches!(event, Event::CommandQueued { .. }));
    let Some(place) = queued.first().copied() else { return false };
    let Event::CommandQueued { entity, .. } = *history.event(place) else { return false };
    let session = SessionId(99 << 8);
    history.insert(place, Event::CommandQueued { entity, session, n: 1 });
    true
}

fn outcome_of(event: &mut Event) {
    let (Event::ClientAnswered { outcome, .. }
    | Event::CommandConfirmed { outcome, .. }
    | Event::CommandRun { outcome, .. }) = event
    else {
        return;
    };
    *outcome = CommandOutcome::Rejected(Rejection::Busy);
}

macro_rules! corruptions {
    ($($name:literal => $invariant:literal, $apply:expr;)*) => {
        /// All faults.
        pub const CORRUPTIONS: &[Corruption] = &[
            $(Corruption { name: $name, invariant: $invariant, apply: $apply },)*
        ];
    };
}

corruptions! {
    "two lives activate one epoch" => "single-owner", second_activation;
    "a life activates before its base wrote it" => "single-owner", activation_too_early;
    "a frozen real steps" => "single-owner", step_while_frozen;
    "a change of ownership keeps the epoch" => "epochs-grow", |h, rng| change(
        h, rng, is_handoff,
        |event| if let Event::OwnerChanged { epoch, .. } = event { *epoch = before(*epoch) },
    );
    "a base accepts an ended epoch" => "fence", step_of_an_ended_epoch;
    "a base accepts another life" => "fence", step_of_another_life;
    "a host applies an ended epoch" => "fence", ghost_of_an_ended_epoch;
    "an owner ignores its fence" => "fence", fence_that_is_ignored;
    "a client is shown an ended epoch" => "fence", |h, rng| older_view(h, rng, |event| {
        if let Event::ClientSaw { epoch, .. } = event { *epoch = before(*epoch) }
    });
    "entities run on while their base is silent" => "bounded-speculation", silent_base;
    "an answer leaves before it is durable" => "confirmed-is-durable", |h, rng| durable_too_late(
        h, rng, |event| matches!(event, Event::CommandConfirmed { .. }),
    );
    "a message leaves before it is durable" => "confirmed-is-durable", |h, rng| durable_too_late(
        h, rng, |event| matches!(event, Event::MessageReleased { .. }),
    );
    "a message is answered before it is durable" => "confirmed-is-durable", |h, rng| {
        durable_too_late(h, rng, |event| matches!(event, Event::MessageTaken { .. }))
    };
    "a grant leaves before it is durable" => "confirmed-is-durable", grant_too_early;
    "base and owner differ" => "one-chain", |h, rng| change(
        h, rng, |event| matches!(event, Event::Accepted { .. }),
        |event| if let Event::Accepted { digest, .. } = event { *digest ^= 1 },
    );
    "a step goes on from another state" => "one-chain", |h, rng| change(
        h, rng, |event| matches!(event, Event::Stepped { .. }),
        |event| if let Event::Stepped { prev_digest, .. } = event { *prev_digest ^= 1 },
    );
    "a step is missing" => "one-chain", lost_step;
    "a command runs twice" => "command-once", |h, rng| repeat_before_step(h, rng, |event| {
        match event {
            Event::CommandRun { entity, epoch, .. } => Some((*entity, *epoch)),
            _ => None,
        }
    });
    "a client hears another answer" => "same-answer", |h, rng| change(
        h, rng, |event| matches!(event, Event::ClientAnswered { .. }), outcome_of,
    );
    "a base tells another answer than was decided" => "same-answer", |h, rng| change(
        h, rng, |event| matches!(event, Event::CommandRun { .. }), outcome_of,
    );
    "a message is taken twice" => "message-once", |h, rng| repeat_before_step(h, rng, |event| {
        match event {
            Event::MessageRun { entity, epoch, .. } => Some((*entity, *epoch)),
            _ => None,
        }
    });
    "commands overtake each other" => "fifo", swapped_commands;
    "a bundle is lost without a word" => "fifo", lost_bundle;
    "a bundle comes that nobody sent" => "fifo", invented_bundle;
    "a client's view goes back" => "view-never-back", |h, rng| older_view(h, rng, |event| {
        if let Event::ClientSaw { tick, .. } = event { tick.0 = 0 }
    });
    "a confirmed value goes back" => "view-never-back", |h, rng| older_view(h, rng, |event| {
        if let Event::ClientSaw { confirmed: Some(seq), .. } = event { seq.0 = 0 }
    });
    "a ghost runs ahead" => "ghost-not-ahead", |h, rng| change(
        h, rng, |event| matches!(event, Event::GhostApplied { .. }),
        |event| if let Event::GhostApplied { seq, .. } = event { seq.0 += 1_000 },
    );
    "a ghost goes back" => "ghost-grows", ghost_goes_back;
    "a ghost differs" => "ghost-equals", |h, rng| change(
        h, rng, |event| matches!(event, Event::GhostApplied { .. }),
        |event| if let Event::GhostApplied { digest, .. } = event { *digest ^= 1 },
    );
    "an owner keeps what it gave away" => "census", kept_copy;
    "an owner loses its real" => "census", lost_real;
    "an id is given twice" => "unique-ids", reborn;
    "an entity strays for long" => "handed-over-in-time", strayed_long_ago;
    "a step takes more than was sent" => "value-conserved", |h, rng| flow(h, rng, |event| {
        if let Event::Accepted { flow: Some(flow), .. } = event {
            flow.received += 1;
            flow.after += 1;
        }
    });
    "the value of a message is kept twice" => "value-conserved", |h, rng| {
        repeat_before_step(h, rng, |event| match event {
            Event::MessageRun { entity, epoch, outcome, .. } if outcome.is_kept() => {
                Some((*entity, *epoch))
            }
            _ => None,
        })
    };
    "a message is taken before it was sent" => "debit-before-credit", unpaid_message;
    "value appears in a step" => "value-only-by-message", |h, rng| flow(h, rng, |event| {
        if let Event::Accepted { flow: Some(flow), .. } = event { flow.after += 1 }
    });
    "a timer fires twice" => "timer-once", |h, rng| repeat_before_step(h, rng, |event| {
        match event {
            Event::TimerFired { entity, epoch, .. } => Some((*entity, *epoch)),
            _ => None,
        }
    });
    "a timer fires early" => "timer-once", |h, rng| change(
        h, rng, |event| matches!(event, Event::TimerFired { .. }),
        |event| if let Event::TimerFired { due, at, .. } = event { at.0 = due.0 - 1 },
    );
    "ticks are left out without a word" => "ticks-partition", undropped;
    "a tick runs twice" => "ticks-partition", repeated_tick;
    "two owners run one tick" => "tick-not-doubled", doubled_tick;
    "a client is not told that somebody left" => "aoi-balance", forgotten_leave;
    "a client gets an answer twice" => "terminal", |h, rng| said_twice(
        h, rng, |event| matches!(event, Event::ClientAnswered { .. }),
    );
    "a command is swallowed" => "terminal", swallowed_command;
}
