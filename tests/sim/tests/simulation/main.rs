//! The simulator's runs, judged by the audit.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bugs;
mod calm;
mod judge;
mod seeds;
mod trace;
