//! The state of the slots model: two baseapps with a log each, the slot's key in the store, and
//! what is on its way.

use std::collections::BTreeSet;

/// The slot's term, as the store hands it out.
pub type TermNumber = u8;

/// What a log holds of the slot.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// How many effects were confirmed from it.
    pub effects: u8,
    /// The one message of its entity to another: sent.
    pub sent: bool,
    /// It is in the outbox: sent, and no answer has come.
    pub outbox: bool,
    /// How often the one message to its entity was taken.
    pub received: u8,
    /// The mark that says that it was.
    pub mark: bool,
}

/// What a process does with the slot: lost when it dies.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It has come up and has not asked the store yet.
    Starting,
    /// The slot is another's.
    Idle,
    /// It serves the slot.
    Serving,
    /// It has exported the slot and stands still.
    Frozen,
}

/// An export, as the target keeps it until it takes the slot.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Export {
    /// The term under which it was exported.
    pub term: TermNumber,
    /// What it holds.
    pub image: Image,
}

/// One baseapp. All but `phase` and `unsynced` is in its log.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// The term under which it last held the slot; 0 is never.
    pub term: TermNumber,
    /// What it held then.
    pub image: Image,
    /// It has logged that it gave the slot away.
    pub gave: bool,
    /// An export that it has not taken over.
    pub import: Option<Export>,
    /// Volatile: an export that is not on disk (a mutant's).
    pub unsynced: Option<Export>,
    /// Volatile: what it does.
    pub phase: Phase,
}

/// The slot's key.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Which base holds it.
    pub holder: u8,
    /// The newest term.
    pub term: TermNumber,
    /// The term that was exported when it last changed hands.
    pub from: TermNumber,
}

/// Something on its way.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Msg {
    /// The slot's content, for the target.
    Export {
        /// The target.
        to: u8,
        /// What it gets.
        export: Export,
    },
    /// The target has it on disk.
    Synced {
        /// The source.
        to: u8,
        /// The term of the export.
        term: TermNumber,
    },
    /// The transaction in the target's favour.
    Move {
        /// The target.
        to: u8,
        /// The term that it replaces.
        term: TermNumber,
    },
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Moves that are ordered.
    pub moves: u8,
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
    /// The slot's key in the store.
    pub key: Key,
    /// On their way.
    pub net: BTreeSet<Msg>,
    /// The message has arrived at the other entity, which is on a third base.
    pub arrived: bool,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: effects that were confirmed.
    pub confirmed: u8,
    /// For the properties: both bases have died at least once.
    pub died: [bool; 2],
}

impl Pair {
    /// The content of the slot that counts: the holder's, which may still have to take it over.
    #[must_use]
    pub fn content(&self) -> Image {
        let holder = &self.bases[usize::from(self.key.holder)];
        let waits = holder.import.filter(|import| import.term == self.key.from);
        waits.map_or(holder.image, |import| import.image)
    }
}
