//! What a proxy is told to do, and what it counts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the dialer to the target.
    Up,
    /// From the target to the dialer.
    Down,
}

/// What happens to the bytes of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// They are passed on.
    #[default]
    Pass,
    /// They are passed on this much later, in their order.
    Delay(Duration),
    /// They are not read: they fill the buffers of both kernels, then their sender waits. Nothing
    /// is lost.
    Stall,
    /// They are read and thrown away, the end of the connection too: their sender notices nothing.
    /// A connection that lost bytes this way is cut when the proxy is healed.
    Discard,
}

/// What holds for all connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) up: Way,
    pub(crate) down: Way,
    /// For connections that are dialed from an address, instead of the above.
    pub(crate) sources: BTreeMap<(IpAddr, Direction), Way>,
    /// Nobody listens.
    pub(crate) refuse: bool,
    /// Connections that began before so many cuts are over.
    pub(crate) cuts: u64,
    /// Each connection ends after so many bytes of its dialer.
    pub(crate) cut_after: Option<u64>,
}

impl Orders {
    /// What happens to the bytes of a connection dialed from there.
    pub(crate) fn way(&self, source: IpAddr, direction: Direction) -> Way {
        let general = match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        };
        self.sources.get(&(source, direction)).copied().unwrap_or(general)
    }
}

/// Bytes of one direction over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Read from their sender.
    pub read: u64,
    /// Given to their receiver.
    pub passed: u64,
    /// Thrown away.
    pub discarded: u64,
}

/// What a proxy did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Of these, how many are open.
    pub open: u64,
    /// From the dialers.
    pub up: Flow,
    /// From the target.
    pub down: Flow,
}

/// The same, as it grows.
#[derive(Debug, Default)]
pub(crate) struct LiveFlow {
    pub(crate) read: AtomicU64,
    pub(crate) passed: AtomicU64,
    pub(crate) discarded: AtomicU64,
}

impl LiveFlow {
    fn now(&self) -> Flow {
        Flow {
            read: self.read.load(Ordering::SeqCst),
            passed: self.passed.load(Ordering::SeqCst),
            discarded: self.discarded.load(Ordering::SeqCst),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct LiveCounts {
    pub(crate) accepted: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) up: LiveFlow,
    pub(crate) down: LiveFlow,
}

impl LiveCounts {
    pub(crate) const fn flow(&self, direction: Direction) -> &LiveFlow {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    pub(crate) fn now(&self) -> Counts {
        // Ends first: none may be counted that was not counted as accepted.
        let ended = self.ended.load(Ordering::SeqCst);
        let accepted = self.accepted.load(Ordering::SeqCst);
        Counts { accepted, open: accepted - ended, up: self.up.now(), down: self.down.now() }
    }
}
