//! What every room of Marchland shares, without any I/O: identity and order, time, the state
//! machine of a link, the records of a journal, the geometry and values of the world, and the
//! messages that processes exchange.

pub mod order;
