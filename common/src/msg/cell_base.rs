//! What an owner tells the base of its entity.

use crate::order::{EntityId, Epoch, Node, Seq, SessionId, SlotId, Term, Tick};
use crate::time::EntityTime;
use crate::world::{Change, EntityState};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// From a cellapp to a base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CellToBase {
    /// An increment of one entity's lineage.
    Step(Step),
    /// The owner wants to hand the entity over; the step before it in the same bundle is the last
    /// of this epoch. Repeated every tick until it is answered.
    Prepare(Prepare),
    /// An ordered handoff was not even begun.
    OrderRefused {
        /// The order.
        order: u64,
        /// The entity.
        entity: EntityId,
        /// Why.
        reason: HandoffRefusal,
    },
    /// A piece of a client's view, to be sent on in order.
    View(View),
    /// A grant was not taken: this life already knows a higher epoch.
    GrantStale {
        /// The entity.
        entity: EntityId,
        /// The epoch of the grant.
        epoch: Epoch,
        /// The highest epoch known here.
        known: Epoch,
    },
    /// A real that stands here, with the steps that are not acknowledged behind it: part of the
    /// answer to [`Resync`](super::BaseToCell::Resync), or said unasked when the link began anew.
    Holding {
        /// The entity.
        entity: EntityId,
        /// Its epoch.
        epoch: Epoch,
        /// Its newest step.
        seq: Seq,
        /// The digest there.
        digest: u64,
    },
    /// A client is told something by its entity, cosmetic and at most once.
    Notice {
        /// The entity.
        entity: EntityId,
        /// What, in the world's own encoding.
        payload: Bytes,
    },
    /// The end of a list: everything that stands here of the base's entities was said before, and
    /// after this question was heard. What was not said does not stand here.
    Listed {
        /// The newest question that was heard; 0 if there was none.
        question: u64,
    },
    /// Entities of these slots stand still here since the base of this term asked for it; no step
    /// of them follows. Repeated to whoever keeps the slot by now until a base opens it.
    SlotsClosed(Vec<(SlotId, Term)>),
}

/// One increment: what changed in one entity in one tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The entity.
    pub entity: EntityId,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// Contiguous per entity across owners.
    pub seq: Seq,
    /// The digest before.
    pub prev_digest: u64,
    /// The digest after.
    pub digest: u64,
    /// Entity time at the end of the tick.
    pub time: EntityTime,
    /// The first tick that this epoch simulated; only in the first step of an epoch.
    pub first_tick: Option<Tick>,
    /// What changed.
    pub body: StepBody,
}

/// The content of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StepBody {
    /// The changes, in order.
    Delta(Vec<Change>),
    /// The whole state: after the base asked for it.
    Snapshot(Box<EntityState>),
}

/// The request to commit a handoff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// The entity.
    pub entity: EntityId,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The last step of this epoch.
    pub seq: Seq,
    /// The digest there.
    pub digest: u64,
    /// To whom.
    pub target: Node,
    /// Why.
    pub why: HandoffWhy,
    /// The last tick in which the source simulated it.
    pub last_tick: Tick,
    /// The layout version that the decision rests on; information only.
    pub layout_version: u64,
}

/// Why an entity changes its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HandoffWhy {
    /// It walked over a border.
    Border,
    /// An operator's order, by number.
    Order(u64),
    /// It went through a portal or jumped.
    Teleport,
    /// Its owner is leaving.
    Drain,
}

/// Why a handoff did not begin or did not commit. The entity stays with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HandoffRefusal {
    /// The target was not heard within the last ticks.
    TargetSilent,
    /// The target is draining or full.
    TargetNotAccepting,
    /// The target understands only older schemas.
    TargetTooOld,
    /// The target's life is declared dead.
    TargetDead,
    /// The target owns no cell of the entity's space.
    NotInSpace,
    /// Another handoff of the entity is under way.
    InProgress,
    /// The entity is not owned where the order arrived, or not by anyone yet.
    NotOwned,
    /// The entity already stands there.
    AlreadyThere,
    /// There is no such entity.
    NoSuchEntity,
    /// The order's deadline passed.
    Deadline,
}

/// A part of what one client sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The witness: the entity that the client plays.
    pub entity: EntityId,
    /// The session that it is for.
    pub session: SessionId,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The owner's tick.
    pub tick: Tick,
    /// Whether the client must forget what it saw before: the first of a session or after a reset.
    pub fresh: bool,
    /// Enter, update and leave records in the view encoding.
    pub body: Bytes,
}
