//! What goes into the core of a baseapp and what comes out: nothing else reaches it.

use bytes::Bytes;
use marchland_common::cluster::MapChange;
pub use marchland_common::cluster::{MoveStage, SlotMove};
use marchland_common::dawdle::Dawdle;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{Frame, HandoffRefusal, Moment, Outgoing, SlotChunk};
use marchland_common::order::{
    EntityId, Epoch, KindId, Lsn, Node, NodeName, Seq, SessionId, SlotId, Term, Tick,
};
use marchland_common::time::Dropped;
use marchland_common::world::{CommandOutcome, Place, Value};
use serde::{Deserialize, Serialize};

/// The settings of a baseapp's core. Part of every snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseConfig {
    /// Who this is.
    pub node: Node,
    /// The seed of everything random here.
    pub seed: u64,
    /// The length of a tick in microseconds.
    pub step_us: u64,
    /// Within how many ticks a target must have been heard for a handoff to commit.
    pub heard_within: u64,
    /// After how many ticks without the first step of a granted epoch the entity is granted anew.
    pub grant_deadline: u64,
    /// Every how many ticks a grant is sent again.
    pub grant_again: u64,
    /// Most commands and inbox messages that wait at one entity.
    pub queue_max: usize,
    /// Ids are reserved in the log in steps of this many.
    pub id_reserve: u64,
    /// Ids of a slot that this base has no record of begin above this counter: see
    /// [`ids_from`](crate::ids_from).
    pub ids_from: u64,
    /// Ticks until a command expires when its client names no deadline.
    pub command_deadline: u64,
    /// A deliberate fault, for the tests of the audit.
    pub seeded_bug: Option<BaseBug>,
    /// Where it may be slow it now and then is, for simulations; no process sets it.
    pub dawdle: Option<Dawdle>,
}

/// Deliberate faults: each must make the audit fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaseBug {
    /// Steps of any epoch are accepted.
    NoEpochCheck,
    /// Results leave before they are durable.
    ReleaseEarly,
    /// A restore keeps the epoch.
    KeepEpoch,
    /// Messages leave before they are durable.
    SendBeforeDurable,
    /// An answer leaves before it is durable at the receiver.
    AnswerEarly,
    /// An id is handed out twice.
    ReuseId,
    /// Ticks of a cellapp count as durable although bundles before them are missing.
    CountUnlisted,
    /// A slot is served as soon as all of it is there, before its key is this base's own.
    ServesEarly,
    /// A slot that was given away is served on.
    KeepsGiven,
}

impl BaseConfig {
    /// The settings of the demo world.
    #[must_use]
    pub const fn new(node: Node, seed: u64, step_us: u64) -> Self {
        Self {
            node,
            seed,
            step_us,
            heard_within: 4,
            grant_deadline: 20,
            grant_again: 4,
            queue_max: 256,
            id_reserve: 1_000,
            ids_from: 0,
            command_deadline: 100,
            seeded_bug: None,
            dawdle: None,
        }
    }
}

/// The whole input of one output moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseInput {
    /// The tick.
    pub tick: Tick,
    /// A Flush runs the tick; a Release only takes in `durable` and sends what that frees.
    pub moment: Moment,
    /// Ticks that were left out before it.
    pub dropped: Option<Dropped>,
    /// The newest record that the log made durable, if it reported.
    pub durable: Option<Lsn>,
    /// What the coordination store says now.
    pub map: Vec<MapChange>,
    /// Bundles, ordered by sender, then by number.
    pub frames: Vec<Frame>,
    /// What clients did, in the order of their arrival.
    pub clients: Vec<ClientEvent>,
    /// Orders of the operator or the process.
    pub orders: Vec<BaseOrder>,
}

/// What a client did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientEvent {
    /// It logs in: its entity is found by account, or born.
    Login {
        /// Names the request; the answer carries it.
        request: u64,
        /// The account.
        account: String,
        /// The kind to be born.
        kind: KindId,
        /// Where it is born.
        place: Place,
        /// How far it wants to see, in millimetres.
        radius: i32,
    },
    /// It comes back.
    Resume {
        /// Names the request.
        request: u64,
        /// The session.
        session: SessionId,
        /// What only the client and the base know.
        secret: u64,
        /// The newest answer that it has.
        acknowledged: u64,
        /// How far it wants to see, in millimetres.
        radius: i32,
    },
    /// Its stream ended. The session stays for a while.
    Gone {
        /// The session.
        session: SessionId,
    },
    /// It leaves for good.
    Logout {
        /// The session.
        session: SessionId,
    },
    /// A command.
    Command {
        /// The session.
        session: SessionId,
        /// The client's number of it.
        n: u64,
        /// The entity that it names; must be the session's own.
        entity: EntityId,
        /// Which method.
        method: u8,
        /// Its arguments.
        args: Bytes,
        /// In how many ticks it expires; 0 is the default.
        ttl: u32,
        /// The newest answer that it has.
        acknowledged: u64,
    },
    /// An input: the newest wins, no answer.
    Input {
        /// The session.
        session: SessionId,
        /// In the world's own encoding.
        payload: Bytes,
    },
    /// It has all answers up to this number.
    Acknowledge {
        /// The session.
        session: SessionId,
        /// The number.
        n: u64,
    },
}

/// An order of the operator or a decision of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaseOrder {
    /// Create entities that have no client.
    Create {
        /// Names the order; the answer carries it.
        request: u64,
        /// The kind.
        kind: KindId,
        /// Where.
        place: Place,
        /// What the behaviour is told at birth.
        argument: Vec<u8>,
        /// Properties that differ from the kind's defaults.
        props: Vec<(u8, Value)>,
    },
    /// Hand an entity over.
    Handoff {
        /// The order's number.
        order: u64,
        /// The entity.
        entity: EntityId,
        /// To whom.
        to: Node,
        /// For how many ticks it stays there.
        hold: u32,
        /// After how many ticks the order is given up.
        within: u32,
    },
    /// End an entity.
    Destroy {
        /// The entity.
        entity: EntityId,
    },
    /// The journal is too far behind: nothing is accepted until `Thaw`.
    Freeze,
    /// The journal caught up.
    Thaw,
    /// Give slots to another base. Repeating it changes nothing; it has no answer but
    /// [`BaseStats::moves`].
    GiveSlots {
        /// The slots, each under the term that the order rests on.
        slots: Vec<(SlotId, Term)>,
        /// To whom.
        to: NodeName,
    },
    /// A piece of a slot out of the log of a lost base, which whoever gives the order holds the lock
    /// of. Repeating it changes nothing; it has no answer but [`BaseStats::adopted`].
    Adopt {
        /// The life that wrote the log last.
        from: Node,
        /// The last record in it.
        through: Lsn,
        /// The piece.
        chunk: SlotChunk,
    },
    /// Nothing comes of taking these slots over, and nobody was told that they are held.
    DropAdopted {
        /// The slots.
        slots: Vec<SlotId>,
    },
}

/// A slot whose pieces come out of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedSlot {
    /// The slot.
    pub slot: SlotId,
    /// The term of its key.
    pub term: Term,
    /// Whose log it is.
    pub from: Node,
    /// The digest of the whole.
    pub digest: u64,
    /// How far it is.
    pub stage: AdoptStage,
}

/// How far a slot is that comes out of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdoptStage {
    /// This is the first piece that is missing.
    Coming(u32),
    /// Everything is here, durably.
    Held,
    /// It is not taken in: the slot is here already, or its key is another one.
    Refused(Refused),
}

/// Everything that one output moment produced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BaseOutput {
    /// Bundles: one per live peer at Flush; at Release only those with something to say.
    pub bundles: Vec<Outgoing>,
    /// Records for the write-ahead log, in order; the first has the number after the last one.
    pub log: Vec<Vec<u8>>,
    /// What clients are told, in order per session.
    pub clients: Vec<ToClient>,
    /// Answers to orders.
    pub answers: Vec<OrderAnswer>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Counts of this moment.
    pub stats: BaseStats,
}

/// What one client is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToClient {
    /// The session; none for a refused login or resume.
    pub session: SessionId,
    /// What.
    pub what: ClientFrame,
}

/// One frame of a client's stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ClientFrame {
    /// Always the first of a stream.
    Welcome {
        /// Names the request.
        request: u64,
        /// The entity that the client plays.
        entity: EntityId,
        /// Needed to come back.
        secret: u64,
        /// Whether the session went on.
        resumed: bool,
        /// The newest command that the base took in.
        last_n: u64,
    },
    /// The login or resume is refused; the stream ends.
    Refused {
        /// Names the request.
        request: u64,
        /// Why, for people.
        reason: String,
    },
    /// The one answer to a command.
    Answer {
        /// The client's number.
        n: u64,
        /// How it ended.
        outcome: CommandOutcome,
        /// The epoch and step that hold the outcome; none where no owner saw it.
        confirmed: Option<(Epoch, Seq)>,
    },
    /// A piece of the view.
    View {
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner's tick.
        tick: Tick,
        /// Forget what was seen before.
        fresh: bool,
        /// Records in the view encoding.
        body: Bytes,
    },
    /// The own entity went back to what was durable: forget everything of lower epochs.
    Reset {
        /// The epoch that begins.
        epoch: Epoch,
        /// The step that it goes on from.
        seq: Seq,
    },
    /// Durable own fields after a step was confirmed.
    Own {
        /// The epoch.
        epoch: Epoch,
        /// The step.
        seq: Seq,
        /// Properties with a client scope, by index.
        props: Vec<(u8, Value)>,
    },
    /// Something cosmetic from the own entity.
    Notice(Bytes),
    /// The stream ends here: another login took the entity, or the entity ended.
    Ended {
        /// Why, for people: `replaced`, `destroyed`, `logout`.
        reason: String,
    },
    /// The stream ends here; the session goes on at the slot's next keeper.
    Moved,
    /// The login or resume may be tried again a little later; the stream ends.
    NotYet {
        /// Names the request.
        request: u64,
        /// Why, for people.
        reason: String,
    },
}

/// The answer to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderAnswer {
    /// An entity was created; durable.
    Created {
        /// Names the order.
        request: u64,
        /// Its id.
        entity: EntityId,
    },
    /// An entity could not be created.
    NotCreated {
        /// Names the order.
        request: u64,
        /// Why, for people.
        reason: String,
    },
    /// A handoff committed and the new owner reported, or it did not.
    Handoff {
        /// The order's number.
        order: u64,
        /// The entity.
        entity: EntityId,
        /// Why not; none when it committed.
        refused: Option<HandoffRefusal>,
        /// Who owned it before.
        from: Option<Node>,
        /// Who owns it now.
        owner: Option<Node>,
        /// The epoch now.
        epoch: Epoch,
        /// The last tick at the old owner.
        tick_last: Option<Tick>,
        /// The first tick at the new one.
        tick_first: Option<Tick>,
    },
}

/// Counts of one moment and gauges after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BaseStats {
    /// Entities with a record here.
    pub entities: usize,
    /// Open sessions.
    pub sessions: usize,
    /// Handoffs that wait for their first step.
    pub in_handoff: usize,
    /// Commands that wait.
    pub commands: usize,
    /// Messages that wait for their receiver's step.
    pub inbox: usize,
    /// Messages that wait for their answer.
    pub outbox: usize,
    /// Slots on their way to other bases.
    pub moves: Vec<SlotMove>,
    /// Slots that come out of logs, until their keys change.
    pub adopted: Vec<AdoptedSlot>,
    /// The newest log number written and the newest durable one.
    pub lsn: (Lsn, Lsn),
}

/// What an operator may look at without disturbing anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityBrief {
    /// The entity.
    pub entity: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// Its newest known place.
    pub place: Place,
    /// Its owner.
    pub owner: Node,
    /// Its epoch.
    pub epoch: Epoch,
    /// Its newest step.
    pub seq: Seq,
    /// Until which tick it is pinned.
    pub pinned: Option<Tick>,
    /// Its durable properties, by index.
    pub durable: Vec<(u8, Value)>,
}
