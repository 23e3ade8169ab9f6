//! Ghosts: the copies of a real that neighbouring processes hold so that their entities can see it.
//!
//! [`Haunts`] is the real's side, [`Mirrors`] the host's side; both work on the one table of
//! [`crate::interest::Looks`]. A ghost's state is named by (epoch, sequence); the digest over its
//! rounded pose and its ghosted properties is equal wherever that state is shown.
//!
//! # Who calls what
//!
//! Ingress, in this order:
//! - [`Haunts::set_reach`] after a layout or the membership changed; [`Haunts::forget_host`] and
//!   [`Mirrors::forget_owner`] for a life that is gone for ever (declared dead, or followed by a
//!   newer life of its name); [`Haunts::restart_host`] and [`Mirrors::forget_owner`] when messages
//!   of a living pair were lost;
//! - for each bundle of a cellapp: [`Mirrors::heard`], then each message to [`Mirrors::apply`], and
//!   `GhostNeedSnapshot` to [`Haunts::need_snapshot`];
//! - when a grant is taken: [`Haunts::disown`] if a frozen copy stands here, then
//!   [`Mirrors::take_over`], then [`Haunts::begin`]. A grant whose epoch is below
//!   [`Mirrors::epoch_of`] is stale;
//! - on an abort: [`Mirrors::take_back`], then [`Haunts::thaw`];
//! - on a release: [`Haunts::disown`], then [`Mirrors::released`];
//! - on a fence: [`Mirrors::from_real`], [`Haunts::disown`], [`Mirrors::released`], so that nobody
//!   sees the entity go and come; a frozen copy is only disowned and released;
//! - [`Mirrors::tick`] once.
//!
//! SyncBuild, in this order: [`Haunts::touch`] for each changed real (also one whose handoff begins
//! in this tick), [`Haunts::destroy`] and [`Mirrors::bury`] for each that ended,
//! [`Haunts::flush`], the witnesses, and then for each real whose handoff begins
//! [`Haunts::freeze`] and [`Mirrors::from_real`].
//!
//! Flush: [`GhostOut::mail`] goes into the bundles in its order, in front of signals, so that
//! nobody hears of an entity before it is shown. Mail to a life that is gone may be dropped.

mod bindings;
#[cfg(test)]
mod exchange;
mod haunts;
mod indexes;
#[cfg(test)]
pub(crate) mod kit;
mod mirrors;
mod out;
mod reach;
mod tombs;

pub use bindings::INDEX_END;
pub use haunts::{Beginning, GhostRange, Handed, Haunts, NewReal};
pub use mirrors::{MirrorCtx, Mirrors, Patience};
pub use out::{GhostOut, Refusal};
pub use reach::{Near, Reach};
pub use tombs::{TOMB_TICKS, TOMBS_MAX};
