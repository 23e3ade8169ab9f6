//! A network that misbehaves on order, for tests and drills: a TCP proxy between a process and
//! whoever dials it.
//!
//! ```text
//!  dialer ----- up ----> Proxy ----- up ----> target
//!         <--- down ----       <--- down ----
//! ```
//!
//! Each direction passes bytes on, passes them on later, stops reading, or swallows them; besides,
//! connections are cut, and new ones refused. Orders hold for all connections, present and future,
//! or for those that are dialed from one address, until [`Proxy::heal`].
//!
//! Invariants: what arrives is a prefix of what was sent, on every connection; one that lost a byte
//! never carries another. A proxy keeps its port as long as it lives, also while it refuses.

mod line;
mod orders;
mod port;
mod proxy;

pub use orders::{Counts, Direction, Flow, Way};
pub use port::Port;
pub use proxy::Proxy;
