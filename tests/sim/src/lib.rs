//! The simulator: the same cores as in the processes, on a virtual network, virtual disks and the
//! stand-in's state machine, from one seed.
//!
//! Invariants:
//! - One seed, one trace: nothing here reads a clock, a thread or the order of a hash.
//! - Processes meet only through bundles on links, the coordination store and their clients.
//! - Inside one connection frames keep their order; across links nothing does. A connection that
//!   is cut loses what is on its way; the link brings it again, so that duplicates arise as they
//!   do in reality.
//! - A life that ends takes its memory with it. A baseapp's disk stays, without what was not
//!   synced; what the life had sent may still be on its way.
//!
//! A run has two phases. In the first, faults happen as the seed drew them. Then all of them end,
//! and within [`LIVENESS_TICKS`] everything must come right.
//!
//! What it leaves out: the shells.

mod base;
mod cell;
mod chronicle;
mod client;
mod config;
mod disk;
mod faults;
mod happening;
mod incident;
mod judge;
mod links;
mod lives;
mod manager;
mod moves;
mod players;
mod population;
mod process;
mod pulse;
mod reach;
mod run;
mod settled;
mod store;
mod sweep;
mod tending;
mod watch;
mod wires;

pub use config::{LIVENESS_TICKS, STEP_US, SimConfig};
pub use faults::{Class, Faults, NoSuchClass};
pub use incident::Scripted;
pub use judge::{Complaint, Judged, judged, try_run};
pub use run::{SimReport, run};
pub use sweep::{Failure, Sweep, Tally, replay_command, smallest, sweep};
