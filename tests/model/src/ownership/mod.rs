//! The ownership protocol: who may change an entity, and what stays true of it through lost,
//! doubled and reordered messages, crashes, false verdicts, and Grant deadlines that fire early.
//!
//! The network is a soup: a message that was ever sent can be delivered zero, one or many times,
//! at any later moment, in any order. That covers loss, delay, reconnects, partitions of every
//! shape, and processes that are paused and resume as zombies. A verdict can name any incarnation
//! at any moment. A base crash leaves exactly the log.

mod base;
mod cell;
pub mod forget;
mod model;
pub mod mutant;
pub mod params;
pub mod properties;
pub mod state;

pub use model::Action;
pub use mutant::Mutant;
pub use params::{Budget, Params};
pub use state::Cluster;

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// Its bounds and the rule it breaks.
    pub params: Params,
}
