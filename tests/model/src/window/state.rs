//! The state of the window model: one cellapp incarnation, one base, the stream between them, and
//! one entity that may live on the cellapp.

/// Tick numbers of the cellapp.
pub type Tick = u8;

/// The ownership epoch of the entity.
pub type Epoch = u8;

/// The copy of the entity on the cellapp.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Real {
    /// Epoch under which it was activated.
    pub epoch: Epoch,
    /// It has sent its first step.
    pub spoke: bool,
    /// For the properties: it was activated after more than W ticks and simulated in the very next.
    pub ran_at_once: bool,
    /// It has changed since it was activated.
    pub changed: bool,
    /// Steps sent and not acknowledged. Only the mutant that counts them looks at it.
    pub unacked_steps: u8,
    /// For the properties: ticks that it was simulated after its epoch was over.
    pub stale_ticks: u8,
    /// For the properties: ticks that it was simulated as the owner.
    pub owner_ticks: u8,
}

/// The cellapp.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The last tick that it ran.
    pub tick: Tick,
    /// The newest durable tick that the base has told it.
    pub durable_tick: Tick,
    /// The highest epoch that it has been granted or fenced from.
    pub top: Epoch,
    /// The copy, if it holds one.
    pub real: Option<Real>,
    /// It has read that its incarnation is fenced: it has dropped everything and takes nothing.
    pub fenced: bool,
    /// It will say in its next bundle what it holds.
    pub resync: bool,
    /// Reports were lost before the next one that it reads.
    pub gap: bool,
}

/// The base. Only `epoch`, `owned_by_cell`, `heard`, `fenced` and `logged_tick` survive a crash.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// Current epoch of the entity.
    pub epoch: Epoch,
    /// The cellapp owns it; otherwise somebody else does.
    pub owned_by_cell: bool,
    /// Volatile: the record of `epoch` is written and not yet on disk.
    pub unsynced: bool,
    /// The first step under `epoch` is in the log.
    pub heard: bool,
    /// Volatile: the first step under `epoch` was received.
    pub hears: bool,
    /// The cellapp's incarnation was declared dead (kept in the tombstones).
    pub fenced: bool,
    /// The newest tick of the cellapp whose whole content is in the log.
    pub logged_tick: Tick,
    /// What the base returns as the durable tick; equal to `logged_tick` unless a mutant lies.
    pub durable_tick: Tick,
    /// The newest tick received.
    pub received_tick: Tick,
    /// The newest tick received that may be reported once it is synced.
    pub counted_tick: Tick,
    /// The cellapp has said what it holds since the stream was last known to have lost something.
    pub listed: bool,
    /// Every report asks the cellapp what it holds, until it has said so.
    pub asks: bool,
    /// Bundles were lost before the next one that it reads.
    pub gap: bool,
    /// For the properties: the newest tick received before which no step of the owner is missing.
    pub whole_tick: Tick,
    /// For the properties: a step of the owner was lost and not sent again.
    pub misses_step: bool,
    /// For the properties: a step was taken in and is not in the log.
    pub unlogged_step: bool,
    /// The highest epoch that the cellapp has to be told is over.
    pub notice: Epoch,
    /// The stream to the cellapp exists.
    pub linked: bool,
}

/// The one message per tick from the cellapp, empty or not.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bundle {
    /// The tick that it closes.
    pub tick: Tick,
    /// The step of the entity, if there is one: the epoch it claims.
    pub step: Option<Epoch>,
    /// It names what the cellapp holds, and with it come all steps that are not acknowledged.
    /// Without a step it names nothing, and says so.
    pub lists: bool,
}

/// A message from the base.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// What is durable, and which epochs are over, in one message.
    Durable {
        /// The newest durable tick.
        tick: Tick,
        /// Every epoch up to this one is over for the cellapp.
        notice: Epoch,
        /// Say what you hold.
        asks: bool,
    },
    /// Only that epochs are over (the mutant that puts notices on another stream).
    Notice(Epoch),
    /// The entity is the cellapp's.
    Grant(Epoch),
    /// The incarnation was declared dead.
    Fenced,
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// False verdict about the incarnation (0 or 1).
    pub verdicts: u8,
    /// Grant deadlines that fire.
    pub deadlines: u8,
    /// Times that the entity is granted to the cellapp again.
    pub grants: u8,
    /// Baseapp crashes.
    pub restarts: u8,
    /// Times that a direction of the stream begins anew and loses what was under way in it.
    pub losses: u8,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The cellapp.
    pub cell: Cell,
    /// The base.
    pub base: Base,
    /// Cellapp to base, in order.
    pub up: Vec<Bundle>,
    /// Base to cellapp, in order.
    pub down: Vec<Report>,
    /// Base to cellapp, in any order (mutant only).
    pub aside: Vec<Report>,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: a tick was simulated at or past the window's end.
    pub overran: bool,
}
