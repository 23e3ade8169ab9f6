//! Base slots: 256 for ever, spread over the baseapps that are there at the beginning.
//!
//! A slot is where its log is. One whose keeper is there is given away by that one itself; one
//! whose keeper is away waits for it, or for whoever gets hold of its log.

use marchland_common::order::{NodeName, SlotId};
use std::collections::BTreeMap;

/// How many slots there are.
pub const SLOTS: u16 = 256;

/// Gives every slot that nobody keeps to the baseapp with the fewest, by name among equals.
pub(crate) fn give(
    kept: &BTreeMap<SlotId, NodeName>,
    bases: &[NodeName],
) -> Vec<(SlotId, NodeName)> {
    if bases.is_empty() {
        return Vec::new();
    }
    let mut counts: BTreeMap<NodeName, usize> = bases.iter().map(|b| (*b, 0)).collect();
    for keeper in kept.values() {
        if let Some(count) = counts.get_mut(keeper) {
            *count += 1;
        }
    }
    let mut given = Vec::new();
    for slot in (0..SLOTS).map(|s| SlotId(s as u8)).filter(|s| !kept.contains_key(s)) {
        let least = counts.iter().min_by_key(|(name, n)| (**n, **name)).map(|(name, _)| *name);
        if let Some(name) = least {
            given.push((slot, name));
            counts.entry(name).and_modify(|n| *n += 1);
        }
    }
    given
}
