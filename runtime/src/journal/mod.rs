//! The journal: what entered each tick, what was decided, what left.

mod ticket;

pub use ticket::{NeverWritten, ReleaseTicket, Written};
