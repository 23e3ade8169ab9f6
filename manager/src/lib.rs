//! The manager's process: it leads or waits to, writes what the planner asks for, and is the
//! operator's door to the cluster.
//!
//! Architecture invariant: the manager is on the path of no tick and of no entity's handoff. Every
//! write is a transaction guarded by its leader key; what a deposed manager still tries, fails.

mod address_book;
mod carrier;
mod console;
mod drains;
mod dry_run;
mod fan_out;
mod lead;
mod operator;
mod pass_on;
mod run;
mod spaces;
mod status;
mod watch;

pub use console::ConsoleOptions;
pub use run::{ManagerError, ManagerOptions, run};
