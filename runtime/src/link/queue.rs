//! What crosses from the I/O side to the tick thread, and the room that bounds it.

use marchland_common::msg::Frame;
use marchland_common::order::Node;
use marchland_common::time::PeerSample;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::config::{INBOUND_BYTES_MAX, INBOUND_ITEMS_MAX};

/// What the tick thread drains.
pub(super) enum ToTick {
    /// A bundle, and the room that it takes until it is drained.
    Frame { frame: Box<Frame>, room: Arc<Room>, bytes: usize },
    /// That life and older ones of its name are over: what they said counts no more.
    Over(Node),
}

/// How much of one peer waits for the tick thread. Only the I/O side adds, only the tick thread
/// takes away, and neither waits for the other.
#[derive(Debug, Default)]
pub(super) struct Room {
    items: AtomicUsize,
    bytes: AtomicUsize,
}

impl Room {
    pub(super) fn is_open(&self) -> bool {
        self.items.load(Ordering::Acquire) < INBOUND_ITEMS_MAX
            && self.bytes.load(Ordering::Acquire) < INBOUND_BYTES_MAX
    }

    pub(super) fn take(&self, bytes: usize) {
        self.items.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.items.fetch_sub(1, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// What one bundle said about its sender's clock, and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Who said it.
    pub peer: Node,
    /// What it said.
    pub sample: PeerSample,
    /// The monotonic nanosecond of its arrival.
    pub arrived_ns: u64,
}
