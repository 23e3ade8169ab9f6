//! The simulator's runs, judged by the audit.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bounds;
mod bugs;
mod calm;
mod seeds;
mod trace;
