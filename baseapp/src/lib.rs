//! The shell of a baseapp: the disk, the sockets and the threads around its core.

pub mod log;
