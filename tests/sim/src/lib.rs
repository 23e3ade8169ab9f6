//! The simulator: the same cores as in the processes, on a virtual network, virtual disks and the
//! stand-in's state machine, from one seed.
//!
//! Invariants:
//! - One seed, one trace: nothing here reads a clock, a thread or the order of a hash.
//! - Processes meet only through bundles on links, the coordination store and their clients.
//! - Inside one connection frames keep their order; across links nothing does. A connection that
//!   is cut loses what is on its way; the link brings it again, so that duplicates arise as they
//!   do in reality.
//!
//! What it leaves out: lost processes (nothing here crashes), and the shells.

mod base;
mod cell;
mod chronicle;
mod client;
mod config;
mod disk;
mod happening;
mod links;
mod population;
mod run;
mod store;

pub use config::{Faults, SimConfig};
pub use run::{SimReport, run};
