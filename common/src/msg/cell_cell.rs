//! What cellapps tell each other: offloads, ghosts and signals.

use crate::order::{EntityId, Epoch, KindId, Node, Seq, SessionId, SignalWindow};
use crate::world::{EntityState, Place, Value};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// From a cellapp to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CellToCell {
    /// The state of an entity that is about to be yours. Park it; only a grant makes it real.
    Offload(Box<Offload>),
    /// Hold a ghost, or replace the one you hold: the whole ghosted state.
    GhostCreate(GhostCreate),
    /// All ghost deltas of this tick for this host, in the packed encoding.
    GhostDeltas(Bytes),
    /// The new owner of an entity whose ghost you hold.
    GhostAdopt {
        /// The entity.
        entity: EntityId,
        /// The new epoch.
        epoch: Epoch,
        /// The ghost sequence that the owner goes on from.
        seq: Seq,
        /// The digest of the ghosted fields there.
        digest: u64,
        /// The owner's index of the ghost on this link from now on.
        index: u32,
    },
    /// Drop a ghost.
    GhostRemove {
        /// The entity.
        entity: EntityId,
        /// The owner's epoch.
        epoch: Epoch,
        /// Whether the entity ended.
        destroyed: bool,
    },
    /// The sender owns the entity no more, and it did not end: whoever owns it next adopts the
    /// ghost. Until then the host shows what it has.
    GhostDisown {
        /// The entity.
        entity: EntityId,
        /// The epoch that ended.
        epoch: Epoch,
        /// The sender's index of the ghost, which means nothing from now on.
        index: u32,
    },
    /// A gap or a difference: send the whole ghosted state.
    GhostNeedSnapshot {
        /// The entity.
        entity: EntityId,
        /// The epoch that the ghost follows.
        epoch: Epoch,
    },
    /// Cosmetic, at most once, ordered per sender.
    Signal(Signal),
}

/// The full state of an entity on its way to the next owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offload {
    /// The entity.
    pub entity: EntityId,
    /// The epoch that ends.
    pub epoch: Epoch,
    /// Its last step.
    pub seq: Seq,
    /// The durable digest there.
    pub digest: u64,
    /// Everything, also the volatile part.
    pub state: EntityState,
    /// The ghost sequence that the source reached.
    pub ghost_seq: Seq,
    /// Since which epoch the ghosts' lineage is unbroken; see [`GhostCreate::since`].
    pub ghost_since: Epoch,
    /// Which lives hold ghosts of it.
    pub hosts: Vec<Node>,
    /// What its clients see, so that the new owner goes on without a leave and an enter; one for
    /// each session.
    pub witnesses: Vec<WitnessState>,
    /// What it heard from others, so that their order holds across the handoff. What it sent needs
    /// no memory: the next epoch counts from 1.
    pub signals: SignalWindow<Signal>,
    /// What the sender's own behaviour keeps between ticks, volatile.
    pub scratch: Vec<u8>,
}

/// The part of a witness that moves with its entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessState {
    /// The session that it is for.
    pub session: SessionId,
    /// How far it sees, in millimetres.
    pub radius: i32,
    /// What the client holds, by ascending entity.
    pub seen: Vec<Seen>,
}

/// What a client was told last of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The entity.
    pub entity: EntityId,
    /// The epoch of the ghost state that was sent.
    pub epoch: Epoch,
    /// Its ghost sequence.
    pub seq: Seq,
    /// Properties, by bit, whose newest values were kept back because the entity was too far away
    /// for them.
    pub owed: u32,
}

/// A whole ghost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GhostCreate {
    /// The entity.
    pub entity: EntityId,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The ghost sequence of this state.
    pub seq: Seq,
    /// The owner's index of the ghost on this link.
    pub index: u32,
    /// Its kind.
    pub kind: KindId,
    /// The place, with the position as the owner has it; ghosts compare it quantised.
    pub place: Place,
    /// The ghosted properties, by the kind's index.
    pub props: Vec<(u8, Value)>,
    /// The digest of the ghosted fields.
    pub digest: u64,
    /// Since which epoch the lineage of this state is unbroken: whoever shows a state of an earlier
    /// epoch may show what a restore took back, and must say so to the clients that saw it.
    pub since: Epoch,
}

/// A signal from one entity to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// The receiver.
    pub to: EntityId,
    /// The sender.
    pub source: EntityId,
    /// The sender's epoch; a higher one starts `n` again.
    pub epoch: Epoch,
    /// Grows when the sender, whose table of receivers is bounded, begins to count anew within an
    /// epoch: like a higher epoch, a higher run starts `n` again.
    pub run: u32,
    /// Contiguous per (source, epoch, run, receiver) from 1.
    pub n: u64,
    /// How often it was forwarded.
    pub hops: u8,
    /// In the world's own encoding.
    pub payload: Bytes,
}

impl Signal {
    /// Most times that a signal is forwarded before it is dropped, counted.
    pub const HOPS_MAX: u8 = 4;
}
