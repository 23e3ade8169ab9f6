//! Two and three link planes over real sockets, with a proxy between them that misbehaves.
#![allow(clippy::unwrap_used)]

mod delivery;
mod faults;
mod greeting;
mod host;
mod limits;
mod stall;
