//! The core of a baseapp from outside: real cores, scripted owners and clients, and between them a
//! proof that nothing leaves before it is durable.
#![allow(clippy::unwrap_used)]

mod account;
mod support;

mod bugs;
mod commands;
mod endings;
mod handoff;
mod hostile;
mod messages;
mod order;
mod orders;
mod restart;
mod sessions;
mod slots;
mod spawns;
mod steps;
mod storm;
mod takeover;
mod windows;
