//! Witnesses: what the clients see of the world around the entities that they play.
//!
//! A witness is an (entity, session) pair. It sees other entities, real and ghost alike: who comes
//! within its radius enters, who goes beyond a somewhat larger one or ceases to exist leaves, and
//! in between it is told of changes within a budget of bytes a tick. Its own entity is not in its
//! view: its own fields reach its client by way of the base.
//!
//! # Who calls what
//!
//! - Ingress: [`Witnesses::attach`] and [`Witnesses::detach`] as the base says; with a grant
//!   [`Witnesses::resume`], with the states of the parked offload or without any; on an abort
//!   [`Witnesses::thaw`]; when a real ends here because it lives on elsewhere
//!   [`Witnesses::forget`].
//! - SyncBuild, after [`crate::ghosts::Haunts::flush`]: [`Witnesses::end`] for each entity that was
//!   destroyed, then [`Witnesses::run`] once, and then [`Witnesses::freeze`] for each real whose
//!   handoff begins, whose result travels in its offload.
//! - Flush: each [`ViewOut::views`] goes to the base of its entity, in order.
//!
//! A [`ViewScratch`] is working memory and no part of the state: a core that was restored from a
//! snapshot makes a new one and goes on alike.

mod candidates;
mod run;
mod scratch;
#[cfg(test)]
mod tests;
mod witnesses;

pub use scratch::{ViewCost, ViewScratch};
pub use witnesses::{SEEN_MAX, ViewLimits, ViewOut, Witnesses};
