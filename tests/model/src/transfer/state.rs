//! The state of the transfer model.

use std::collections::BTreeSet;

/// Number of a transfer; the identity of a transfer is (A, number).
pub type Number = u8;

/// A set of transfers, as bits.
pub type Set = u8;

/// Ownership epoch of one of the entities.
pub type Epoch = u8;

/// The state of the source.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct A {
    /// Counts its changes; the base takes only a higher one.
    pub seq: u8,
    /// Units that it holds.
    pub units: u8,
    /// Transfers made so far; the next number.
    pub sent: Number,
    /// Transfers that came back and were credited.
    pub returned: Set,
}

/// The state of the destination.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct X {
    /// Counts its changes; the base takes only a higher one.
    pub seq: u8,
    /// Units that it holds.
    pub units: u8,
    /// Transfers that were credited; for the properties, not for the protocol.
    pub credited: Set,
    /// The mark: the next number expected from A. `None` if nothing was ever received or
    /// everything is settled; then the next is the first that A's base keeps.
    pub mark: Option<Number>,
    /// It was destroyed.
    pub destroyed: bool,
}

/// A message on the network.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Msg {
    /// A's owner to A's base.
    StepA(Epoch, A),
    /// X's owner to X's base.
    StepX(Epoch, X),
    /// A's base to X's base, and on to a copy of X: a transfer, and the first one that A's base
    /// kept when it sent this.
    Deliver {
        /// The transfer.
        number: Number,
        /// The first transfer in the outbox at that time.
        first_open: Number,
    },
    /// X's base to A's base: everything below is credited and durable.
    Credited(Number),
    /// X's base to A's base: X is no more, and this transfer was not credited.
    Undeliverable(Number),
    /// A's base to a copy of A: this transfer came back.
    Return(Number),
    /// A's base to X's base, and on to a copy of X: everything below is done with.
    Settled(Number),
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct World {
    /// Durable image of A, and its epoch.
    pub a: (Epoch, A),
    /// Copies of A: the owner's and those of zombies.
    pub a_copies: BTreeSet<(Epoch, A)>,
    /// Durable image of X, and its epoch.
    pub x: (Epoch, X),
    /// Copies of X.
    pub x_copies: BTreeSet<(Epoch, X)>,
    /// Durable, at A's base: transfers on their way.
    pub outbox: Set,
    /// Durable, at A's base: transfers on their way back.
    pub returning: Set,
    /// Durable, at A's base: everything below has left the outbox as credited.
    pub done: Number,
    /// What is on the network.
    pub net: BTreeSet<Msg>,
}
