//! The shell of a cellapp: the sockets and the threads around its core.

mod life;
mod load;
mod process;
mod run;
mod shows;
mod work;

pub use run::{CellError, CellOptions, run};
pub use work::WorkRules;
