//! Exact counters of one link.

use serde::{Deserialize, Serialize};

/// What a link did since it was opened. Counters only grow, also across generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStats {
    /// Payloads accepted for sending.
    pub accepted: u64,
    /// Frames handed to a connection, the repeated ones included.
    pub transmitted: u64,
    /// Frames handed to a connection that an earlier connection had been given already.
    pub resent: u64,
    /// Frames freed by an acknowledgement.
    pub acknowledged: u64,
    /// Coalescible payloads refused at the soft limit.
    pub refused_full: u64,
    /// Payloads refused because one frame would be too large.
    pub refused_too_large: u64,
    /// Payloads refused because the stream is broken and waits for its reset.
    pub refused_broken: u64,
    /// Frames that a reset handed back to the caller.
    pub abandoned: u64,
    /// Resets of the sending direction.
    pub resets: u64,
    /// Frames that arrived on the current connection.
    pub arrived: u64,
    /// Frames given to the consumer.
    pub delivered: u64,
    /// Arrivals already received before.
    pub duplicates: u64,
    /// Arrivals that had to wait behind a hole.
    pub held: u64,
    /// Arrivals of a generation that its sender has given up.
    pub old_generation: u64,
    /// Arrivals and reports of a connection that is no longer the current one.
    pub old_connection: u64,
    /// Arrivals that were not kept because of a fault. The peer sends them again.
    pub refused_arrivals: u64,
    /// Held frames discarded because the peer began a new generation, which hands the same frames
    /// back to the peer's caller.
    pub discarded_by_peer_reset: u64,
    /// New generations begun by the peer.
    pub peer_resets: u64,
    /// Connections that began.
    pub connections: u64,
    /// Connections that began after the first one.
    pub reconnects: u64,
    /// Faults reported to the caller.
    pub faults: u64,
}
