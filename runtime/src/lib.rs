//! What every process of Marchland shares around its core.

pub mod coord;
pub mod journal;
pub mod link;
pub mod observe;
pub mod process;
pub mod standin_server;
pub mod telemetry;
pub mod tick;
