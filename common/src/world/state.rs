//! The state of one entity: what its real works on, what travels in a handoff, and what its base
//! keeps as the image.
//!
//! Real and base change it by the same [`EntityState::apply`] of the same [`Change`]s, so that the
//! digest after a step is equal on both sides or the step is refused.

use super::{Heading, KindDef, Lasting, Pos, PropDef, Value};
use crate::digest::digest_of;
use crate::order::{CommandDedup, EntityId, InboxMarks, KindId, Node, SessionId, SpaceId, Tick};
use crate::rng::Rng;
use crate::time::{EntityTime, Timers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where an entity is. Volatile: the image may be a few ticks older than the real.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The space.
    pub space: SpaceId,
    /// The position in it.
    pub pos: Pos,
    /// Where it looks.
    pub heading: Heading,
}

/// An operator's wish that an entity stays with one owner for a while: border rules do not move
/// it before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Where it stays.
    pub node: Node,
    /// The first tick at which it may move again.
    pub until: Tick,
}

/// How a client's command ended. Exactly one of these reaches the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CommandOutcome {
    /// The method ran; its answer.
    Applied(Vec<u8>),
    /// It had no effect; why.
    Rejected(Rejection),
    /// Its deadline tick passed before its owner could run it.
    Expired,
}

/// Why a command or a message had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rejection {
    /// No such method, or not one that the caller may use.
    NotExposed,
    /// The arguments do not decode.
    BadArguments,
    /// A bounded queue or table is full: try again later.
    Busy,
    /// The write would pass the size limit.
    TooLarge {
        /// The limit in bytes.
        limit: u32,
        /// What the write would have made.
        size: u32,
    },
    /// The session may not command this entity.
    NotYours,
    /// The entity does not exist any more, or never did.
    NoSuchEntity,
    /// Older than the receiver's kind accepts.
    TooOld,
    /// The world's own rule, as a short text for people.
    Rule(String),
}

/// How a message between entities ended. Exactly one of these reaches the sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MessageOutcome {
    /// The receiver took it; its answer.
    Applied(Vec<u8>),
    /// A new entity was born; its id.
    Spawned(EntityId),
    /// The receiver refused it; the value goes back.
    Rejected(Rejection),
    /// The receiver does not exist; the value goes back.
    Undeliverable,
}

impl MessageOutcome {
    /// Whether the value that the message carried stays with the receiver.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        matches!(self, Self::Applied(_) | Self::Spawned(_))
    }
}

/// Whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Address {
    /// An entity.
    Entity(EntityId),
    /// The sender's base, which creates an entity.
    Spawn {
        /// What to create.
        kind: KindId,
        /// Where.
        place: Place,
    },
}

/// A message from one entity to another, from the moment it is decided until its answer is
/// durable at the sender. Its identity is (source, `out_seq`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutMessage {
    /// Grows by one with every message of the source.
    pub out_seq: u64,
    /// Whom it is for.
    pub to: Address,
    /// What it says, in the world's own encoding.
    pub payload: Vec<u8>,
    /// How much of the conserved number it carries, already debited at the source; not negative.
    pub value: i64,
    /// The tick in which it was decided.
    pub sent: Tick,
}

/// The open messages of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    /// The number of the newest message.
    pub last: u64,
    /// Messages without a durable answer.
    pub open: BTreeMap<u64, OutMessage>,
}

/// Numbers that count upwards stay below this in any run of this product.
pub const NUMBER_MAX: u64 = 1 << 62;

impl Outbox {
    /// Most open messages of one entity; the sender is told `busy` beyond.
    pub const OPEN_MAX: usize = 64;

    fn is_sound(&self) -> bool {
        let in_range = |(n, message): (&u64, &OutMessage)| {
            (1..=self.last).contains(n) && message.out_seq == *n && message.value >= 0
        };
        self.last < NUMBER_MAX
            && self.open.len() <= Self::OPEN_MAX
            && self.open.iter().all(in_range)
    }
}

/// The whole state of an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityState {
    /// Its kind.
    pub kind: KindId,
    /// Where it is (volatile).
    pub place: Place,
    /// Its property values, by the kind's index.
    pub props: Vec<Value>,
    /// How long it was simulated (volatile).
    pub time: EntityTime,
    /// Its own generator (volatile).
    pub rng: Rng,
    /// Its timers, due in entity time.
    pub timers: Timers,
    /// Its sessions and the answers that their clients did not acknowledge yet.
    pub commands: CommandDedup<CommandOutcome>,
    /// What it took from other entities.
    pub inbox: InboxMarks<MessageOutcome>,
    /// What it sent to other entities.
    pub outbox: Outbox,
    /// Whether an operator holds it where it is.
    pub pin: Option<Pin>,
    /// Set by the last step of its life.
    pub destroyed: bool,
}

/// One change of an entity's state, as it travels in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// The volatile part: place and generator.
    Moved(Place, Rng),
    /// One property.
    Prop(u8, Value),
    /// The timer table, whole.
    Timers(Timers),
    /// A client's session took the entity; an older one over the limit is replaced.
    Attach(SessionId),
    /// A session ended.
    Detach(SessionId),
    /// A command got its outcome.
    Command(SessionId, u64, CommandOutcome),
    /// A client acknowledged all answers up to this number.
    Acknowledged(SessionId, u64),
    /// A message of another entity got its outcome.
    Received(EntityId, u64, MessageOutcome),
    /// A source will not ask again for answers up to this number; `true`: nothing of it is open.
    Settled(EntityId, u64, bool),
    /// A message was sent.
    Sent(OutMessage),
    /// The answer to a message was taken in; the message is closed.
    Answered(u64),
    /// The operator's hold changed.
    Pinned(Option<Pin>),
    /// Conserved value came into the world (or, if negative, left it) by the world's own rule.
    /// Changes no field; the property change stands beside it.
    Minted(i64),
    /// The entity ends here.
    Destroyed,
}

/// Why a change does not fit the state. Only a faulty peer sends one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BadChange {
    /// The kind has no property with this index.
    #[error("the kind has no property {0}")]
    NoSuchProp(u8),
    /// The value has another type than the declaration.
    #[error("property {0} has another type")]
    WrongType(u8),
    /// The message number is not the next one, or the outbox is full.
    #[error("message {0} does not follow message {1}")]
    BadOutbox(u64, u64),
    /// A command or message that the tables do not take.
    #[error("the tables do not take number {0}")]
    BadRecord(u64),
}

impl EntityState {
    /// Most bytes of an encoded state; a write that passes it is refused.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// The state of a new entity.
    #[must_use]
    pub fn new(kind: &KindDef, place: Place, seed: u64) -> Self {
        Self {
            kind: kind.id,
            place,
            props: kind.defaults(),
            time: EntityTime::default(),
            rng: Rng(seed),
            timers: Timers::default(),
            commands: CommandDedup::default(),
            inbox: InboxMarks::default(),
            outbox: Outbox::default(),
            pin: None,
            destroyed: false,
        }
    }

    /// Applies one change. On an error the state is as before.
    ///
    /// # Errors
    /// [`BadChange`] when the change does not fit this state.
    pub fn apply(&mut self, change: &Change) -> Result<(), BadChange> {
        match change {
            Change::Moved(place, rng) => (self.place, self.rng) = (*place, *rng),
            Change::Prop(index, value) => self.set_prop(*index, value)?,
            Change::Timers(timers) => self.timers = timers.clone(),
            Change::Attach(session) => {
                self.commands.attach(*session);
            }
            Change::Detach(session) => {
                self.commands.detach(*session);
            }
            Change::Command(session, n, outcome) => self
                .commands
                .record(*session, *n, outcome.clone())
                .map_err(|_| BadChange::BadRecord(*n))?,
            Change::Acknowledged(session, upto) => {
                self.commands.acknowledge(*session, *upto);
            }
            Change::Received(source, out_seq, outcome) => self
                .inbox
                .record(*source, *out_seq, outcome.clone())
                .map_err(|_| BadChange::BadRecord(*out_seq))?,
            Change::Settled(source, through, forget) => {
                self.inbox.settle(*source, *through, *forget);
            }
            Change::Sent(message) => self.open(message)?,
            Change::Answered(out_seq) => {
                let last = self.outbox.last;
                self.outbox.open.remove(out_seq).ok_or(BadChange::BadOutbox(*out_seq, last))?;
            }
            Change::Pinned(pin) => self.pin = *pin,
            Change::Minted(_) => {}
            Change::Destroyed => self.destroyed = true,
        }
        Ok(())
    }

    /// Whether a state that came from elsewhere keeps the promises of its kind and of this product,
    /// so that nothing has to check them again. What no cellapp would take, no base takes either.
    #[must_use]
    pub fn is_sound(&self, kind: &KindDef) -> bool {
        self.fits(kind)
            && self.outbox.is_sound()
            && self.time.0 < NUMBER_MAX
            && self.place.pos.is_in_range()
            && self.encoded_len() <= 2 * Self::BYTES_MAX
    }

    fn fits(&self, kind: &KindDef) -> bool {
        let same = |(def, value): (&PropDef, &Value)| {
            std::mem::discriminant(&def.default) == std::mem::discriminant(value)
        };
        self.kind == kind.id
            && self.props.len() == kind.props.len()
            && kind.props.iter().zip(&self.props).all(same)
    }

    fn set_prop(&mut self, index: u8, value: &Value) -> Result<(), BadChange> {
        let slot = self.props.get_mut(usize::from(index)).ok_or(BadChange::NoSuchProp(index))?;
        if std::mem::discriminant(slot) != std::mem::discriminant(value) {
            return Err(BadChange::WrongType(index));
        }
        slot.clone_from(value);
        Ok(())
    }

    fn open(&mut self, message: &OutMessage) -> Result<(), BadChange> {
        let follows = message.out_seq == self.outbox.last + 1;
        if !follows || self.outbox.open.len() >= Outbox::OPEN_MAX {
            return Err(BadChange::BadOutbox(message.out_seq, self.outbox.last));
        }
        self.outbox.last = message.out_seq;
        self.outbox.open.insert(message.out_seq, message.clone());
        Ok(())
    }

    /// The digest over everything durable: equal at the real and in the base's image after the
    /// same step. Place, entity time and generator are volatile and do not take part.
    #[must_use]
    pub fn durable_digest(&self, kind: &KindDef) -> u64 {
        let props: Vec<&Value> = kind
            .props
            .iter()
            .zip(&self.props)
            .filter(|(def, _)| def.lasting == Lasting::Durable)
            .map(|(_, value)| value)
            .collect();
        digest_of(&(
            self.kind,
            props,
            &self.timers,
            &self.commands,
            &self.inbox,
            &self.outbox,
            self.pin,
            self.destroyed,
        ))
    }

    /// What the entity holds of the conserved number, without what is in its outbox.
    #[must_use]
    pub fn held_value(&self, kind: &KindDef) -> i64 {
        kind.props
            .iter()
            .zip(&self.props)
            .filter(|(def, _)| def.conserved)
            .map(|(_, value)| value.int())
            .sum()
    }

    /// The length of the encoded state in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        postcard::experimental::serialized_size(self).unwrap_or(usize::MAX)
    }
}
