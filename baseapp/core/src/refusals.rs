//! What was refused in one moment, counted: one event per reason, sender and entity.

use marchland_common::journal::{Event, Refused};
use marchland_common::order::{EntityId, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entities that are told apart in one moment; more are counted together.
const TOLD_APART_MAX: usize = 256;

/// The counts of one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Refusals(BTreeMap<(Refused, Option<Node>, Option<EntityId>), u32>);

impl Refusals {
    /// Counts one.
    pub fn add(&mut self, reason: Refused, from: Option<Node>, entity: Option<EntityId>) {
        let full = self.0.len() >= TOLD_APART_MAX && !self.0.contains_key(&(reason, from, entity));
        let key = if full { (reason, from, None) } else { (reason, from, entity) };
        let count = self.0.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    /// The events, and an empty count.
    pub fn take(&mut self) -> impl Iterator<Item = Event> + use<> {
        std::mem::take(&mut self.0)
            .into_iter()
            .map(|((reason, from, entity), count)| Event::Refusal { reason, from, entity, count })
    }
}
