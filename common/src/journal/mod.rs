//! What a process remembers of what happened: the records of its journal and their framing.

mod event;
mod file;
pub mod frame;
mod logged;
mod record;
mod refusal;

pub use event::*;
pub use file::*;
pub use logged::*;
pub use record::*;
pub use refusal::*;
