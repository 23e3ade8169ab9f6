//! What entities do: timers, commands, messages, answers, and the call of every tick, each decided
//! once by the owner and recorded in the entity's own state.
//!
//! Invariants: a behaviour runs only while its entity's window is open and it is not frozen; what
//! comes for one that does not run waits in order; a command or message has at most one outcome in
//! the entity's lineage, because the table that says so travels with it.

pub mod commands;
pub mod messages;
pub mod outcomes;
pub mod queue;
pub mod script;
pub mod timers;
pub mod turn;
