//! Who is real here: grants and what must match them, the window that stops an unconfirmed owner,
//! handoffs, borders, orders, and the steps that a base makes durable.
//!
//! Invariants: an entity becomes real only by a grant to this very life under an epoch higher than
//! any seen; a frozen copy runs on only after an abort of the very step that it stands at; a fenced
//! one is gone in the tick that reads it; no decision here rests on a lease or a clock.

pub mod bases;
pub mod borders;
pub mod closed;
pub mod drain;
pub mod grants;
pub mod handoff;
pub mod orders;
pub mod parked;
pub mod resync;
pub mod seen;
pub mod steps;
pub mod territory;
