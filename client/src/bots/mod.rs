//! Bots: clients that walk, fight, trade and heal, decided by a seed.
//!
//! What a bot wants is a pure function of its seed and of what it saw; what it says goes through
//! the same [`crate::session`] as any program.

mod bot;
mod brain;
mod crowd;
#[cfg(test)]
mod tests;

pub use brain::{Brain, Wish};
pub use crowd::{BotsOptions, BotsReport, run};
