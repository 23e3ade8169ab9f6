//! The shell of a baseapp: the disk, the sockets and the threads around its core.

mod door;
pub mod gateway;
pub mod log;
mod process;
mod run;

pub use run::{BaseError, BaseOptions, run};
