//! The routes through their public door: what they answer, and what they refuse.

#![allow(clippy::unwrap_used, missing_docs)]

mod causes;
mod events;
mod guards;
mod live;
mod sockets;
mod support;
