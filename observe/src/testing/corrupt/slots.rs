//! Faults of bases that give slots away or take them.

use super::*;
use crate::testing::{BASES, entity_id};
use marchland_common::journal::{Kept, KeptSlot, Logged};
use marchland_common::order::SlotId;

/// One of the places where a slot that moved was taken, with the slot.
fn taken(history: &History, rng: &mut Rng) -> Option<(Place, SlotId)> {
    let places = history.places(|event| matches!(event, Event::SlotTaken { .. }));
    let moved: Vec<Place> =
        places.into_iter().filter(|place| history.tick_at(*place).0 > 1).collect();
    let place = pick(&moved, rng)?;
    match history.event(place) {
        Event::SlotTaken { slot, .. } => Some((place, *slot)),
        _ => None,
    }
}

pub fn kept_term(history: &mut History, rng: &mut Rng) -> bool {
    let Some((place, _)) = taken(history, rng) else { return false };
    if let Event::SlotTaken { term, .. } = history.event_mut(place) {
        term.0 = 1_001;
    }
    true
}

pub fn never_frozen(history: &mut History, rng: &mut Rng) -> bool {
    let frozen = history.places(|event| matches!(event, Event::SlotFrozen { .. }));
    let Some(place) = pick(&frozen, rng) else { return false };
    history.remove(place);
    true
}

/// A record that is told so many records later than it was written, or earlier.
fn told_at(history: &mut History, place: Place, later: isize) -> bool {
    let Some(record) = place.1.checked_add_signed(later) else { return false };
    let event = history.remove(place);
    history.insert((place.0, record, 0), event);
    true
}

/// A base writes on after it froze a slot.
pub fn frozen_and_written(history: &mut History, rng: &mut Rng) -> bool {
    let frozen = history.places(|event| matches!(event, Event::SlotFrozen { .. }));
    pick(&frozen, rng).is_some_and(|place| told_at(history, place, -8))
}

/// A base writes about a slot before the key is its own.
pub fn served_early(history: &mut History, rng: &mut Rng) -> bool {
    taken(history, rng).is_some_and(|(place, _)| told_at(history, place, 8))
}

/// A base confirms something of a slot that it gave away.
pub fn confirmed_late(history: &mut History, rng: &mut Rng) -> bool {
    let given = history.places(|event| matches!(event, Event::SlotGiven { .. }));
    let Some(place) = pick(&given, rng) else { return false };
    let Event::SlotGiven { slot, .. } = *history.event(place) else { return false };
    let closed = history.places(|event| match event {
        Event::MessageClosed { source, .. } => source.slot() == slot,
        _ => false,
    });
    let before = closed.into_iter().find(|closed| closed.0 == place.0 && closed.1 < place.1);
    let Some(before) = before else { return false };
    let event = history.event(before).clone();
    history.insert((place.0, place.1 + 1, 0), event);
    true
}

/// An owner has an entity from a base that never kept its slot.
pub fn foreign_grant(history: &mut History, rng: &mut Rng) -> bool {
    let foreign = Node::new(NodeKind::Base, BASES as u16, 22);
    let early =
        |event: &Event| matches!(event, Event::Activated { entity, .. } if entity.slot().0 == 0);
    let places = history.places(early);
    let places: Vec<Place> =
        places.into_iter().filter(|place| history.tick_at(*place).0 < 20).collect();
    let Some(place) = pick(&places, rng) else { return false };
    if let Event::Activated { base, .. } = history.event_mut(place) {
        *base = foreign;
    }
    true
}

/// Two logs serve a slot at the end.
pub fn two_logs(history: &mut History, _: &mut Rng) -> bool {
    let all = history.logs.iter().flat_map(|log| &log.account.slots);
    let Some((slot, kept)) = all.map(|(slot, kept)| (*slot, *kept)).next() else { return false };
    for log in &mut history.logs {
        log.account.slots.insert(slot, KeptSlot { frozen_for: None, adopted: None, ..kept });
    }
    true
}

pub fn lost_slot(history: &mut History, _: &mut Rng) -> bool {
    for log in &mut history.logs {
        log.account.slots.remove(&SlotId(0));
        log.account.end.retain(|entity, _| entity.slot() != SlotId(0));
    }
    true
}

pub fn lost_record(history: &mut History, rng: &mut Rng) -> bool {
    let at = rng.below(history.logs.len() as u64) as usize;
    let records = &mut history.logs[at].account.records;
    let moves = |said: &Logged| matches!(said, Logged::Frozen { .. } | Logged::Given { .. });
    let Some(at) = records.iter().position(|(_, said)| moves(said)) else { return false };
    records.remove(at);
    true
}

/// A log holds an entity of a slot that it gave away.
pub fn left_over(history: &mut History, _: &mut Rng) -> bool {
    let owner = Node::new(NodeKind::Cell, 1, 11);
    for log in &mut history.logs {
        for slot in 0..BASES {
            if !log.account.slots.contains_key(&SlotId(slot as u8)) {
                let epoch = Epoch::of_grant(1);
                let kept = Kept { epoch, owner, seq: Seq(0), digest: 0, ended: false };
                log.account.end.insert(entity_id(slot, 1), kept);
                return true;
            }
        }
    }
    false
}

fn adopted(history: &History, rng: &mut Rng) -> Option<Place> {
    let places = history.places(|event| matches!(event, Event::SlotAdopted { .. }));
    pick(&places, rng)
}

/// A base reads a log only up to a record long before the last one.
pub fn read_too_little(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = adopted(history, rng) else { return false };
    if let Event::SlotAdopted { through, .. } = history.event_mut(place) {
        through.0 -= 40;
    }
    true
}

/// A base takes a slot that is another one's, out of no log.
pub fn read_nothing(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = adopted(history, rng) else { return false };
    history.remove(place);
    true
}

/// A base takes a slot out of the log of somebody who does not keep it.
pub fn read_another(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = adopted(history, rng) else { return false };
    let own = history.journals[place.0].0;
    if let Event::SlotAdopted { from, .. } = history.event_mut(place) {
        *from = own;
    }
    true
}

/// A base whose log was read goes on writing.
pub fn read_alive(history: &mut History, rng: &mut Rng) -> bool {
    let Some(place) = adopted(history, rng) else { return false };
    let taken = (place.0, place.1, place.2 + 1);
    let early = place.1.checked_sub(8);
    let Some(early) = early else { return false };
    for at in [taken, place] {
        let event = history.remove(at);
        history.insert((at.0, early, 0), event);
    }
    true
}

/// A base gives up what nobody has taken over by then.
pub fn given_up(history: &mut History, _: &mut Rng) -> bool {
    let adopted = history.places(|event| matches!(event, Event::SlotAdopted { .. }));
    let taken = adopted.first().map(|place| history.event(*place).clone());
    let Some(Event::SlotAdopted { slot: of, term: under, .. }) = taken else { return false };
    let gives = |event: &Event| matches!(event, Event::SlotGiven { slot, term, .. } if (*slot, *term) == (of, under));
    let Some(place) = history.places(gives).first().copied() else { return false };
    if let Event::SlotGiven { term, .. } = history.event_mut(place) {
        term.0 = under.0 - 1;
    }
    true
}
