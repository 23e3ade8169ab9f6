//! Histories with one fact changed: each is a fault that some process could have, and the
//! invariant that must find it.

mod effects;
mod log;
mod ownership;
mod slots;
mod views;
mod written;

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

macro_rules! corruptions {
    ($($name:literal => $invariant:literal, $apply:expr;)*) => {
        /// All faults.
        pub const CORRUPTIONS: &[Corruption] = &[
            $(Corruption { name: $name, invariant: $invariant, apply: $apply },)*
        ];
    };
}

corruptions! {
    "two lives activate one epoch" => "single-owner", ownership::second_activation;
    "a life activates before its base wrote it" => "single-owner", ownership::activation_too_early;
    "a frozen real steps" => "single-owner", ownership::step_while_frozen;
    "a change of ownership keeps the epoch" => "epochs-grow", |h, rng| change(
        h, rng, is_handoff,
        |event| if let Event::OwnerChanged { epoch, .. } = event { *epoch = before(*epoch) },
    );
    "a base accepts an ended epoch" => "fence", ownership::step_of_an_ended_epoch;
    "a base accepts another life" => "fence", ownership::step_of_another_life;
    "a host applies an ended epoch" => "fence", views::ghost_of_an_ended_epoch;
    "an owner ignores its fence" => "fence", ownership::fence_that_is_ignored;
    "a client is shown an ended epoch" => "fence", |h, rng| views::older_view(h, rng, |event| {
        if let Event::ClientSaw { epoch, .. } = event { *epoch = before(*epoch) }
    });
    "entities run on while their base is silent" => "bounded-speculation", log::silent_base;
    "ticks count behind a bundle that is missing" => "bounded-speculation", log::unlisted_loss;
    "an answer leaves before it is durable" => "confirmed-is-durable",
    |h, rng| log::durable_too_late(
        h, rng, |event| matches!(event, Event::CommandConfirmed { .. }),
    );
    "a message leaves before it is durable" => "confirmed-is-durable",
    |h, rng| log::durable_too_late(
        h, rng, |event| matches!(event, Event::MessageReleased { .. }),
    );
    "a message is answered before it is durable" => "confirmed-is-durable", |h, rng| {
        log::durable_too_late(h, rng, |event| matches!(event, Event::MessageTaken { .. }))
    };
    "a grant leaves before it is durable" => "confirmed-is-durable", log::grant_too_early;
    "a base serves a slot under an older term" => "one-base-serves", slots::kept_term;
    "a base takes a slot that was not frozen" => "one-base-serves", slots::never_frozen;
    "two logs serve a slot" => "one-base-serves", slots::two_logs;
    "a slot is in no log" => "one-base-serves", slots::lost_slot;
    "a base writes about a slot that it froze" => "confirmed-by-keeper", slots::frozen_and_written;
    "a base serves a slot before it has it" => "confirmed-by-keeper", slots::served_early;
    "a base confirms of a slot that it gave away" => "confirmed-by-keeper", slots::confirmed_late;
    "a base grants of a slot that it never had" => "confirmed-by-keeper", slots::foreign_grant;
    "a base reads less of a log than is durable" => "confirmed-is-durable", slots::read_too_little;
    "a base takes a slot without reading the log" => "one-base-serves", slots::read_nothing;
    "a base reads the log of another one" => "one-base-serves", slots::read_another;
    "a base reads the log of who lives" => "confirmed-by-keeper", slots::read_alive;
    "a base gives up what nobody took over" => "one-base-serves", slots::given_up;
    "a log lacks how a slot left" => "log-as-told", slots::lost_record;
    "a log holds somebody of a slot that it gave away" => "image-is-lineage", slots::left_over;
    "a log does not read back" => "log-is-whole", written::damage;
    "a log ends before what was durable" => "log-is-whole", written::lost_end;
    "a log lacks a record" => "log-as-told", written::lost_record;
    "a log has another record" => "log-as-told", written::other_record;
    "a log has a record of nobody" => "log-as-told", written::record_of_nobody;
    "a log keeps an epoch" => "epochs-grow", written::kept_epoch;
    "a log holds an older step" => "image-is-lineage", written::older_step;
    "a log holds another state" => "image-is-lineage", written::other_state;
    "a log holds an entity no more" => "image-is-lineage", written::lost_entity;
    "a log holds somebody else" => "image-is-lineage", written::stranger;
    "base and owner differ" => "one-chain", |h, rng| change(
        h, rng, |event| matches!(event, Event::Accepted { .. }),
        |event| if let Event::Accepted { digest, .. } = event { *digest ^= 1 },
    );
    "a step goes on from another state" => "one-chain", |h, rng| change(
        h, rng, |event| matches!(event, Event::Stepped { .. }),
        |event| if let Event::Stepped { prev_digest, .. } = event { *prev_digest ^= 1 },
    );
    "a step is missing" => "one-chain", log::lost_step;
    "a command runs twice" => "command-once", |h, rng| repeat_before_step(h, rng, |event| {
        match event {
            Event::CommandRun { entity, epoch, .. } => Some((*entity, *epoch)),
            _ => None,
        }
    });
    "a client hears another answer" => "same-answer", |h, rng| change(
        h, rng, |event| matches!(event, Event::ClientAnswered { .. }), effects::outcome_of,
    );
    "a base tells another answer than was decided" => "same-answer", |h, rng| change(
        h, rng, |event| matches!(event, Event::CommandRun { .. }), effects::outcome_of,
    );
    "a message is taken twice" => "message-once", |h, rng| repeat_before_step(h, rng, |event| {
        match event {
            Event::MessageRun { entity, epoch, .. } => Some((*entity, *epoch)),
            _ => None,
        }
    });
    "commands overtake each other" => "fifo", effects::swapped_commands;
    "a bundle is lost without a word" => "fifo", log::lost_bundle;
    "a bundle comes that nobody sent" => "fifo", log::invented_bundle;
    "a client's view goes back" => "view-never-back", |h, rng| views::older_view(h, rng, |event| {
        if let Event::ClientSaw { tick, .. } = event { tick.0 = 0 }
    });
    "a confirmed value goes back" => "view-never-back", |h, rng| views::older_view(h, rng, |event| {
        if let Event::ClientSaw { confirmed: Some(seq), .. } = event { seq.0 = 0 }
    });
    "a ghost runs ahead" => "ghost-not-ahead", |h, rng| change(
        h, rng, |event| matches!(event, Event::GhostApplied { .. }),
        |event| if let Event::GhostApplied { seq, .. } = event { seq.0 += 1_000 },
    );
    "a ghost goes back" => "ghost-grows", views::ghost_goes_back;
    "a ghost differs" => "ghost-equals", |h, rng| change(
        h, rng, |event| matches!(event, Event::GhostApplied { .. }),
        |event| if let Event::GhostApplied { digest, .. } = event { *digest ^= 1 },
    );
    "an owner keeps what it gave away" => "census", ownership::kept_copy;
    "an owner loses its real" => "census", ownership::lost_real;
    "an id is given twice" => "unique-ids", ownership::reborn;
    "an entity strays for long" => "handed-over-in-time", ownership::strayed_long_ago;
    "a step takes more than was sent" => "value-conserved",
    |h, rng| effects::spoil_flow(h, rng, |event| {
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
    "a message is taken before it was sent" => "debit-before-credit", effects::unpaid_message;
    "value appears in a step" => "value-only-by-message",
    |h, rng| effects::spoil_flow(h, rng, |event| {
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
    "ticks are left out without a word" => "ticks-partition", log::undropped;
    "a tick runs twice" => "ticks-partition", log::repeated_tick;
    "two owners run one tick" => "tick-not-doubled", ownership::doubled_tick;
    "a client is not told that somebody left" => "aoi-balance", views::forgotten_leave;
    "a client gets an answer twice" => "terminal", |h, rng| effects::said_twice(
        h, rng, |event| matches!(event, Event::ClientAnswered { .. }),
    );
    "a command is swallowed" => "terminal", effects::swallowed_command;
}
