//! What was refused or dropped in a tick: one event per reason, peer and entity, with a count.

use marchland_common::journal::{Event, Refused};
use marchland_common::order::{EntityId, Node};
use std::collections::BTreeMap;

/// Most different (reason, peer, entity) in one tick; further ones are counted without the entity,
/// so that a flood of made-up ids cannot flood the journal.
const KEYS_MAX: usize = 1_024;

/// The refusals of the running tick.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    counts: BTreeMap<(Refused, Option<Node>, Option<EntityId>), u32>,
}

impl Refusals {
    /// Counts one.
    pub fn add(&mut self, reason: Refused, from: Option<Node>, entity: Option<EntityId>) {
        self.add_many(reason, from, entity, 1);
    }

    /// Counts several at once; none is nothing.
    pub fn add_many(
        &mut self,
        reason: Refused,
        from: Option<Node>,
        entity: Option<EntityId>,
        count: u32,
    ) {
        if count == 0 {
            return;
        }
        let key = (reason, from, entity);
        let has_room = self.counts.len() < KEYS_MAX || self.counts.contains_key(&key);
        let key = if has_room { key } else { (reason, from, None) };
        let sum = self.counts.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }

    /// The events, in a fixed order; nothing is counted afterwards.
    pub fn take(&mut self) -> impl Iterator<Item = Event> + use<> {
        std::mem::take(&mut self.counts)
            .into_iter()
            .map(|((reason, from, entity), count)| Event::Refusal { reason, from, entity, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_refusals_are_one_event_and_a_flood_of_entities_stays_bounded() {
        let mut refusals = Refusals::default();
        for n in 0..5_000 {
            refusals.add(Refused::NotHere, None, Some(EntityId(n)));
            refusals.add(Refused::GrantStale, None, None);
        }
        let events: Vec<Event> = refusals.take().collect();
        assert!(events.len() <= KEYS_MAX + 2);
        let total: u32 = events
            .iter()
            .map(|event| if let Event::Refusal { count, .. } = event { *count } else { 0 })
            .sum();
        assert_eq!(total, 10_000);
        assert_eq!(refusals.take().count(), 0);
    }
}
