//! What a process shows of itself to whoever looks at it, and nothing while nobody does.
//!
//! ```text
//! tick thread      picture of every other tick, if somebody looks ──► a slot: the newest replaces
//! tick thread   ◄─ questions about one entity, a few a tick        ──► answers
//! journal writer   each record, if somebody listens                ──► a ring: who is late finds a gap
//! ```
//!
//! Invariants: the tick thread waits for none of it and does at most a bounded amount for it; no
//! listener holds up another.

mod desk;
mod service;
mod stage;
mod tee;

pub use desk::{Desk, Questions, Subject};
pub use service::{ObserveDoor, RECORDS_VERSION};
pub use stage::Stage;
pub use tee::{RecordTee, TeeEnd, Teed};
