//! The state of the term model: a log in a folder, the lives that want to write it, the store.

/// A term, as the store hands it out; 0 is before the first.
pub type TermNumber = u8;

/// A set of effects, as bits.
pub type Effects = u8;

/// One record.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// The term of the life that wrote it.
    pub term: TermNumber,
    /// The effect, as a set of one; empty in the record that begins a term.
    pub effect: Effects,
}

/// Where a life is.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It has not begun.
    #[default]
    Waiting,
    /// It has read the log and has no term.
    Opened,
    /// It has a term and its record is not on disk.
    Raised,
    /// It serves.
    Serving,
    /// It has ended in good order; what it wrote last may still wait for its confirmation.
    Retired,
    /// It is over.
    Over,
}

/// One life of a baseapp that may write this log.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life {
    /// Where it is.
    pub phase: Phase,
    /// Its term.
    pub term: TermNumber,
    /// What it has read or written.
    pub image: Effects,
    /// What it has written and not confirmed.
    pub pending: Effects,
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Lives that are killed; what they wrote stays.
    pub kills: u8,
    /// Hosts that die; what was not synced is lost.
    pub host_losses: u8,
    /// Lives that end in good order.
    pub retirements: u8,
    /// Stores that are replaced by empty ones.
    pub store_losses: u8,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    /// What the file holds.
    pub records: Vec<Record>,
    /// How many of its records are on disk.
    pub synced: usize,
    /// The life that holds the lock.
    pub lock: Option<u8>,
    /// The lives.
    pub lives: Vec<Life>,
    /// The newest term that the store has handed out.
    pub store: TermNumber,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: what clients were told.
    pub confirmed: Effects,
    /// For the properties: the highest term that ever served.
    pub top: TermNumber,
    /// For the properties: a life began to serve under a term that was not the highest.
    pub term_fell: bool,
    /// For the properties: somebody confirmed under a term that was not the log's highest.
    pub confirmed_below: bool,
}

impl Folder {
    /// The highest term in the log.
    #[must_use]
    pub fn highest(&self) -> TermNumber {
        self.records.iter().map(|record| record.term).max().unwrap_or(0)
    }
}
