//! The `march` executable.
fn main() {}
