//! Deliberate misbehaviour, for simulations and tests. All off by default; not part of the state,
//! so a snapshot never carries it.

/// Which promises of etcd are broken at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Watches skip the events that fall due while this is on, without a word.
    pub drop_watch_events: bool,
    /// Every watch that is polled is cancelled by the server.
    pub cancel_watches: bool,
    /// Renewals are refused with `etcdserver: no leader`; leases run out meanwhile.
    pub refuse_keep_alives: bool,
    /// Nothing is answered and nothing is applied, as by a stopped process.
    pub stall: bool,
}
