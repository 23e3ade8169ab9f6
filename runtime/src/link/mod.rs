//! The link plane: bundles between processes, over gRPC.
//!
//! ```text
//!  tick thread                    I/O runtime                                     the peer
//!  LinkTick::send ----> pump: waits for the record, encodes ---> machine ---> dialer ---> accept
//!  LinkTick::drain <--- queue, bounded by room <--- machine <--- accept <--- dialer of the peer
//! ```
//!
//! Each process dials what it sends: one connection for each ordered pair of lives and channel.
//! What holds over any number of connections is the business of the pure machine in
//! `marchland_common::link`; here it gets sockets, tasks and clocks.
//!
//! Invariants:
//! - The tick thread never waits here. The sockets are always drained, into queues of our own with
//!   limits; what slows a sender down is the credit that the receiver does not give.
//! - A bundle leaves only after the record of its tick was written.
//! - One message and one flush for each peer and output moment; no message is below 256 bytes.
//! - What a peer sends can end its own connection and nothing else.
//! - Everything that is refused, lost or dropped is a [`LinkEvent`] and a count.
//!
//! What to do when a peer is slow: above the soft limit of a link `Congested` is told, large
//! offloads are dropped; at the hard limit the stream is given up, `Lost` is told, and the peer
//! sees `PeerReset` and a gap in the numbers of the bundles, so that both send their state anew.

mod accept;
mod bulk;
mod config;
mod dialer;
mod event;
mod evidence;
mod hub;
mod packet;
mod plane;
mod queue;
mod socket;
mod tick_side;
mod wire;
mod witness;

pub use accept::LinkService;
pub use config::{
    BATCHES_MAX, BUNDLE_BYTES_MAX, INBOUND_BYTES_MAX, INBOUND_ITEMS_MAX, LinkConfig, LinkTimes,
    MESSAGE_BYTES_MAX, PROTO,
};
pub use event::LinkEvent;
pub use evidence::{ABSENT_ATTEMPTS, DialFailure, PeerEvidence};
pub use hub::SendCounts;
pub use plane::{LinkPlane, PeerAddr};
pub use queue::Observation;
pub(crate) use socket::{Resolver, channel_over, dial};
pub use socket::{incoming, server};
pub use tick_side::{Drained, LinkTick, SendFull};
pub use witness::{PlaneWitness, WitnessAsker};
