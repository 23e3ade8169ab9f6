//! Bytes that none of our writers made: how they are made from those that one did, and from the
//! shape of a type alone.
//!
//! Invariants:
//! - One seed, one input: a failure names the seed that makes it again.
//! - Every variant of a type is among its [`examples`]; a variant that is added later is too,
//!   without anybody writing one.

mod examples;
mod fields;
mod mutate;
mod rounds;

pub use examples::{Words, examples, variants};
pub use fields::mutate_fields;
pub use mutate::{damaged, mutate, pick};
pub use rounds::each_round;
