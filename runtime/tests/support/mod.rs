//! Servers to test against: a real etcd or the stand-in, each a process of its own, and a proxy
//! that cuts one client off. Everything is started on a free port in a folder of its own and ended
//! by its process id.

mod arm;
mod proxy;
mod server;
mod wait;

pub use arm::{Arm, Case, run};
pub use proxy::{Mode, Proxy};
pub use server::{Kind, serve_as_child};
pub use wait::{eventually, never_fails};
