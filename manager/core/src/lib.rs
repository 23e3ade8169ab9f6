//! The core of the manager: from what is registered and what is wanted to what must be written.
//!
//! A planner without I/O: the same facts give the same plan. It decides nothing about single
//! entities. The shell writes a plan in transactions that its leader key guards; a plan that was
//! made from older facts fails there as a whole and is made anew. Orders to baseapps are said again
//! with every plan until a report or a key shows that they were heard.

mod absence;
mod cells;
mod facts;
mod lost;
mod moves;
mod patience;
mod plan;
mod slots;
mod split;
mod takes;
pub mod verdict;

pub use absence::Absence;
pub use facts::{CellLoad, Facts, LogPlace, SpaceSpec};
pub use lost::{Lost, LostState};
pub use moves::{Give, MOVES_MAX};
pub use patience::{ASK_AGAIN_MS, MOVE_MAX_MS, Patience, SLOW_FOR_MS, Slow};
pub use plan::{Plan, Write, plan};
pub use slots::SLOTS;
pub use split::split;
pub use takes::Take;
