//! The link between two lives of two processes: a first-in, first-out stream that survives its
//! connections.
//!
//! ```text
//!             on_connected(peer's Resume)
//!   waiting ------------------------------> connected      send() is accepted in both;
//!      ^                                        |          frames leave in connected only
//!      +-------- on_disconnected ---------------+
//!      |                                        |
//!      |  hard limit, or a fault whose remedy is Reset
//!      v                                        v
//!   broken --reset()--> waiting, next generation, sequence from 1 again
//! ```
//!
//! Invariants:
//! - One stream is named by (source life, destination life, channel, generation). Its frames are
//!   numbered from 1 without a hole, and are delivered in that order, each once, over any number
//!   of connections.
//! - Nothing is dropped silently. A frame leaves the sender's buffer because the peer's consumer
//!   took it, or because [`LinkMachine::reset`] or a retired life handed it back to the caller.
//!   Everything that is refused is a typed value and a counter of [`LinkStats`].
//! - Everything is bounded. At the soft limit coalescible content is refused and merged by the
//!   caller with what comes later; ordered content is accepted up to the hard limit; there the
//!   stream is broken off, handed back, and begins again as a new *generation*, which the peer
//!   sees as [`Delivery::PeerReset`] in its place in the order: both sides then know that they
//!   must send their state anew.
//! - An acknowledgement is credit: it covers what the peer's consumer has taken, not what its
//!   socket has read. What was received but not yet taken is not sent again after a reconnect.
//! - A newer life of a peer starts with new streams; what was kept for the older life is handed
//!   back, and its late messages are refused.

mod fault;
mod hello;
mod keepalive;
mod links;
mod machine;
mod receive;
mod send;
mod stats;
mod types;

pub use fault::{LinkFault, Remedy};
pub use hello::{
    Agreed, Hello, HelloAnswer, HelloRefusal, KnownIncarnations, LocalIdentity, NAMES_MAX, Welcome,
    check_hello,
};
pub use keepalive::{KeepAlive, KeepAliveAction, KeepAliveConfig};
pub use links::{Accepted, Links, OpenRefusal, Retired, WelcomeRefusal};
pub use machine::LinkMachine;
pub use receive::{Arrival, Delivery};
pub use send::{Abandoned, ResetReason, SendError};
pub use stats::LinkStats;
pub use types::{
    Ack, BadLimits, ChannelId, Class, Connection, Direction, Frame, Generation, LinkLimits,
    Payload, Resume,
};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_hello;
#[cfg(test)]
mod tests_property;
