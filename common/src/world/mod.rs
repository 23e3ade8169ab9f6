//! The world as data: geometry, the layout of a space, the declared kinds of entities, and the
//! state of one entity with the increments that change it.

mod geometry;
mod kind;
mod layout;
mod state;
mod value;

pub use geometry::*;
pub use kind::*;
pub use layout::*;
pub use state::*;
pub use value::*;
