//! The judge through its public door: small clusters whose processes die, hang and are cut off.
#![allow(clippy::unwrap_used)]

mod brakes;
mod laws;
mod single;
mod stage;
