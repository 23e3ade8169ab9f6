//! The core of a cellapp: who is real here, what it does, who mirrors it, who sees it, and how it
//! is handed over. Pure: `tick(input) -> output`, and nothing else.
//!
//! [`cell`] is the door. Behind it each phase of a tick is a row of small rooms: `traffic` takes
//! bundles in and sends them, `ownership` decides who is real, `effects` runs behaviours.

mod around;
pub mod behaviour;
pub mod cell;
mod effects;
pub mod entities;
pub mod ghosts;
pub mod interest;
pub mod io;
mod ownership;
pub mod signals;
mod traffic;
pub mod witness;

pub use cell::CellCore;
