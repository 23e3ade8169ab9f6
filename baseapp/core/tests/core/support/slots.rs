//! Slots on their way between bases, by script.

use super::*;

/// Which base keeps a slot, by its place in the cluster.
pub fn keeper(cluster: &Cluster, slot: SlotId) -> usize {
    let name = cluster.slots[usize::from(slot.0)].base;
    cluster.bases.iter().position(|base| base.node.name == name).unwrap()
}

/// Orders the keeper of a slot to give it away.
pub fn give(cluster: &mut Cluster, slot: SlotId, to: usize) {
    let (at, term) = (keeper(cluster, slot), cluster.slots[usize::from(slot.0)].term);
    let to = cluster.bases[to].node.name;
    let order = BaseOrder::GiveSlots { slots: vec![(slot, term)], to };
    cluster.bases[at].orders_in.push(order);
}

/// Writes a slot's key: the commit of a move, or its end.
pub fn write_key(cluster: &mut Cluster, slot: SlotId, to: usize) {
    cluster.term += 1;
    let base = cluster.bases[to].node.name;
    cluster.slots[usize::from(slot.0)] = SlotOwner { slot, base, term: Term(cluster.term) };
}

/// Tells one base what the keys say.
pub fn tell_keys(cluster: &mut Cluster, at: usize) {
    let slots = MapChange::Slots(cluster.slots.clone());
    cluster.bases[at].map.push(slots);
}

/// Whether the present life of the next keeper holds a slot, says its keeper.
pub fn is_held(cluster: &Cluster, slot: SlotId) -> bool {
    let mut moves = cluster.bases.iter().flat_map(|base| &base.stats.moves);
    let going = moves.find(|going| going.slot == slot);
    let Some(SlotMove { to, stage: MoveStage::Held(life), .. }) = going else { return false };
    let holder = cluster.bases.iter().find(|base| base.node.name == *to);
    assert_eq!(holder.map(|base| base.node.incarnation), Some(*life), "the life that is there");
    true
}

/// The stage of a slot's move.
pub fn stage(cluster: &Cluster, slot: SlotId) -> Option<MoveStage> {
    let moves = cluster.bases.iter().flat_map(|base| &base.stats.moves);
    moves.filter(|going| going.slot == slot).map(|going| going.stage).next()
}
