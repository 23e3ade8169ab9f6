//! Models of the protocols that decide who may change an entity, checked by exhaustion.
//!
//! Each model is a small state machine with everything that can go wrong in it as one more
//! action. A checker visits every reachable state within stated bounds; there are no schedules
//! that it happens not to try. What the models leave out (ghosts, digests, several entities on a
//! base, timing) belongs to the simulator.
//!
//! - [`ownership`]: one entity, its base, cellapps that crash, are falsely declared dead, hand
//!   over, and are granted the entity.
//! - [`window`]: how far a cellapp may run ahead of a base, in ticks, and that a copy whose
//!   ownership is over stops.
//! - [`transfer`]: value that moves between two entities on two bases.
//! - [`order`]: what one sender says arrives in order, once, with nothing left out.
//! - [`term`]: one log, one writer after another.
//! - [`slots`]: a slot that moves between two baseapps which may both die on the way.
//! - [`takeover`]: a slot whose baseapp is lost goes on at another one, from its log.
//! - [`lead`]: who may write to the store, and who is registered or dead.
//!
//! `README.md` in this directory says what was measured and what the models taught.

pub mod check;
pub mod explore;
pub mod fate;
pub mod judge;
pub mod lead;
pub mod lineage;
pub mod order;
pub mod ownership;
pub mod runs;
pub mod slots;
pub mod takeover;
pub mod term;
pub mod transfer;
pub mod window;
