//! Real processes: the demo as people start it, bad input, hostile clients, a real
//! etcd, processes that pause, end and are cut off, and whatever they wait for standing still.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod bad_input;
mod client;
mod demo;
mod failover;
mod gateways;
mod hostile;
mod links;
mod lives;
mod operator;
mod pauses;
mod processes;
mod stall;
mod support;
