//! Servers to test against: a real etcd or the stand-in, each a process of its own. Everything is
//! started on a free port in a folder of its own and ended by its process id.

mod arm;
mod server;
mod wait;

pub use arm::{Arm, Case, run};
pub use server::{Kind, Server, serve_as_child};
pub use wait::{eventually, never_fails};
