//! Between the wire's types and the domain's. Decoding refuses what it does not know, names the
//! field, and never panics; encoding cannot fail.
//!
//! Consecutive steps, and consecutive acknowledgements, of a bundle are packed into one item.

mod base_base;
mod base_cell;
mod bundle;
mod cell_base;
mod cell_cell;
mod common;
mod count;
mod moves;

pub use bundle::{BUNDLE_MEMORY, bundle_from_wire, bundle_to_wire, read_bundle};
pub use cell_cell::{offload_from_wire, offload_to_wire};
pub use common::{BadMessage, node_from_wire, node_to_wire};
pub use count::{BUNDLE_CHANGES_MAX, BUNDLE_MSGS_MAX};
pub use moves::{
    Gives, gives_from_wire, gives_to_wire, move_from_wire, move_to_wire, take_state_from_wire,
    take_state_to_wire, takes_from_wire, takes_to_wire,
};
