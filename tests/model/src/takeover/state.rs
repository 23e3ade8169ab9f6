//! The state of the takeover model: two baseapps with a log each, the locks of the logs, the store,
//! and what is on its way.

use std::collections::BTreeSet;

/// The slot's term, as the store hands it out.
pub type TermNumber = u8;
/// Which life of a base: the first is 1.
pub type Life = u8;

/// What a process does with the slot: lost when it dies.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// There is no process.
    Down,
    /// It has the lock of its log.
    Started,
    /// It has said in the store that it writes the log.
    Owned,
    /// It has asked the store, and has not said yet that it writes the log (a mutant's).
    Asked,
    /// The slot is another's.
    Idle,
    /// It serves the slot.
    Serving,
}

/// A takeover at the base that carries it out: lost when it dies.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Take {
    /// The term that was ordered.
    pub term: TermNumber,
    /// The life that was ordered.
    pub life: Life,
    /// It has the lock of the other log.
    pub locked: bool,
    /// What it read there.
    pub read: Option<u8>,
    /// That is in its own log.
    pub held: bool,
}

/// One baseapp. All but `phase` and `take` is in its log.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// The term under which it keeps the slot; none if it does not.
    pub row: Option<TermNumber>,
    /// How many effects were confirmed from what it holds.
    pub effects: u8,
    /// What came out of the other log, under which term, and was not taken.
    pub import: Option<(TermNumber, u8)>,
    /// Which life it is in.
    pub life: Life,
    /// Volatile: what it does.
    pub phase: Phase,
    /// Volatile: what it takes over.
    pub take: Option<Take>,
}

/// The store.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Store {
    /// Which base the slot's key names.
    pub holder: u8,
    /// Its term.
    pub term: TermNumber,
    /// The life that said last that it writes the log, of each base.
    pub wrote: [Life; 2],
}

/// Something on its way. The life is that of the base that is said to be lost.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Msg {
    /// Take the slot over.
    Order {
        /// The taker.
        to: u8,
        /// The term of the key.
        term: TermNumber,
        /// Whose log it is.
        life: Life,
    },
    /// The transaction in the taker's favour.
    Commit {
        /// The taker.
        to: u8,
        /// The term that it replaces.
        term: TermNumber,
        /// Whose log was read.
        life: Life,
    },
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Takeovers that are ordered, of whoever holds the slot then.
    pub orders: u8,
    /// Crashes, of either base.
    pub crashes: u8,
    /// Messages that are lost for good.
    pub losses: u8,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The bases.
    pub bases: [Base; 2],
    /// The store.
    pub store: Store,
    /// On their way.
    pub net: BTreeSet<Msg>,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: effects that were confirmed.
    pub confirmed: u8,
    /// For the properties: takeovers that were committed.
    pub committed: u8,
}

impl Pair {
    /// How many effects are in the content that counts: the holder's, which may still have to take it
    /// up.
    #[must_use]
    pub fn content(&self) -> u8 {
        let holder = &self.bases[usize::from(self.store.holder)];
        match (holder.row, holder.import) {
            (None, Some((_, effects))) => effects,
            (None, None) => 0,
            (Some(_), _) => holder.effects,
        }
    }

    /// Whether a log is locked, by whoever.
    #[must_use]
    pub fn is_locked(&self, log: u8) -> bool {
        let by_taker = self.bases[usize::from(1 - log)].take.is_some_and(|take| take.locked);
        by_taker || self.bases[usize::from(log)].phase != Phase::Down
    }
}
