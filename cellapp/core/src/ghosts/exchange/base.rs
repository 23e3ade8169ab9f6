//! The base of the test's cluster: it never errs and says everything once, when it is due.

use super::Wolf;
use crate::ghosts::Handed;
use marchland_common::order::{EntityId, Epoch, Node, Tick};
use std::collections::BTreeMap;

/// What the base has to do for an entity.
pub(in crate::ghosts) enum Duty {
    Grant { to: usize, wolf: Wolf, from: Option<Node>, handed: Option<Handed> },
    Abort { from: Node },
    End { at: Node, epoch: Epoch },
}

struct Record {
    epoch: Epoch,
    owner: Option<Node>,
    image: Wolf,
}

/// See the module.
#[derive(Default)]
pub(in crate::ghosts) struct Base {
    records: BTreeMap<EntityId, Record>,
    duties: Vec<(Tick, EntityId, Duty)>,
    /// For how long it thinks about a handoff, and about the release after it.
    pub(in crate::ghosts) grant_delay: u64,
    pub(in crate::ghosts) release_delay: u64,
    /// Whether it calls the next handoff off.
    pub(in crate::ghosts) aborts: bool,
}

impl Base {
    pub(super) fn owner(&self, entity: EntityId) -> Option<Node> {
        self.records.get(&entity)?.owner
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = (EntityId, Node)> {
        self.records.iter().filter_map(|(id, record)| Some((*id, record.owner?)))
    }

    pub(super) fn due(&mut self, now: Tick) -> Vec<(EntityId, Duty)> {
        let due = self.duties.extract_if(.., |(when, ..)| *when <= now);
        due.map(|(_, entity, duty)| (entity, duty)).collect()
    }

    fn later(&mut self, when: u64, entity: EntityId, duty: Duty) {
        self.duties.push((Tick(when), entity, duty));
    }

    pub(super) fn bear(&mut self, entity: EntityId, wolf: Wolf, to: usize, now: Tick) {
        let record = Record { epoch: wolf.epoch, owner: None, image: wolf.clone() };
        self.records.insert(entity, record);
        self.later(now.0, entity, Duty::Grant { to, wolf, from: None, handed: None });
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        self.records.remove(&entity);
        self.duties.retain(|(_, id, duty)| *id != entity || matches!(duty, Duty::End { .. }));
    }

    /// The grant of this epoch was taken.
    pub(super) fn granted(&mut self, entity: EntityId, owner: Node, epoch: Epoch) {
        if let Some(record) = self.records.get_mut(&entity).filter(|r| r.epoch == epoch) {
            record.owner = Some(owner);
        }
    }

    /// An owner froze an entity for a handoff.
    pub(super) fn handed(
        &mut self,
        entity: EntityId,
        wolf: Wolf,
        (from, to): (Node, usize),
        handed: Handed,
        now: Tick,
    ) {
        let grant = now.0 + 1 + self.grant_delay;
        let Some(record) = self.records.get_mut(&entity).filter(|r| r.epoch == wolf.epoch) else {
            return;
        };
        if std::mem::take(&mut self.aborts) {
            self.later(grant, entity, Duty::Abort { from });
            return;
        }
        let ended = record.epoch;
        record.epoch = ended.next_grant();
        record.owner = None;
        let wolf = Wolf { epoch: record.epoch, leaving: None, is_frozen: false, ..wolf };
        record.image = wolf.clone();
        let duty = Duty::Grant { to, wolf, from: Some(from), handed: Some(handed) };
        self.later(grant, entity, duty);
        self.later(grant + 1 + self.release_delay, entity, Duty::End { at: from, epoch: ended });
    }

    /// A verdict on an owner, true or false: the entity goes on from its image at `to`, and the
    /// owner before is fenced later.
    pub(super) fn restore(&mut self, entity: EntityId, to: usize, fence: u64, now: Tick) {
        let Some(record) = self.records.get_mut(&entity) else { return };
        let Some(owner) = record.owner.take() else { return };
        let ended = record.epoch;
        record.epoch = ended.next_grant();
        let epoch = record.epoch;
        let wolf = Wolf { epoch, leaving: None, is_frozen: false, ..record.image.clone() };
        self.duties.retain(|(_, id, duty)| *id != entity || matches!(duty, Duty::End { .. }));
        self.later(now.0, entity, Duty::Grant { to, wolf, from: None, handed: None });
        self.later(now.0 + fence, entity, Duty::End { at: owner, epoch: ended });
    }

    /// A life is gone: what it owned, or was being given, goes on elsewhere.
    pub(super) fn restore_from(&mut self, dead: Node, to: usize, now: Tick) {
        let lost: Vec<EntityId> =
            self.owners().filter(|(_, owner)| *owner == dead).map(|(id, _)| id).collect();
        lost.into_iter().for_each(|entity| self.restore(entity, to, 0, now));
    }

    /// The image catches up with the real, as a step would make it.
    pub(super) fn record(&mut self, entity: EntityId, wolf: &Wolf) {
        if let Some(record) = self.records.get_mut(&entity).filter(|r| r.epoch == wolf.epoch) {
            record.image = wolf.clone();
        }
    }
}
