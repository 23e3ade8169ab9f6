//! The core of a cellapp: who is real here, what it does, who mirrors it, who sees it, and how it
//! is handed over. Pure: `tick(input) -> output`, and nothing else.

pub mod behaviour;
pub mod io;
