//! The core of a baseapp: who owns each entity, what is confirmed, and what may leave. Pure:
//! `tick(input) -> output`, and nothing else.

pub mod io;
