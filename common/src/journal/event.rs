//! What happened to entities, as facts that an audit can check without running anything.

use super::Refused;
use crate::msg::{GrantWhy, HandoffRefusal, HandoffWhy};
use crate::order::{
    EntityId, Epoch, KindId, Lsn, Node, NodeName, Seq, SessionId, SlotId, Term, Tick,
};
use crate::time::{Dropped, EntityTime, LatePolicy};
use crate::world::{CommandOutcome, MessageOutcome};
use serde::{Deserialize, Serialize};

/// One fact. The record around it says which process and which tick; the fields are named after
/// the types that explain them.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    // At a cellapp: ownership.
    /// This life simulates the entity from this tick on.
    Activated { entity: EntityId, epoch: Epoch, seq: Seq, digest: u64, base: Node, why: GrantWhy },
    /// It stopped simulating: the copy is frozen until the handoff ends.
    Frozen { entity: EntityId, epoch: Epoch, seq: Seq, target: Node, why: HandoffWhy },
    /// The handoff was called off; it goes on under the same epoch.
    Unfrozen { entity: EntityId, epoch: Epoch, seq: Seq, reason: HandoffRefusal },
    /// The copy is gone.
    Deactivated { entity: EntityId, epoch: Epoch, seq: Seq, why: EndWhy },
    /// The owner made a step.
    Stepped { entity: EntityId, epoch: Epoch, seq: Seq, prev_digest: u64, digest: u64 },
    /// From this tick on the owner is to hand the entity over: it stands past the margin outside
    /// all own cells, somebody takes it, and nothing holds it here.
    Strayed { entity: EntityId, epoch: Epoch },
    /// That is over without a handoff: it stands inside again, is held, or nobody takes it.
    Returned { entity: EntityId, epoch: Epoch },
    /// The entities of a base stand still: too much is not durable.
    WindowClosed { base: Node, durable: Option<Tick> },
    /// They run again.
    WindowOpened { base: Node },

    // At a cellapp: effects.
    /// A timer fired.
    TimerFired {
        entity: EntityId,
        epoch: Epoch,
        timer: u32,
        occurrence: u64,
        due: EntityTime,
        at: EntityTime,
    },
    /// A periodic timer was late: occurrences `from` up to, not including, `to` were due, and its
    /// declared policy said what happens to them.
    TimerLate { entity: EntityId, epoch: Epoch, timer: u32, policy: LatePolicy, from: u64, to: u64 },
    /// A command was decided by the owner.
    CommandRun {
        entity: EntityId,
        epoch: Epoch,
        session: SessionId,
        n: u64,
        outcome: CommandOutcome,
    },
    /// A message was decided by the receiver's owner.
    MessageRun {
        entity: EntityId,
        epoch: Epoch,
        source: EntityId,
        out_seq: u64,
        outcome: MessageOutcome,
    },
    /// A signal was handled.
    SignalRun { to: EntityId, source: EntityId, epoch: Epoch, n: u64 },
    /// Signals that did not come in time were given up.
    SignalSkipped { to: EntityId, source: EntityId, epoch: Epoch, first: u64, last: u64 },

    // At a cellapp: ghosts and witnesses.
    /// The owner sent a ghost state to its hosts.
    GhostFlushed { entity: EntityId, epoch: Epoch, seq: Seq, digest: u64 },
    /// A host shows this ghost state.
    GhostApplied { entity: EntityId, owner: Node, epoch: Epoch, seq: Seq, digest: u64 },
    /// A host holds the ghost no more.
    GhostEnded { entity: EntityId, epoch: Epoch, why: GhostEnd },
    /// A client begins to see an entity.
    Entered { witness: EntityId, session: SessionId, entity: EntityId },
    /// It sees it no more.
    Left { witness: EntityId, session: SessionId, entity: EntityId },
    /// The client forgets what it saw: its view begins anew with nobody in it.
    ViewRestarted { witness: EntityId, session: SessionId },

    // At a baseapp.
    /// This life goes on from the log of the one before it: the records up to this one were read
    /// back and are durable; later ones of earlier lives never happened. The first event of a life
    /// that found a log.
    Recovered { lsn: Lsn },
    /// An entity was born.
    Created {
        entity: EntityId,
        kind: KindId,
        value: i64,
        source: Option<(EntityId, u64)>,
        lsn: Lsn,
    },
    /// A step became part of the lineage.
    Accepted {
        entity: EntityId,
        epoch: Epoch,
        seq: Seq,
        owner: Node,
        src_tick: Tick,
        prev_digest: u64,
        digest: u64,
        flow: Option<ValueFlow>,
        lsn: Lsn,
    },
    /// The record that changes ownership was written.
    OwnerChanged {
        entity: EntityId,
        epoch: Epoch,
        seq: Seq,
        from: Option<Node>,
        to: Node,
        why: OwnerWhy,
        last_tick: Option<Tick>,
        lsn: Lsn,
    },
    /// The first step of an epoch was accepted: the handoff is complete.
    FirstStep { entity: EntityId, epoch: Epoch, owner: Node, first_tick: Tick },
    /// A handoff was refused; the owner goes on.
    HandoffRefused {
        entity: EntityId,
        epoch: Epoch,
        target: Node,
        order: Option<u64>,
        reason: HandoffRefusal,
    },
    /// Somebody acted under an ended epoch.
    FencedSent { entity: EntityId, epoch: Epoch, current: Epoch, to: Node },
    /// A client's command was queued.
    CommandQueued { entity: EntityId, session: SessionId, n: u64 },
    /// A command's outcome was released to its client.
    CommandConfirmed {
        entity: EntityId,
        session: SessionId,
        n: u64,
        outcome: CommandOutcome,
        epoch: Epoch,
        seq: Seq,
    },
    /// The base answered a command that no owner ever saw.
    CommandAnswered { entity: EntityId, session: SessionId, n: u64, outcome: CommandOutcome },
    /// A message left its source's base.
    MessageReleased { source: EntityId, out_seq: u64, to: Option<EntityId>, value: i64, seq: Seq },
    /// A message's outcome is durable at its receiver.
    MessageTaken { entity: EntityId, source: EntityId, out_seq: u64, outcome: MessageOutcome },
    /// A message's answer is durable at its source.
    MessageClosed { source: EntityId, out_seq: u64 },
    /// Value of a message came back after its sender had ended: it left the world.
    Burned { source: EntityId, out_seq: u64, value: i64, lsn: Lsn },
    /// An entity ended.
    Destroyed { entity: EntityId, epoch: Epoch, value: i64, lsn: Lsn },
    /// A client took an entity.
    SessionOpened { entity: EntityId, session: SessionId },
    /// A session ended.
    SessionClosed { entity: EntityId, session: SessionId },
    /// An operator's order ended.
    OrderEnded { order: u64, entity: EntityId, refused: Option<HandoffRefusal> },
    /// The log reported.
    Durable { lsn: Lsn },

    // At a client.
    /// It sent a command.
    ClientSent { session: SessionId, entity: EntityId, n: u64 },
    /// It got an answer.
    ClientAnswered { session: SessionId, entity: EntityId, n: u64, outcome: CommandOutcome },
    /// It saw a state of an entity.
    ClientSaw {
        session: SessionId,
        entity: EntityId,
        epoch: Epoch,
        tick: Tick,
        fresh: bool,
        confirmed: Option<Seq>,
    },
    /// The session was resumed or opened.
    ClientWelcome { session: SessionId, entity: EntityId, resumed: bool },

    // Anywhere.
    /// Ticks that were not run.
    TicksDropped(Dropped),
    /// Something was refused or dropped.
    Refusal { reason: Refused, from: Option<Node>, entity: Option<EntityId>, count: u32 },

    // At a baseapp: slots.
    /// This base keeps the slot from here on, under this term.
    SlotTaken { slot: SlotId, term: Term, lsn: Lsn },
    /// It accepts nothing more for the slot: what it has is on its way to another base, until a
    /// higher term says whose the slot is.
    SlotFrozen { slot: SlotId, term: Term, to: NodeName, lsn: Lsn },
    /// The slot is another base's under this term; nothing of it is here any more.
    SlotGiven { slot: SlotId, term: Term, lsn: Lsn },
    /// This life goes on with a slot that an earlier one kept under this term, and froze for
    /// `frozen_for`, if it did.
    SlotKept { slot: SlotId, term: Term, frozen_for: Option<NodeName> },

    // At a cellapp: slots.
    /// From here on the entities of the slot answer to this base life; to none, they stand still.
    SlotFollowed { slot: SlotId, base: Option<Node> },

    // At a cellapp or a baseapp: links. An older build does not read what holds these.
    /// A connection that carries what is ordered began; this side dialed it, or the peer did.
    LinkBegan { peer: Node, dialed: bool },
    /// It ended, or its end was noticed. What it did not carry, the next one does.
    LinkEnded { peer: Node, dialed: bool },

    // At a baseapp: windows.
    /// The cellapp has said everything that it holds since the link from it last lost something,
    /// or since this life began: its ticks count as durable again.
    Listed { cell: Node },

    // At a baseapp: slots out of logs. An older build does not read what holds these.
    /// What this base has of a slot that it keeps under this term, from here on or for a while, was
    /// read out of the log of a lost base, up to this record: later ones count for nothing.
    SlotAdopted { slot: SlotId, term: Term, from: Node, through: Lsn },

    // On the way to an owner. Older builds do not read what holds these.
    /// A base sent a command to the entity's owner: once for each grant.
    CommandSent { entity: EntityId, epoch: Epoch, session: SessionId, n: u64, to: Node },
    /// A command came to an owner and waits there.
    CommandHeld { entity: EntityId, epoch: Epoch, session: SessionId, n: u64, why: HeldWhy },
    /// A command is dropped unrun by who owns the entity no more; its base has it still, and sends
    /// it to whoever owns the entity next.
    CommandDropped { entity: EntityId, session: SessionId, n: u64, base: Option<Node> },
    /// A base sent a message to the owner of its receiver: once for each grant.
    MessageSent { entity: EntityId, epoch: Epoch, source: EntityId, out_seq: u64, to: Node },
    /// A message came to an owner and waits there.
    MessageHeld { entity: EntityId, epoch: Epoch, source: EntityId, out_seq: u64, why: HeldWhy },
    /// A message is dropped unrun, as a command is.
    MessageDropped { entity: EntityId, source: EntityId, out_seq: u64, base: Option<Node> },
    /// An entity sent a signal; to another process, or if there is none, within this one.
    SignalSent { source: EntityId, epoch: Epoch, to: EntityId, n: u64, peer: Option<Node> },
    /// A signal came to a process where its receiver is not real, and was sent on.
    SignalForwarded { to: EntityId, source: EntityId, epoch: Epoch, n: u64, hops: u8, peer: Node },
    /// A signal came before one that its sender had sent earlier, and waits for it.
    SignalHeld { to: EntityId, source: EntityId, epoch: Epoch, n: u64 },
}

/// Why something waits at an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HeldWhy {
    /// The entity is frozen for a handoff.
    Handoff,
    /// No base serves its slot: it is on its way.
    SlotMoves,
    /// The window is closed: too much is not durable.
    Window,
    /// The process's journal is too far behind.
    Journal,
    /// It must not run before something else of its sender.
    Earlier,
}

/// Why a real ended at a cellapp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EndWhy {
    /// The new owner reported.
    Released,
    /// The base said that another epoch holds.
    Fenced,
    /// A grant of a higher epoch replaced it here.
    Replaced,
    /// The entity ended.
    Destroyed,
}

/// Why a ghost ended at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GhostEnd {
    /// The owner said so: out of reach.
    Removed,
    /// The entity ended.
    Destroyed,
    /// The entity became a real here.
    BecameReal,
    /// Nobody spoke for it for too long.
    Abandoned,
}

/// Why ownership changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OwnerWhy {
    /// A birth.
    Birth,
    /// A handoff that its owner asked for.
    Handoff(HandoffWhy),
    /// The granted owner never reported.
    GrantDeadline,
    /// The owner was declared dead.
    Verdict,
}

/// What one accepted step did to the conserved number of its entity. It balances when
/// `after == before - sent + received + returned + minted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ValueFlow {
    /// Held before.
    pub before: i64,
    /// Held after.
    pub after: i64,
    /// In messages sent by this step.
    pub sent: i64,
    /// From messages taken by this step.
    pub received: i64,
    /// From own messages that were refused or undeliverable, closed by this step.
    pub returned: i64,
    /// Came into the world by its own rule.
    pub minted: i64,
}
