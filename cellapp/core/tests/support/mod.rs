//! Two or more cores, a scripted base on the other side, and a wire between them that takes half a
//! tick each way.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub mod base;
pub mod cluster;
pub mod world;

pub use base::FakeBase;
pub use cluster::Cluster;
pub use world::*;

use marchland_common::order::{EntityId, Node, NodeKind, SlotId, SpaceId};

pub const STEP_US: u64 = 50_000;
pub const PLAIN: SpaceId = SpaceId(1);
pub const CAVE: SpaceId = SpaceId(2);

/// The n-th cellapp in its first life.
pub fn cell(n: u16) -> Node {
    Node::new(NodeKind::Cell, n, u64::from(n) * 10)
}

/// The base in its first life.
pub fn base() -> Node {
    Node::new(NodeKind::Base, 1, 100)
}

/// The n-th entity of the base.
pub fn entity(n: u64) -> EntityId {
    EntityId::new(SlotId(0), n)
}
