//! Arbitration: whose word about an entity counts, and how that changes.

mod elders;
mod fences;
mod grants;
mod handoff;
mod restore;
mod steps;
