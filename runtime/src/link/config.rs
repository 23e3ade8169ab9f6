//! The settings of a link plane, and the numbers it does not let anybody change.

use marchland_common::link::{ChannelId, LinkLimits, LocalIdentity};
use marchland_common::order::Node;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The protocol of the link plane that this build speaks, and no other. 2: a base numbers its
/// questions what a cellapp holds, and hears the end of each answer.
pub const PROTO: u32 = 2;
/// Largest message that is decoded, in bytes: above the largest frame with its envelope.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Largest answer on the way back: a greeting, a refusal or an acknowledgement.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// No message is smaller than this on the wire. An HTTP/2 stack closes a connection that carries
/// many unread data frames below 256 bytes.
pub const MESSAGE_BYTES_MIN: usize = 256;
/// Flow-control window of a stream and of a connection, in bytes.
pub const WINDOW_BYTES: u32 = 4 << 20;
/// Largest HTTP/2 data frame, in bytes.
pub const H2_FRAME_BYTES: u32 = 1 << 20;
/// Largest bundle, in bytes. What does not fit one frame goes on in the next.
pub const BUNDLE_BYTES_MAX: usize = 16 << 20;
/// Offloads above this many bytes travel on the bulk channel.
pub const BULK_FROM_BYTES: usize = 64 << 10;
/// Bytes of one chunk on the bulk channel.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Most batches of bundles that wait for their record to be written: at four a tick and 20 ticks
/// a second more than six seconds of a disk that stands still.
pub const BATCHES_MAX: usize = 512;
/// Most bundles of one peer that are received and not drained by the tick thread.
pub const INBOUND_ITEMS_MAX: usize = 256;
/// Bytes of one peer that are received and not drained from which on no more is handed over.
pub const INBOUND_BYTES_MAX: usize = 16 << 20;
/// Most events that wait for the tick thread; more are counted and dropped.
pub const EVENTS_MAX: usize = 4096;

/// How a link plane behaves.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Who this is.
    pub identity: LocalIdentity,
    /// Limits of the ordered channel. Both ends must use the same.
    pub ordered: LinkLimits,
    /// Limits of the bulk channel. Both ends must use the same.
    pub bulk: LinkLimits,
    /// Times of connecting and keeping alive.
    pub times: LinkTimes,
    /// The address of this machine from which peers are dialed; the system's choice if none.
    pub dial_from: Option<IpAddr>,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct LinkTimes {
    /// For a TCP connection.
    pub connect: Duration,
    /// From the connection to the answer to the greeting.
    pub hello: Duration,
    /// Between two questions whether the other end is there, in both directions, also when idle.
    pub keep_alive: Duration,
    /// For the answer to such a question. A dead path is noticed within the sum of both.
    pub keep_alive_answer: Duration,
    /// Before the first attempt to connect again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two attempts.
    pub retry_max: Duration,
}

impl LinkTimes {
    /// A dead path is noticed within 0.7 s, a healed one used within 1 s; three attempts that fail
    /// at once fit into 150 ms.
    pub const STANDARD: Self = Self {
        connect: Duration::from_millis(300),
        hello: Duration::from_millis(400),
        keep_alive: Duration::from_millis(300),
        keep_alive_answer: Duration::from_millis(400),
        retry_min: Duration::from_millis(20),
        retry_max: Duration::from_millis(250),
    };
}

impl LinkConfig {
    /// The standard settings for a process of a cluster with these entity kinds.
    #[must_use]
    pub const fn new(cluster: u64, schema_hash: u64, node: Node) -> Self {
        let identity =
            LocalIdentity { cluster, proto_min: PROTO, proto_max: PROTO, schema_hash, node };
        Self {
            identity,
            ordered: LinkLimits::ORDERED,
            bulk: LinkLimits::BULK,
            times: LinkTimes::STANDARD,
            dial_from: None,
        }
    }

    /// The channels and their limits.
    #[must_use]
    pub(super) fn channels(&self) -> BTreeMap<ChannelId, LinkLimits> {
        BTreeMap::from([(ChannelId::ORDERED, self.ordered), (ChannelId::BULK, self.bulk)])
    }
}
