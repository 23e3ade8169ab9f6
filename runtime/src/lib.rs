//! What every process of Marchland shares around its core.

pub mod coord;
pub mod standin_server;
