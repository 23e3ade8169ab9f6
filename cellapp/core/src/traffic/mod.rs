//! What comes in and what goes out: the map, bundles in their order, and one bundle per peer and
//! tick.

pub mod dispatch;
pub mod flush;
pub mod ingress;
pub mod peers;
pub mod refusals;
