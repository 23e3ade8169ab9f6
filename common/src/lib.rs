//! What every room of Marchland shares, without any I/O: identity and order, time, the state
//! machine of a link, the records of a journal, the geometry and values of the world, and the
//! messages that processes exchange.

pub mod cluster;
pub mod dawdle;
pub mod digest;
pub mod journal;
pub mod link;
pub mod msg;
pub mod order;
pub mod rng;
pub mod time;
pub mod world;
