//! The order of causes is a partial order that holds what journals say, and nothing else.

mod explain;
mod hostile;
mod partial_order;
mod support;
