//! The merged order as lines for people and programs.

mod columns;
mod excerpt;
mod lines;
mod live;
#[cfg(test)]
mod live_tests;
mod rules;
#[cfg(test)]
mod tests;

pub use columns::{Columns, columns};
pub use excerpt::{ExcerptLine, excerpt};
pub use lines::{Line, Lines, OrderFilter, order};
pub(crate) use lines::{line_at, moment_line};
pub use live::Live;
pub use rules::ORDER_RULES;
