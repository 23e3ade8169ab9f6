//! Who is near whom: the looks of all entities that are known here, over a grid per space.
//!
//! [`Looks`] is what the Script phase sees (it is the `SightSource` of every behaviour), what the
//! witnesses show to clients, and what the owner of a real compares its hosts' ghosts with. Reals
//! and ghosts stand in it alike, rounded alike.
//!
//! Who writes it, in which phase:
//! - ingress: [`crate::ghosts::Mirrors`] shows, changes and removes ghosts; a real that begins is
//!   shown by [`crate::ghosts::Haunts::begin`]; [`Looks::open_space`] follows a layout.
//! - Script: nobody. All behaviours of a tick see the state at the end of the tick before for
//!   reals, and the newest that arrived for ghosts; no result depends on the order of entities.
//! - SyncBuild: [`crate::ghosts::Haunts::touch`] brings each changed real up to date; then
//!   [`crate::witness::Witnesses::run`] reads it and ends the round of changes.
//! - A real that ends for good here is removed by [`Looks::remove`], unless it became a ghost.
//!
//! Costs: an entity that neither moves nor changes costs nothing in a tick.

mod grid;
mod look;
mod looks;
mod snapshot;

pub use grid::{Found, GRID_COLUMNS_MAX, Grid, Spot, Visited};
pub use look::{
    COORDINATE_MAX, HEADING, Look, POSITION, Shown, as_prop, ghosted_props, inside, is_inside,
    pose_of, to_value,
};
pub use looks::{Advanced, Looks};
