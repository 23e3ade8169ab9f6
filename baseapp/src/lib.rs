//! The shell of a baseapp: the disk, the sockets and the threads around its core.

mod belongs;
mod broken;
mod door;
pub mod gateway;
mod leaving;
pub mod log;
mod process;
mod run;
mod save_age;
mod shows;
mod takeover;

pub use belongs::Misfit;
pub use broken::BrokenLog;
pub use run::{BaseError, BaseOptions, run};
