//! For programs that play: a session with a gateway that survives reconnects, the picture of the
//! world that a client has, and the bots that load a cluster.

pub mod bots;
pub mod session;
pub mod view;
