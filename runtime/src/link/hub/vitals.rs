//! How the links of a plane are, for whoever looks.

use super::{Hub, State};
use marchland_common::link::{ChannelId, Direction};
use marchland_common::order::Node;

/// How the links to and from one life are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkVitals {
    /// Which life.
    pub peer: Node,
    /// Whether our stream to it stands.
    pub sending: bool,
    /// Whether its stream to us stands.
    pub receiving: bool,
    /// Frames to it that are not acknowledged.
    pub unacked: usize,
    /// Their bytes.
    pub unacked_bytes: usize,
    /// Those of them that no connection has taken yet.
    pub queued: usize,
    /// For how long nothing was heard from it.
    pub silent_ns: u64,
}

impl Hub {
    /// Of every known life, by name. Takes the lock for a moment.
    pub(in crate::link) fn vitals(&self, now_ns: u64) -> Vec<LinkVitals> {
        let mut state = self.lock();
        let State { links, evidence, .. } = &mut *state;
        let of = |peer: &super::PeerEvidence| {
            let machine = links.get(peer.peer, ChannelId::ORDERED, Direction::Outgoing);
            let (queued, (unacked, unacked_bytes)) =
                machine.map_or((0, (0, 0)), |m| (m.unsent(), m.unacknowledged()));
            LinkVitals {
                peer: peer.peer,
                sending: peer.sending,
                receiving: peer.receiving,
                unacked,
                unacked_bytes,
                queued,
                silent_ns: peer.silent_ns(now_ns),
            }
        };
        evidence.values().map(of).collect()
    }
}
