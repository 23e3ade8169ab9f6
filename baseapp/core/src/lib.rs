//! The core of a baseapp: who owns each entity, what is confirmed, and what may leave. Pure:
//! `tick(input) -> output`, and nothing else.
//!
//! Architecture invariant: everything that another process, a client or an operator learns goes
//! through the gate and rests on a durable log record. The core knows no disk, socket or clock.
//!
//! The rooms: `log` (the records and what they add up to), `lineage` (one entity, durably),
//! `gate` (what waits for durability), `frames` and `peers` (other processes), `ownership`
//! (steps, handoffs, grants, restores, fences), `queue` (what waits for an owner), `messages`
//! (entity to entity), `clients` (sessions and commands), `moves` (slots between bases), `births`,
//! `orders`, `release` (what becomes durable takes effect), `recover` (what an earlier life or
//! another base left), `look` (views from outside).

pub mod io;
pub mod log;

mod births;
mod clients;
mod core;
mod effects;
mod entity;
mod frames;
mod gate;
mod lineage;
mod look;
mod messages;
mod moves;
mod orders;
mod ownership;
mod peers;
mod queue;
mod recover;
mod refusals;
mod release;

pub use births::{ids_from, losses_before};
pub use clients::{ANSWERS_MAX, SESSION_LINGER, UNACKNOWLEDGED_MAX, account_slot};
pub use core::BaseCore;
pub use lineage::{Lineage, Prev};
pub use look::BadSnapshot;
