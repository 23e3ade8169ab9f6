//! The base's write-ahead log: what is in it is confirmed, what is not was promised to nobody.
//!
//! ```text
//! tick thread                       log thread                         folder
//! append, append, commit  ------->  one write, one sync  ----------->  00000001.wal ...
//! poll  <---- Durable{lsn} -------                                     checkpoint-<lsn>
//! ```
//!
//! Invariants:
//! - One process writes a log: it holds the folder's lock until it ends. A log with a higher term
//!   than the opener's belongs to a later holder of the slots, and is refused.
//! - Positions are contiguous, and each record carries the hash of the one before it.
//! - A record is durable when [`Persisted`] says so, and nothing else in the base asks a disk.
//! - The tick thread never waits for the disk. While the disk refuses, records queue up to a
//!   limit, the thread tries again and again, and what was taken is never given up.
//! - Recovery returns every durable record, or says where the log is broken. A torn end is
//!   dropped only where a crash can have left it; damage is never guessed away.
//!
//! The codec ([`record`], [`segment`], [`image`]), the verdicts ([`scan`], [`torn`]) and the
//! writer are free of threads and clocks, and [`MemoryDisk`] stands in for a folder.

mod damage;
mod folder;
mod handle;
pub mod image;
mod job;
mod memory;
pub mod record;
mod recover;
mod report;
pub mod scan;
pub mod segment;
mod storage;
mod thread;
pub mod torn;
mod writer;

pub use damage::Broken;
pub use folder::Folder;
pub use handle::{Closed, Inspection, Log, Unbegun, Waker, inspect, whose};
pub use job::{CheckpointJob, Done, Entries};
pub use memory::{DiskCounts, MemoryDisk, Survives};
pub use recover::{Image, Recovery};
pub use report::{
    AppendError, CheckpointRefusal, LogConfig, LogReport, LogStats, OpenError, PersistRule,
    Persisted, StallReason,
};
pub use scan::{Damage, DamageKind, ScanRefusal, Torn};
pub use segment::LogIdentity;
pub use storage::Storage;
pub use writer::{Flushed, Resume, Writer};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_crash;
#[cfg(test)]
mod tests_damage;
#[cfg(test)]
mod tests_stall;
