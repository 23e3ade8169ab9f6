//! Real processes: the demo as people start it, processes that are drained, bad input, hostile clients, a real
//! etcd, processes that pause, end and are cut off, the whole cluster off and on again, logs and stores
//! that are lost, damaged or another's, and whatever processes wait for standing still.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod bad_input;
mod client;
mod client_path;
mod console;
mod demo;
mod drains;
mod drills;
mod failover;
mod gateways;
mod hanging_store;
mod hostile;
mod links;
mod lives;
mod lost_base;
mod metrics;
mod off_on;
mod operator;
mod other_store;
mod pauses;
mod processes;
mod replay;
mod stall;
mod support;
