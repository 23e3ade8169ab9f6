//! What a base tells the owner of an entity, the one before, or the one to be.

use super::HandoffRefusal;
use crate::order::{EntityId, Epoch, Node, Seq, SessionId, SlotId, Term, Tick};
use crate::world::{EntityState, MessageOutcome};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// From a base to a cellapp. Everything here left only after what it rests on was durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BaseToCell {
    /// All steps up to this one are durable.
    Ack {
        /// The entity.
        entity: EntityId,
        /// The epoch.
        epoch: Epoch,
        /// The newest durable step.
        seq: Seq,
    },
    /// You own it now.
    Grant(Grant),
    /// The handoff does not happen; run on under the same epoch.
    Abort {
        /// The entity.
        entity: EntityId,
        /// The epoch.
        epoch: Epoch,
        /// The step that it stood at.
        seq: Seq,
        /// Why.
        reason: HandoffRefusal,
    },
    /// The new owner reported: drop the frozen copy.
    Release {
        /// The entity.
        entity: EntityId,
        /// The epoch that ended.
        epoch: Epoch,
    },
    /// You do not own it; drop it in this tick.
    Fenced {
        /// The entity.
        entity: EntityId,
        /// The epoch that is too old.
        epoch: Epoch,
        /// The epoch that holds.
        current: Epoch,
    },
    /// A step does not follow: send the whole state.
    NeedSnapshot {
        /// The entity.
        entity: EntityId,
        /// The epoch.
        epoch: Epoch,
        /// The newest step here.
        seq: Seq,
    },
    /// A client's command. Sent again with every grant until a durable step holds its outcome.
    Command(Command),
    /// A client's newest input; an older one that waits is replaced.
    Input {
        /// The entity.
        entity: EntityId,
        /// The session.
        session: SessionId,
        /// In the world's own encoding.
        payload: Bytes,
    },
    /// A message of another entity. Sent again with every grant.
    Inbox(InboxMessage),
    /// The outcome of a message that the entity sent. Sent again until a durable step closes it.
    Answer {
        /// The entity that sent the message.
        entity: EntityId,
        /// Its number.
        out_seq: u64,
        /// How it ended.
        outcome: MessageOutcome,
    },
    /// A source closed its messages to the entity up to this number and will not send them again:
    /// their answers may be dropped and, if nothing later of it was taken, the source forgotten.
    Settled {
        /// The entity that received the messages.
        entity: EntityId,
        /// Their sender.
        source: EntityId,
        /// The newest closed number.
        through: u64,
    },
    /// A client begins to play the entity.
    Attach {
        /// The entity.
        entity: EntityId,
        /// The session.
        session: SessionId,
        /// How far it wants to see, in millimetres; 0 sees nobody.
        radius: i32,
    },
    /// A session ended.
    Detach {
        /// The entity.
        entity: EntityId,
        /// The session.
        session: SessionId,
    },
    /// An operator's order to hand the entity over.
    Order(HandoffOrder),
    /// The base came back without its volatile part, or bundles of yours were lost on their way:
    /// say what of it you hold. Repeated until it is answered.
    Resync {
        /// The number of the question; the answer carries it. A new loss is a new question.
        question: u64,
    },
    /// An operator's order to end the entity.
    Destroy {
        /// The entity.
        entity: EntityId,
    },
    /// These slots are about to be given to another base: let their entities stand still until a
    /// base opens them under a higher term, or a later life of this one does, and say so.
    CloseSlots(Vec<(SlotId, Term)>),
    /// The sender keeps these slots under these terms: their entities may run.
    OpenSlots(Vec<(SlotId, Term)>),
}

/// The gift of ownership.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The entity.
    pub entity: EntityId,
    /// The epoch that begins.
    pub epoch: Epoch,
    /// To which life; any other ignores it.
    pub to: Node,
    /// The step that it goes on from.
    pub seq: Seq,
    /// The digest there.
    pub digest: u64,
    /// Why.
    pub why: GrantWhy,
    /// The image. A parked offload with the same digest is fresher in its volatile part.
    pub state: Box<EntityState>,
    /// Sessions that are attached now, with their view radius in millimetres.
    pub sessions: Vec<(SessionId, i32)>,
    /// What the behaviour is told at birth; empty otherwise.
    pub argument: Bytes,
    /// The newest tick that an owner before simulated it in. No tick up to this one may run again,
    /// also not at an owner that is catching up with the cluster.
    pub last_tick: Option<Tick>,
}

/// Why a grant was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GrantWhy {
    /// A new entity.
    Birth,
    /// A committed handoff.
    Handoff,
    /// The owner before it was lost or never reported: the image is where it goes on.
    Restore,
}

/// A client's command on its way to the owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The entity.
    pub entity: EntityId,
    /// The session.
    pub session: SessionId,
    /// The client's number, contiguous per session from 1.
    pub n: u64,
    /// Which method, by the kind's index.
    pub method: u8,
    /// Its arguments, in the world's own encoding.
    pub args: Bytes,
    /// After this tick the owner answers `Expired` instead of running it.
    pub deadline: Tick,
    /// The client acknowledged all answers up to this number.
    pub acknowledged: u64,
}

/// A message of another entity on its way to the owner of its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboxMessage {
    /// The receiver.
    pub entity: EntityId,
    /// The sender.
    pub source: EntityId,
    /// The sender's number of it; (source, `out_seq`) is its identity.
    pub out_seq: u64,
    /// What it says.
    pub payload: Bytes,
    /// How much of the conserved number it carries.
    pub value: i64,
    /// Where it comes from, for age and audit.
    pub origin: Origin,
    /// The source will not ask again for answers up to this number.
    pub settled: u64,
}

/// Which state of the sender a message rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The owner that decided it.
    pub authority: Node,
    /// Its epoch.
    pub epoch: Epoch,
    /// The step that carried it.
    pub seq: Seq,
    /// The tick of the decision.
    pub tick: Tick,
}

/// An operator's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffOrder {
    /// The order's number; its answer carries it.
    pub order: u64,
    /// The entity.
    pub entity: EntityId,
    /// To whom.
    pub to: Node,
    /// For how many ticks border rules leave it there.
    pub hold: u32,
    /// After this tick it is answered `Deadline`.
    pub deadline: Tick,
}
