//! Slots of lost baseapps: whom the planner has take them over, what it commits and calls off.
#![allow(clippy::unwrap_used)]

mod absence;
mod laws;
mod patience;
mod single;
mod stage;
