//! What a base's write-ahead log says of entities, in the words in which journals tell the same:
//! an audit compares the two without knowing how records lie on a disk.

use super::OwnerWhy;
use crate::order::{EntityId, Epoch, Lsn, Node, NodeName, Seq, SlotId, Term, Tick};
use std::collections::BTreeMap;

/// What one record says about the lineage of an entity, or about who keeps a slot.
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
    /// The log keeps a slot from here on.
    Taken {
        /// The slot.
        slot: SlotId,
        /// Under which term.
        term: Term,
    },
    /// Nothing of a slot changes any more: it is on its way to another base.
    Frozen {
        /// The slot.
        slot: SlotId,
        /// The term that is to end.
        term: Term,
        /// Who is to keep it.
        to: NodeName,
    },
    /// A slot is another base's.
    Given {
        /// The slot.
        slot: SlotId,
        /// The term that began there.
        term: Term,
    },
}

impl Logged {
    /// Whose lineage; none where the record is about a slot.
    #[must_use]
    pub const fn entity(&self) -> Option<EntityId> {
        match self {
            Self::Born { entity, .. } | Self::Step { entity, .. } | Self::Owner { entity, .. } => {
                Some(*entity)
            }
            Self::Taken { .. } | Self::Frozen { .. } | Self::Given { .. } => None,
        }
    }
}

/// How a log holds a slot at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptSlot {
    /// Under which term.
    pub term: Term,
    /// For whom it is frozen, if it is.
    pub frozen_for: Option<NodeName>,
    /// Out of the log of which life it was read when it came here, and up to which record, if it was.
    pub adopted: Option<(Node, Lsn)>,
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
    /// Later records that are about lineages or slots, by rising number.
    pub records: Vec<(Lsn, Logged)>,
    /// The newest record, whatever it is about.
    pub last: Lsn,
    /// What the log holds after it.
    pub end: BTreeMap<EntityId, Kept>,
    /// The slots that it keeps then.
    pub slots: BTreeMap<SlotId, KeptSlot>,
    /// The slots that came whole then and wait for their key, by the term under which they were
    /// given.
    pub coming: BTreeMap<SlotId, Term>,
}
