//! What could have caused what: events by name, the causal order of a span of ticks, the past and the
//! future of an event, the chain that leads from one to another, and who owned an entity when.
//!
//! Two events are ordered by the order of each process's own journal and by the bundles between
//! processes, which have numbers; never by a clock. Everything is read for a span of ticks, so that
//! memory does not grow with the length of a journal, and what is missing is said in words.

mod catalog;
mod chain;
mod concurrent;
mod explain;
mod fact;
mod graph;
mod holds;
mod holes;
mod id;
mod named;
mod owners;
mod past;
mod paths;
mod rows;
mod span;
mod story;
mod subject;
#[cfg(test)]
mod tests;

pub use catalog::{Catalog, Place};
pub use explain::{ExplainError, Explanation, Hop, HopVia, explain};
pub use fact::{Fact, What, message_key};
pub use graph::{Graph, Leap, Relation, UNITS_MAX, Via};
pub use holes::Gap;
pub use id::{EventId, Names, NoEvent};
pub use named::{KindAt, NoKind, first_of};
pub use owners::{OwnerSpan, ownership};
pub use past::{AROUND, Past, PastEdge, past};
pub use span::Span;
