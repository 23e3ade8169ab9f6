//! Changing one's own real: every write is applied and recorded in one place, so that the step to
//! the base says exactly what happened.

use marchland_common::order::{EntityId, KindId, SpaceId, Tick};
use marchland_common::rng::Rng;
use marchland_common::time::{EntityTime, TimerError, TimerSpec};
use marchland_common::world::{
    Address, Change, EntityState, Heading, KindDef, Lasting, OutMessage, Outbox, Place, Pos,
    Rejection, Value,
};
use serde::{Deserialize, Serialize};

/// What a behaviour asked for that is not a change of its own state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// A signal to another entity.
    Signal {
        /// The receiver.
        to: EntityId,
        /// In the world's own encoding.
        payload: Vec<u8>,
    },
    /// A cosmetic text or event for the own client.
    Notice(Vec<u8>),
    /// A jump to another place, within the space or not.
    Teleport(Place),
    /// Asynchronous work; its completion comes as an input of a later tick.
    Work {
        /// Names the completion.
        token: u64,
        /// For the worker.
        payload: Vec<u8>,
    },
}

/// Most of the conserved number that one entity may hold.
pub const VALUE_MAX: i64 = 1 << 62;

/// What changed in a real since its last step. Emptied in the SyncBuild phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Changes that are not properties, timers or places, in order.
    pub changes: Vec<Change>,
    /// Properties that changed, by index; bit i is property i.
    pub dirty_props: u32,
    /// Whether the place changed.
    pub moved: bool,
    /// Whether the timer table changed.
    pub timers: bool,
    /// Effects outside the state, in order.
    pub effects: Vec<Effect>,
    /// Whether the behaviour asked to be called every tick, or not to be.
    pub awake: Option<bool>,
}

impl Pending {
    /// Whether something durable changed, so that a step is due in this tick.
    #[must_use]
    pub fn is_durable(&self, kind: &KindDef) -> bool {
        let durable = kind
            .props
            .iter()
            .enumerate()
            .any(|(i, p)| self.dirty_props & (1 << i) != 0 && p.lasting == Lasting::Durable);
        durable || self.timers || !self.changes.is_empty()
    }
}

/// A real in the hands of its behaviour.
pub struct RealCtx<'a> {
    pub(crate) id: EntityId,
    pub(crate) tick: Tick,
    pub(crate) kind: &'a KindDef,
    pub(crate) state: &'a mut EntityState,
    pub(crate) pending: &'a mut Pending,
}

impl<'a> RealCtx<'a> {
    /// A real for one call. The owner's storage lends it out and takes the pending changes back.
    #[must_use]
    pub const fn new(
        id: EntityId,
        tick: Tick,
        kind: &'a KindDef,
        state: &'a mut EntityState,
        pending: &'a mut Pending,
    ) -> Self {
        Self { id, tick, kind, state, pending }
    }

    /// Who this is.
    #[must_use]
    pub const fn id(&self) -> EntityId {
        self.id
    }

    /// The tick that runs.
    #[must_use]
    pub const fn tick(&self) -> Tick {
        self.tick
    }

    /// How long this entity was simulated.
    #[must_use]
    pub const fn time(&self) -> EntityTime {
        self.state.time
    }

    /// Where it is.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.state.place
    }

    /// Its own generator. Draws are part of its volatile state.
    pub fn rng(&mut self) -> &mut Rng {
        self.pending.moved = true;
        &mut self.state.rng
    }

    /// A property's value.
    #[must_use]
    pub fn prop(&self, index: u8) -> &Value {
        &self.state.props[usize::from(index)]
    }

    /// A property's number.
    #[must_use]
    pub fn int(&self, index: u8) -> i64 {
        self.prop(index).int()
    }

    /// Writes a property that is not conserved.
    ///
    /// # Errors
    /// `TooLarge` when the state would pass its limit; nothing is written then. A conserved
    /// property or another type is a fault of the world's own code and is refused as `Rule`.
    pub fn set(&mut self, index: u8, value: impl Into<Value>) -> Result<(), Rejection> {
        let value = value.into();
        let def = self.kind.props.get(usize::from(index));
        if def.is_none_or(|d| d.conserved) {
            return Err(Rejection::Rule(format!("property {index} cannot be written")));
        }
        self.write(index, value)
    }

    pub(crate) fn write(&mut self, index: u8, value: Value) -> Result<(), Rejection> {
        let old = &self.state.props[usize::from(index)];
        if *old == value {
            return Ok(());
        }
        let (before, after) = (old.bytes().len(), value.bytes().len());
        if after > before {
            let size = self.state.encoded_len() + after - before;
            check_size(size)?;
        }
        self.state
            .apply(&Change::Prop(index, value))
            .map_err(|bad| Rejection::Rule(bad.to_string()))?;
        self.pending.dirty_props |= 1 << index;
        Ok(())
    }

    /// Walks or turns. A position outside the space is the nearest one inside at the next layout
    /// check; crossing a border is allowed and leads to a handoff.
    pub fn move_to(&mut self, pos: Pos, heading: Heading) {
        let place = Place { space: self.state.place.space, pos: pos.inside_range(), heading };
        if place != self.state.place {
            self.state.place = place;
            self.pending.moved = true;
        }
    }

    /// Jumps at the end of the tick, also into another space.
    pub fn teleport(&mut self, space: SpaceId, pos: Pos) {
        let place = Place { space, pos: pos.inside_range(), heading: self.state.place.heading };
        self.pending.effects.push(Effect::Teleport(place));
    }

    /// Sends a message: applied exactly once or answered. `value` is debited here at once and
    /// comes back if the receiver does not keep it. Returns the message's number.
    ///
    /// # Errors
    /// `Busy` with 64 open messages; `Rule` when `value` is negative or more than is held;
    /// `TooLarge` when the state would pass its limit. Nothing is changed then.
    pub fn send(&mut self, to: EntityId, payload: Vec<u8>, value: i64) -> Result<u64, Rejection> {
        self.post(Address::Entity(to), payload, value)
    }

    /// Creates an entity, exactly once. The answer carries its id; `value` is what it is born
    /// with. Returns the message's number.
    ///
    /// # Errors
    /// As for [`RealCtx::send`].
    pub fn spawn(
        &mut self,
        kind: KindId,
        place: Place,
        argument: Vec<u8>,
        value: i64,
    ) -> Result<u64, Rejection> {
        self.post(Address::Spawn { kind, place }, argument, value)
    }

    fn post(&mut self, to: Address, payload: Vec<u8>, value: i64) -> Result<u64, Rejection> {
        if self.state.outbox.open.len() >= Outbox::OPEN_MAX {
            return Err(Rejection::Busy);
        }
        if value < 0 || value > self.state.held_value(self.kind) {
            return Err(Rejection::Rule(format!("cannot send {value} of what is not held")));
        }
        check_size(self.state.encoded_len() + payload.len() + 32)?;
        let out_seq = self.state.outbox.last + 1;
        self.add_value(-value);
        let message = OutMessage { out_seq, to, payload, value, sent: self.tick };
        self.record(Change::Sent(message));
        Ok(out_seq)
    }

    /// Brings conserved value into the world, or takes it out; the audit counts it.
    ///
    /// # Errors
    /// `Rule` when more would leave than is held, or the kind has no conserved property.
    pub fn mint(&mut self, amount: i64) -> Result<(), Rejection> {
        if !self.can_add_value(amount) {
            return Err(Rejection::Rule(format!("cannot mint {amount}")));
        }
        self.add_value(amount);
        self.record(Change::Minted(amount));
        Ok(())
    }

    /// Whether the conserved number may change by this much: the kind has one, and it stays between
    /// 0 and what no sum of a whole world reaches.
    pub(crate) fn can_add_value(&self, amount: i64) -> bool {
        let first = self.kind.props.iter().position(|p| p.conserved);
        let fits = |held: i64| held.checked_add(amount).is_some_and(|sum| sum <= VALUE_MAX);
        first.is_some_and(|index| {
            let held = self.state.held_value(self.kind);
            fits(held) && held + amount >= 0 && fits(self.state.props[index].int())
        })
    }

    /// Credits or debits the conserved property; the caller has checked that it may.
    pub(crate) fn add_value(&mut self, amount: i64) {
        let conserved = self.kind.props.iter().position(|p| p.conserved);
        if let (Some(index), true) = (conserved, amount != 0) {
            let value = Value::Int(self.state.props[index].int() + amount);
            self.state.props[index] = value;
            self.pending.dirty_props |= 1 << index;
        }
    }

    /// Applies and records a change that is not a property, a timer or a place.
    pub(crate) fn record(&mut self, change: Change) {
        self.state.apply(&change).expect("a change made here fits the state it was made from");
        self.pending.changes.push(change);
    }

    /// Starts a timer, or starts it anew. Due in entity time.
    ///
    /// # Errors
    /// `Busy` when the entity has as many timers as it may have; `Rule` for a period of 0.
    pub fn set_timer(&mut self, timer: u32, spec: TimerSpec) -> Result<(), Rejection> {
        let now = self.state.time;
        match self.state.timers.set(timer, now, spec) {
            Ok(()) => {
                self.pending.timers = true;
                Ok(())
            }
            Err(TimerError::Full) => Err(Rejection::Busy),
            Err(other) => Err(Rejection::Rule(other.to_string())),
        }
    }

    /// Stops a timer. Does nothing if it does not run.
    pub fn cancel_timer(&mut self, timer: u32) {
        if self.state.timers.cancel(timer) {
            self.pending.timers = true;
        }
    }

    /// Sends a signal: cosmetic, at most once, ordered per sender.
    pub fn signal(&mut self, to: EntityId, payload: Vec<u8>) {
        self.pending.effects.push(Effect::Signal { to, payload });
    }

    /// Tells the own client something cosmetic.
    pub fn notice(&mut self, payload: Vec<u8>) {
        self.pending.effects.push(Effect::Notice(payload));
    }

    /// Asks for asynchronous work. The completion is lost, counted, if the entity has moved on.
    pub fn work(&mut self, token: u64, payload: Vec<u8>) {
        self.pending.effects.push(Effect::Work { token, payload });
    }

    /// From the next tick on, [`super::Behaviour::tick`] is called every tick, or is not. A new
    /// real is awake.
    pub fn set_awake(&mut self, awake: bool) {
        self.pending.awake = Some(awake);
    }

    /// Ends the entity with this tick. Conserved value that it still holds leaves the world.
    pub fn destroy(&mut self) {
        if self.state.destroyed {
            return;
        }
        let held = self.state.held_value(self.kind);
        if held != 0 {
            self.add_value(-held);
            self.record(Change::Minted(-held));
        }
        self.record(Change::Destroyed);
    }
}

/// A real in the hands of its signal handler: only volatile properties can be written.
pub struct SignalCtx<'a> {
    inner: RealCtx<'a>,
}

impl<'a> SignalCtx<'a> {
    pub(crate) const fn new(inner: RealCtx<'a>) -> Self {
        Self { inner }
    }

    /// Who this is.
    #[must_use]
    pub const fn id(&self) -> EntityId {
        self.inner.id
    }

    /// Where it is.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.inner.state.place
    }

    /// A property's number.
    #[must_use]
    pub fn int(&self, index: u8) -> i64 {
        self.inner.int(index)
    }

    /// Writes a volatile property.
    ///
    /// # Errors
    /// `Rule` when the property is durable or does not exist.
    pub fn set_volatile(&mut self, index: u8, value: impl Into<Value>) -> Result<(), Rejection> {
        match self.inner.kind.props.get(usize::from(index)) {
            Some(def) if def.lasting == Lasting::Volatile => self.inner.set(index, value),
            _ => Err(Rejection::Rule(format!("a signal cannot write property {index}"))),
        }
    }

    /// Tells the own client something cosmetic.
    pub fn notice(&mut self, payload: Vec<u8>) {
        self.inner.notice(payload);
    }
}

fn check_size(size: usize) -> Result<(), Rejection> {
    if size > EntityState::BYTES_MAX {
        return Err(Rejection::TooLarge {
            limit: EntityState::BYTES_MAX as u32,
            size: u32::try_from(size).unwrap_or(u32::MAX),
        });
    }
    Ok(())
}
