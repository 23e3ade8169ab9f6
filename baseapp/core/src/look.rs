//! Looking at a core without changing it, and taking it somewhere else: briefs for operators,
//! counts, digests, snapshots and checkpoints.

use crate::core::BaseCore;
use crate::io::{BaseConfig, BaseStats, EntityBrief};
use crate::log::{LogRecord, Part};
use marchland_common::digest::digest_of;
use marchland_common::journal::PartedDigest;
use marchland_common::order::{EntityId, Lsn, SpaceId, Tick};
use marchland_common::world::{Kinds, Lasting};
use std::sync::Arc;

/// Why a snapshot is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are no snapshot of a base: {0}")]
pub struct BadSnapshot(String);

impl BaseCore {
    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &BaseConfig {
        &self.config
    }

    /// One entity; none if it has no record here or ended.
    #[must_use]
    pub fn brief(&self, entity: EntityId) -> Option<EntityBrief> {
        let lineage = self.store.entities.get(&entity).filter(|l| !l.state.destroyed)?;
        let state = &lineage.state;
        let defs = self.kinds.get(state.kind).map_or(&[][..], |kind| &kind.props[..]);
        let durable = defs.iter().zip(&state.props).enumerate();
        Some(EntityBrief {
            entity,
            kind: state.kind,
            place: state.place,
            owner: lineage.owner,
            epoch: lineage.epoch,
            seq: lineage.seq,
            pinned: state.pin.map(|pin| pin.until).filter(|until| *until > self.tick),
            durable: durable
                .filter(|(_, (def, _))| def.lasting == Lasting::Durable)
                .map(|(index, (_, value))| (index as u8, value.clone()))
                .collect(),
        })
    }

    /// The digest of what an entity's newest step left; none if it has no record here or ended.
    #[must_use]
    pub fn digest_of(&self, entity: EntityId) -> Option<u64> {
        let lineage = self.store.entities.get(&entity).filter(|l| !l.state.destroyed)?;
        Some(lineage.digest)
    }

    /// The tick that ran last.
    #[must_use]
    pub const fn last_tick(&self) -> Tick {
        self.tick
    }

    /// The first `limit` entities, by id.
    #[must_use]
    pub fn briefs(&self, limit: usize) -> Vec<EntityBrief> {
        self.store.entities.keys().filter_map(|id| self.brief(*id)).take(limit).collect()
    }

    /// The first `limit` entities above an id, of one space or of all, by id.
    #[must_use]
    pub fn briefs_after(
        &self,
        after: EntityId,
        space: Option<SpaceId>,
        limit: usize,
    ) -> Vec<EntityBrief> {
        use std::ops::Bound::{Excluded, Unbounded};
        let above = self.store.entities.range((Excluded(after), Unbounded));
        let here = above.filter(|(_, l)| space.is_none_or(|s| l.state.place.space == s));
        here.filter_map(|(id, _)| self.brief(*id)).take(limit).collect()
    }

    /// About how many bytes a checkpoint takes, without making one.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        // An entity's state is typically 256 bytes; the record around it is as much again at most.
        self.store.part_count() as u64 * 512
    }

    /// Messages whose answers their senders have not closed durably, by sender and number.
    pub fn open_messages(&self) -> impl Iterator<Item = (EntityId, u64)> + '_ {
        let entities = self.store.entities.iter();
        entities.flat_map(|(id, l)| l.state.outbox.open.keys().map(|n| (*id, *n)))
    }

    /// How often it dawdled because a simulation asked for it.
    #[must_use]
    pub fn dawdled(&self) -> u64 {
        self.config.dawdle.map_or(0, |dawdle| dawdle.times())
    }

    /// The newest record written.
    #[must_use]
    pub const fn last_lsn(&self) -> Lsn {
        self.gate.last
    }

    /// A digest of what this core wrote, waits for and knows of others. It costs what is going on,
    /// not what is kept: the entities are in it by the records that made them what they are.
    #[must_use]
    pub fn digest(&self) -> PartedDigest {
        let granting: Vec<_> = self.granting.iter().map(|id| (id, self.now.get(id))).collect();
        PartedDigest::of(&[
            digest_of(&(self.tick, self.ran, self.is_frozen(), self.rng)),
            digest_of(&(self.history, &self.gate)),
            digest_of(&(granting, &self.orphans, &self.counters)),
            digest_of(&self.peers),
            digest_of(&(&self.streams, &self.playing, &self.announced, &self.held_clients)),
            digest_of(&(&self.queues, &self.posts, &self.loopback, &self.retries, &self.unborn)),
            digest_of(&(&self.orders, &self.gives)),
        ])
    }

    /// What the parts of a digest are, in their order.
    pub const PARTS: [&str; 7] =
        ["switches", "log", "ownership", "links", "clients", "messages", "orders and moves"];

    /// The whole core as bytes; the kinds are not in it.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("derived serializers of plain values do not fail")
    }

    /// A core from its snapshot: it goes on as the original would.
    ///
    /// # Errors
    /// [`BadSnapshot`] when the bytes are not a snapshot of this version.
    pub fn restore(bytes: &[u8], kinds: Arc<Kinds>) -> Result<Self, BadSnapshot> {
        let mut core: Self =
            postcard::from_bytes(bytes).map_err(|bad| BadSnapshot(bad.to_string()))?;
        core.kinds = kinds;
        Ok(core)
    }

    /// Everything durable as records that stand for the whole log up to [`BaseCore::last_lsn`]:
    /// read back alone, they are the same state. It includes what is written and not yet durable,
    /// so whoever keeps it instead of the log makes it durable first.
    pub fn checkpoint(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let begin = std::iter::once(LogRecord::Image(self.gate.last));
        let parts = self.store.parts().map(|part: Part| LogRecord::Part(Box::new(part)));
        let count = self.store.part_count() as u64;
        let end = std::iter::once(LogRecord::ImageEnd(count));
        begin.chain(parts).chain(end).map(|record| record.encode())
    }

    pub(crate) fn stats(&self) -> BaseStats {
        let open = |id: &EntityId| {
            self.store.entities.get(id).map_or(0, |lineage| lineage.state.outbox.open.len())
        };
        BaseStats {
            entities: self.store.entities.len(),
            sessions: self.streams.len(),
            in_handoff: self.granting.len(),
            commands: self.queues.values().map(|queue| queue.commands.len()).sum(),
            inbox: self.queues.values().map(|queue| queue.inbox.len()).sum(),
            outbox: self.posts.keys().map(open).sum(),
            moves: self.slot_moves(),
            adopted: self.adopted_slots(),
            lsn: (self.gate.last, self.gate.durable),
        }
    }
}
