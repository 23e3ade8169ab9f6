//! What processes say to each other: one bundle per peer and output moment, and in it the
//! messages of the ownership protocol, of the ghosts, and of entities to each other.
//!
//! These are the domain's own types. The wire room turns them into protobuf and packed bytes; the
//! journal keeps them as they are.

mod base_base;
mod base_cell;
mod bundle;
mod cell_base;
mod cell_cell;

pub use base_base::*;
pub use base_cell::*;
pub use bundle::*;
pub use cell_base::*;
pub use cell_cell::*;
