//! Real processes: the demo as people start it, bad input, hostile clients, a real etcd.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod bad_input;
mod demo;
mod hostile;
mod operator;
mod support;
