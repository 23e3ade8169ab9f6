//! Verdicts about lost lives: when a process is given up, on what evidence, and when nobody is.
//!
//! A [`Judge`] has no clock and asks nobody. Whoever runs it shows it a [`Look`] several times a
//! second: what the store says, what the manager itself got when it asked every life, and what
//! baseapps and cellapps report of their links. All times are milliseconds of the manager's
//! monotonic clock.
//!
//! ```
//! use marchland_manager_core::verdict::{Judge, JudgeConfig, Look};
//! use std::collections::BTreeSet;
//!
//! let mut judge = Judge::new(JudgeConfig::default());
//! // Every 50 ms or so, for as long as this manager leads:
//! let judgement = judge.look(&Look { now_ms: 50, ..Look::default() });
//! for judged in judgement.to_bury(&BTreeSet::new()) {
//!     // Write the tombstone of `judged.node`. If that fails, the next look says it again.
//! }
//! ```
//!
//! Evidence is level: a verdict comes again at every look until the life is among `Look::dead`. A
//! new leader begins with a new judge, and so with no evidence.
//!
//! * **Dead**: three attempts of the manager in a row found nobody there, at least one witness
//!   found the same, and no witness says otherwise. No lease is asked for.
//! * **Silent**: the manager and every witness have heard nothing for a second. Who never answered
//!   the manager has one lease time instead: it may be about to begin.
//! * **Replaced**: a later life of the same name is registered. The store says so; no brake.
//!
//! Witnesses of a cellapp are the baseapps; of a baseapp the other baseapps, or the cellapps if it
//! is the only one. Both verdicts of evidence can be wrong, and neither is unsafe: epochs and
//! fences are what keeps a life that was given up from doing harm. A wrong one is costly, so a
//! [`Brake`] holds them back when it looks as if the manager, and not the others, were the one who
//! is lost.

mod brake;
mod evidence;
mod judge;
mod look;

pub use brake::Brake;
pub use judge::{Judge, JudgeConfig, Judged, Judgement, Verdict};
pub use look::{Asked, Look, Report, Sight};
