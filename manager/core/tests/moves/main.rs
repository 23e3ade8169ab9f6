//! Slots that move between baseapps: what the planner orders, commits and calls off.
#![allow(clippy::unwrap_used)]

mod laws;
mod patience;
mod single;
mod stage;
