//! Since when keepers of slots are away, and whose slots others take over.

use crate::Facts;
use marchland_common::order::{Node, NodeName};
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of keepers that are away.
#[derive(Clone, Debug, Default)]
pub struct Absence {
    since: BTreeMap<NodeName, u64>,
}

impl Absence {
    /// The keepers of slots that have been away for so long; never anybody without a time. Of the
    /// facts, the members, the dead, the slots and the logs count; `lost` are lives that nobody
    /// finds or hears.
    ///
    /// A life that is registered and did not begin to write its log is not there yet: one that ends
    /// before that again and again does not make others wait for ever. A new leader counts anew.
    pub fn overdue(
        &mut self,
        facts: &Facts,
        lost: &BTreeSet<Node>,
        (now_ms, after_ms): (u64, Option<u64>),
    ) -> BTreeSet<NodeName> {
        let present = facts.present_bases();
        let is_there = |name: &NodeName| {
            let life = present.get(name).filter(|life| !lost.contains(life));
            life.is_some_and(|life| {
                facts.logs.get(name).is_none_or(|log| log.life == life.incarnation)
            })
        };
        let keepers: BTreeSet<NodeName> = facts.slots.iter().map(|s| s.base).collect();
        let away: BTreeSet<NodeName> = keepers.into_iter().filter(|name| !is_there(name)).collect();
        self.since.retain(|name, _| away.contains(name));
        for name in away {
            self.since.entry(name).or_insert(now_ms);
        }
        let Some(after_ms) = after_ms else { return BTreeSet::new() };
        let is_over = |(_, since): &(&NodeName, &u64)| now_ms.saturating_sub(**since) >= after_ms;
        self.since.iter().filter(is_over).map(|(name, _)| *name).collect()
    }

    /// For how long a keeper has been away; none if it is there.
    #[must_use]
    pub fn away_ms(&self, name: NodeName, now_ms: u64) -> Option<u64> {
        self.since.get(&name).map(|since| now_ms.saturating_sub(*since))
    }
}
