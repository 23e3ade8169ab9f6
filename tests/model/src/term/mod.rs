//! The log's term: one folder, one writer after another.
//!
//! Lives of a baseapp open the same log, one after another or, if nothing kept them from it, at the
//! same time. A life takes the folder's lock, reads the log, takes a new term from the store,
//! writes the term into the log, and then appends effects and confirms what is on disk. It can be
//! killed at any moment (what it wrote stays), its host can die (what was not synced is lost), it
//! can stand still for as long as it likes, and the store can be replaced by an empty one.

mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Folder};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{BY_HIGHEST_TERM, CONFIRMED_IS_KEPT, SINGLE_WRITER, TERMS_GROW};

mutants! {
    /// A successor opens the log although another life holds its lock.
    NoLock => Fate::Violates(&[SINGLE_WRITER, BY_HIGHEST_TERM, CONFIRMED_IS_KEPT]),
    /// A life that ends in good order gives the lock back before its last record is confirmed.
    LockLeftEarly => Fate::Violates(&[BY_HIGHEST_TERM]),
    /// A successor goes on under the term that it finds in the log.
    KeepsOldTerm => Fate::Violates(&[TERMS_GROW]),
    /// A life takes whatever term the store gives, also one that is not above the log's.
    TrustsAnyStore => Fate::Violates(&[TERMS_GROW]),
    /// A life serves before its term is on disk.
    TermNotSynced => Fate::Violates(&[TERMS_GROW]),
    /// An effect is confirmed when it is written.
    ConfirmsBeforeSync => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// A refused store is never raised above the log.
    NoRecovery => Fate::GetsStuck,
    /// A reader takes records whose term is lower than that of a record before them: while the
    /// lock is kept, nobody writes such a record.
    ReadsAnyTerm => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Term;
    const MODEL: &'static str = "term";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Term {
        Term { mutant: self, ..Term::small() }
    }

    fn unbroken(bounds: Term) -> Term {
        Term { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Term {
    /// Lives that may ever open the log, at most 5.
    pub lives: u8,
    /// Effects to be confirmed, at most 7.
    pub effects: u8,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Term {
    /// Three lives, two effects, one fault of each kind.
    #[must_use]
    pub fn small() -> Term {
        Term {
            lives: 3,
            effects: 2,
            budget: Budget { kills: 1, host_losses: 1, retirements: 1, store_losses: 1 },
            mutant: Mutant::None,
        }
    }
}
