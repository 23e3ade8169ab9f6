//! What a base's write-ahead log says of entities, in the words in which journals tell the same:
//! an audit compares the two without knowing how records lie on a disk.

use super::OwnerWhy;
use crate::order::{EntityId, Epoch, Lsn, Node, Seq, Tick};
use std::collections::BTreeMap;

/// What one record says about the lineage of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    /// It was born.
    Born {
        /// The entity.
        entity: EntityId,
        /// Who is to own it.
        owner: Node,
        /// The message that asked for it.
        source: Option<(EntityId, u64)>,
    },
    /// A step became part of its lineage.
    Step {
        /// The entity.
        entity: EntityId,
        /// The epoch.
        epoch: Epoch,
        /// The step.
        seq: Seq,
        /// Whose step it is.
        owner: Node,
        /// The digest afterwards.
        digest: u64,
    },
    /// Its ownership changed.
    Owner {
        /// The entity.
        entity: EntityId,
        /// The epoch that begins.
        epoch: Epoch,
        /// Who owns it from here on.
        owner: Node,
        /// Why.
        why: OwnerWhy,
        /// The last tick that the owner before simulated.
        last_tick: Option<Tick>,
    },
}

impl Logged {
    /// Whose lineage.
    #[must_use]
    pub const fn entity(&self) -> EntityId {
        match self {
            Self::Born { entity, .. } | Self::Step { entity, .. } | Self::Owner { entity, .. } => {
                *entity
            }
        }
    }
}

/// What a log holds of an entity at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The epoch that holds.
    pub epoch: Epoch,
    /// Who owns it.
    pub owner: Node,
    /// The newest step.
    pub seq: Seq,
    /// The digest after it.
    pub digest: u64,
    /// Whether it ended; what is open of it is still kept.
    pub ended: bool,
}

/// What a whole log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogAccount {
    /// The records up to this one stand in a checkpoint only; 0 without one.
    pub through: Lsn,
    /// What that checkpoint holds.
    pub begin: BTreeMap<EntityId, Kept>,
    /// Later records that are about lineages, by rising number.
    pub records: Vec<(Lsn, Logged)>,
    /// The newest record, whatever it is about.
    pub last: Lsn,
    /// What the log holds after it.
    pub end: BTreeMap<EntityId, Kept>,
}
