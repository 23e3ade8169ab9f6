//! What peers, clients and disks may hold against us: real bytes of every kind, damaged in tens of
//! thousands of ways, and what still reads, said to the cores.
#![allow(clippy::unwrap_used)]

mod bases;
mod cells;
mod clients;
mod journals;
mod link;
mod logs;
mod recorded;
