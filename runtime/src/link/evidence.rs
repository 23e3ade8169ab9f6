//! What is known about a peer's being there, for those who judge: whether its connections stand,
//! when it was heard, and how attempts to reach it failed.

use marchland_common::order::Node;
use std::io;

/// How an attempt to connect failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialFailure {
    /// Its machine answered that nobody listens there.
    #[error("connection refused")]
    Refused,
    /// There is no way to its machine.
    #[error("host or network unreachable")]
    Unreachable,
    /// Its host name does not resolve.
    #[error("the host name is gone")]
    NameGone,
    /// Nothing answered in time.
    #[error("no answer in time")]
    Silent,
    /// The connection ended before the greeting was answered.
    #[error("the connection ended during the greeting: {0}")]
    Broken(String),
    /// The greeting was refused.
    #[error("the greeting was refused: {code}: {message}")]
    Hello {
        /// The stable name of the reason.
        code: String,
        /// What to do, for people.
        message: String,
        /// Whether another attempt may succeed.
        may_retry: bool,
    },
    /// Our own side cannot go on with that life.
    #[error("{0}")]
    NoLink(String),
}

impl DialFailure {
    /// Whether the failure came at once and says that nobody is there: a process that is alive
    /// does not look like this.
    #[must_use]
    pub const fn is_absence(&self) -> bool {
        matches!(self, Self::Refused | Self::Unreachable | Self::NameGone)
    }

    /// What an error of the operating system says.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::Unreachable,
            io::ErrorKind::TimedOut => Self::Silent,
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// What this process knows about one life of a peer. Times are monotonic nanoseconds of this
/// machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEvidence {
    /// Which life.
    pub peer: Node,
    /// Whether our stream to it stands.
    pub sending: bool,
    /// Whether its stream to us stands.
    pub receiving: bool,
    /// When it was heard last; when it became known, before that.
    pub heard_ns: u64,
    /// Since when none of its streams stands; none while one does, or before the first.
    pub ended_ns: Option<u64>,
    /// Attempts in a row that failed at once because nobody was there, and when the first failed.
    pub absent: u32,
    /// When the first of these failed.
    pub absent_since_ns: u64,
    /// How the newest attempt failed; none after one that succeeded.
    pub failure: Option<DialFailure>,
}

/// So many attempts in a row must find nobody before a peer may count as gone.
pub const ABSENT_ATTEMPTS: u32 = 3;

impl PeerEvidence {
    pub(super) const fn new(peer: Node, now_ns: u64) -> Self {
        Self {
            peer,
            sending: false,
            receiving: false,
            heard_ns: now_ns,
            ended_ns: None,
            absent: 0,
            absent_since_ns: 0,
            failure: None,
        }
    }

    /// Whether its stream ended and attempt after attempt found nobody there.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        !self.sending && !self.receiving && self.absent >= ABSENT_ATTEMPTS
    }

    /// For how long nothing was heard, in nanoseconds.
    #[must_use]
    pub const fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.heard_ns)
    }

    pub(super) fn heard(&mut self, now_ns: u64) {
        self.heard_ns = self.heard_ns.max(now_ns);
    }

    pub(super) fn set_sending(&mut self, stands: bool, now_ns: u64) {
        self.sending = stands;
        if stands {
            self.absent = 0;
            self.failure = None;
        }
        self.note(stands, now_ns);
    }

    pub(super) fn set_receiving(&mut self, stands: bool, now_ns: u64) {
        self.receiving = stands;
        self.note(stands, now_ns);
    }

    /// A stream begins with an answer. Its end is no word of the peer, also while another stands.
    fn note(&mut self, begins: bool, now_ns: u64) {
        let stands = self.sending || self.receiving;
        self.ended_ns = if stands { None } else { self.ended_ns.or(Some(now_ns)) };
        if begins {
            self.heard(now_ns);
        }
    }

    pub(super) fn failed(&mut self, failure: DialFailure, now_ns: u64) {
        if failure.is_absence() {
            if self.absent == 0 {
                self.absent_since_ns = now_ns;
            }
            self.absent = self.absent.saturating_add(1);
        } else {
            self.absent = 0;
        }
        self.failure = Some(failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::NodeKind;

    #[test]
    fn only_attempts_that_found_nobody_in_a_row_make_a_peer_absent() {
        let mut peer = PeerEvidence::new(Node::new(NodeKind::Cell, 1, 9), 5);
        peer.set_sending(true, 10);
        peer.failed(DialFailure::Refused, 11);
        peer.failed(DialFailure::NameGone, 12);
        peer.failed(DialFailure::Silent, 13);
        assert_eq!(peer.absent, 0, "silence is not absence");
        (14..17).for_each(|at| peer.failed(DialFailure::Unreachable, at));
        assert!(!peer.is_absent(), "its stream still stands");
        peer.set_sending(false, 20);
        assert!(peer.is_absent());
        assert_eq!((peer.absent_since_ns, peer.ended_ns), (14, Some(20)));
        peer.set_sending(true, 30);
        assert!(!peer.is_absent());
        assert_eq!((peer.ended_ns, peer.failure.clone(), peer.heard_ns), (None, None, 30));
    }

    #[test]
    fn the_end_of_a_stream_is_no_word_of_the_peer_also_while_the_other_one_stands() {
        let mut peer = PeerEvidence::new(Node::new(NodeKind::Cell, 1, 9), 5);
        peer.set_sending(true, 10);
        peer.set_receiving(true, 20);
        peer.set_sending(false, 700);
        assert_eq!((peer.heard_ns, peer.ended_ns), (20, None));
        peer.set_receiving(false, 710);
        assert_eq!((peer.heard_ns, peer.ended_ns), (20, Some(710)));
    }
}
