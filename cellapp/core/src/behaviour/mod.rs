//! What a world's own code looks like from here: behaviours, called in the Script phase, that
//! change one real and only look at others.
//!
//! A behaviour gets its real as [`RealCtx`] and everybody else as [`Sight`]. Whether a neighbour
//! is a real or a ghost cannot be told, so no code can depend on it, and writing to one does not
//! compile.

mod real;
mod sight;

pub use real::*;
pub use sight::*;

use marchland_common::order::{EntityId, KindId};
use marchland_common::time::TimerFire;
use marchland_common::world::{CommandOutcome, Kinds, MessageOutcome, OutMessage, Rejection};

/// A world: its kinds and their behaviours. The same in every process of a cluster.
pub trait World {
    /// The declared kinds.
    fn kinds(&self) -> &Kinds;

    /// The behaviour of a kind. Must answer for every declared kind.
    fn behaviour(&self, kind: KindId) -> &dyn Behaviour;
}

/// How old a message may be before its kind must say what to do with it, in ticks.
pub const MESSAGE_FRESH_TICKS: u64 = 40;

/// What a kind does with a message that is older than [`MESSAGE_FRESH_TICKS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateMessages {
    /// Takes it like a fresh one.
    Apply,
    /// Refuses it as too old.
    Reject,
    /// Takes it through [`Behaviour::late_message`].
    Correct,
}

/// What an entity of one kind does. All methods run on the owner's tick thread, in a fixed order
/// of entities; none may block, read a clock, or keep state of its own outside the real.
pub trait Behaviour: Send + Sync {
    /// The entity begins to exist; called once, before its first tick.
    fn born(&self, me: &mut RealCtx<'_>, argument: &[u8]) {
        let _ = (me, argument);
    }

    /// One tick of an entity that is awake.
    fn tick(&self, me: &mut RealCtx<'_>, sight: &Sight<'_>) {
        let _ = (me, sight);
    }

    /// The newest input of its client; at most one a tick.
    fn input(&self, me: &mut RealCtx<'_>, payload: &[u8]) {
        let _ = (me, payload);
    }

    /// A command of its client. `method` is exposed; the arguments are untrusted.
    fn command(
        &self,
        me: &mut RealCtx<'_>,
        sight: &Sight<'_>,
        method: u8,
        args: &[u8],
    ) -> CommandOutcome {
        let _ = (me, sight, method, args);
        CommandOutcome::Rejected(Rejection::NotExposed)
    }

    /// A message of another entity. Its value is credited by the caller if the outcome keeps it.
    fn message(
        &self,
        me: &mut RealCtx<'_>,
        sight: &Sight<'_>,
        source: EntityId,
        payload: &[u8],
        value: i64,
    ) -> MessageOutcome {
        let _ = (me, sight, source, payload, value);
        MessageOutcome::Rejected(Rejection::NotExposed)
    }

    /// What this kind does with late messages.
    fn late_messages(&self) -> LateMessages {
        LateMessages::Apply
    }

    /// A message that is `age` ticks old, when the kind said [`LateMessages::Correct`].
    fn late_message(
        &self,
        me: &mut RealCtx<'_>,
        sight: &Sight<'_>,
        source: EntityId,
        payload: &[u8],
        value: i64,
        age: u64,
    ) -> MessageOutcome {
        let _ = age;
        self.message(me, sight, source, payload, value)
    }

    /// The answer to a message that this entity sent; called once. Value that was not kept is
    /// credited back before.
    fn answered(&self, me: &mut RealCtx<'_>, message: &OutMessage, outcome: &MessageOutcome) {
        let _ = (me, message, outcome);
    }

    /// A timer fired.
    fn timer(&self, me: &mut RealCtx<'_>, sight: &Sight<'_>, fire: &TimerFire) {
        let _ = (me, sight, fire);
    }

    /// A signal of another entity: cosmetic, at most once. The context cannot reach durable
    /// fields.
    fn signal(&self, me: &mut SignalCtx<'_>, source: EntityId, payload: &[u8]) {
        let _ = (me, source, payload);
    }

    /// Asynchronous work that the entity asked for is done.
    fn completed(&self, me: &mut RealCtx<'_>, token: u64, payload: &[u8]) {
        let _ = (me, token, payload);
    }
}
