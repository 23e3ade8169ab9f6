//! The merged order as lines for people and programs.

mod columns;
mod lines;
#[cfg(test)]
mod tests;

pub use columns::columns;
pub use lines::{Line, Lines, OrderFilter, order};
pub(crate) use lines::{line_at, moment_line};
