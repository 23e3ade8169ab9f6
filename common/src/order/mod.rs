//! Identity and order: who an entity, a process or an owner is, and what came before what.
//!
//! Everything that has an effect carries an incarnation, an owner epoch and a sequence; the types
//! here make mixing them up a compile error.

mod ids;

pub use ids::*;
