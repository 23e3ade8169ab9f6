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

/// Two bases, and an entity at the first that made a step.
pub fn one_entity() -> (Cluster, EntityId) {
    let mut cluster = Cluster::with(2, |_| {});
    let entity = cluster.born_at(0, west());
    note(&mut cluster, entity, 1);
    cluster.tick();
    (cluster, entity)
}

/// The entity makes a step.
pub fn note(cluster: &mut Cluster, entity: EntityId, text: u8) {
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![text]))]);
}

/// What the base knows of it.
pub fn text(cluster: &Cluster, at: usize, entity: EntityId) -> Option<Vec<u8>> {
    let brief = cluster.bases[at].core.brief(entity)?;
    Some(brief.durable[1].1.bytes().to_vec())
}

/// Runs until the next keeper holds the slot.
pub fn hold(cluster: &mut Cluster, slot: SlotId, to: usize) {
    give(cluster, slot, to);
    for _ in 0..30 {
        cluster.tick();
        if is_held(cluster, slot) {
            return;
        }
    }
    panic!("never held: {:?}", stage(cluster, slot));
}

/// Writes the key and lets everybody follow it.
pub fn settle(cluster: &mut Cluster, slot: SlotId, to: usize) {
    write_key(cluster, slot, to);
    (0..cluster.bases.len()).for_each(|at| tell_keys(cluster, at));
    cluster.ticks(3);
    cluster.owners.values_mut().for_each(Owner::tell_opened);
    cluster.ticks(3);
}

/// A base's process dies, and another life of it reads the first records of its log.
pub fn restart(cluster: &mut Cluster, at: usize, records: usize) {
    let (kinds, before) = (cluster.kinds.clone(), cluster.bases[at].node);
    cluster.bases[at].restart(&kinds, records);
    let node = cluster.bases[at].node;
    cluster.members.retain(|m| m.node != before);
    cluster.members.push(Member { node, state: MemberState::Serving });
    cluster.announce();
}

/// Whether a record is about what a slot holds.
pub fn about(record: &LogRecord, slot: SlotId) -> bool {
    match record {
        LogRecord::Step(step) => step.entity.slot() == slot,
        LogRecord::Owner(owner) => owner.entity.slot() == slot,
        LogRecord::Carried { entity, .. } => entity.slot() == slot,
        LogRecord::SessionOpened { session, .. } | LogRecord::SessionClosed { session } => {
            session.slot() == slot
        }
        _ => false,
    }
}
