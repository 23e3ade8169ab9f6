//! Time. Four kinds of it exist and none stands in for another:
//!
//! * the simulation tick, which orders movement, collision and combat ([`WorldClock`] decides how
//!   many steps run, [`ClusterClock`] which numbers they carry);
//! * the local monotonic clock, read by the shell alone and handed in as nanoseconds;
//! * entity time, the sum of the steps an entity lived through ([`EntityTime`], [`Timers`]);
//! * a remote tick, which means something only beside its owner, epoch and snapshot, and therefore
//!   has no type of its own here.
//!
//! Invariants: nothing in this room reads a clock; every amount is an integer; time that is thrown
//! away is counted and returned as a value that can be journalled; no clock reading, however
//! absurd, makes anything here panic or go backwards.

mod clock;
mod cluster;
mod decision;
mod entity;
mod peers;
mod policy;
mod scale;
mod scheduler;
mod source;
mod stats;
mod timers;

pub use clock::{Account, Advance, OVERLOAD_CALM_ADVANCES, WorldClock};
pub use cluster::{ClusterClock, ClusterConfig, ClusterCounters, ClusterDecision, Due};
pub use decision::{ClockDecision, Dropped, TickRange};
pub use entity::{EntityClock, EntityTime};
pub use peers::{
    PEER_FRESH_STEPS, PEER_WORDS, PEERS_MAX, PeerSample, SKEW_WARNING_NS, SLEW_DEAD_BAND_NS,
    SLEW_PERMILLE,
};
pub use policy::{
    CAP_MAX, ClockConfig, ClockConfigError, OverloadPolicy, STEP_NS_MAX, STEP_NS_MIN,
    STRETCH_PERCENT_MAX,
};
pub use scale::{SCALE_FACTOR_MAX, SCALE_PART_MAX, Scale};
pub use scheduler::{Component, RefusedTick, Scheduler};
pub use source::{FakeTime, TimeSource};
pub use stats::{Overrun, Phase, Span, TickReport};
pub use timers::{
    LatePolicy, TIMER_FIRES_MAX, TIMERS_MAX, Timer, TimerBatch, TimerDecision, TimerError,
    TimerFire, TimerSpec, Timers,
};
