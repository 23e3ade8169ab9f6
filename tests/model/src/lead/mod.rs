//! Who may write to the store: two managers of which one leads, and one cellapp whose life is
//! either registered or declared dead.
//!
//! A transaction is applied at any moment after it was sent, once or never: its sender may long
//! have lost its lease, have been stopped, or lead again. A lease may end although its holder is
//! well. So nothing that a sender knew when it sent may be taken for granted when it is applied;
//! the transaction has to ask.

mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Store};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{BUILT_ON_NEWEST, BY_LEADER, DEAD_STAY_DEAD, REGISTERED_OR_DEAD, TERMS_IN_ORDER};

mutants! {
    /// A manager's writes do not ask who leads.
    NoGuard => Fate::Violates(&[BY_LEADER, TERMS_IN_ORDER]),
    /// They ask for the name of the leader instead of its term.
    GuardsByName => Fate::Violates(&[BY_LEADER]),
    /// A manager asks who leads, and writes afterwards.
    AsksThenWrites => Fate::Violates(&[BY_LEADER]),
    /// A layout is written without asking whether the one it was made from still holds.
    LayoutUnconditional => Fate::Violates(&[BUILT_ON_NEWEST]),
    /// A tombstone is put after a look at the registration, not together with it.
    StoneLooksFirst => Fate::Violates(&[REGISTERED_OR_DEAD]),
    /// A life is registered after a look for its tombstone, not together with it.
    RegistersAfterLook => Fate::Violates(&[REGISTERED_OR_DEAD]),
    /// A tombstone leaves the registration of its life in place.
    StoneLeavesMember => Fate::Violates(&[REGISTERED_OR_DEAD]),
    /// A process that finds its tombstone removes it.
    RemovesOwnStone => Fate::Violates(&[DEAD_STAY_DEAD]),
    /// A process that was declared dead tries to register the same life for ever.
    NeverBornAgain => Fate::GetsStuck,
    /// A manager whose write was refused goes on believing that it leads.
    RefusedLeaderStays => Fate::GetsStuck,
}

impl BrokenRule for Mutant {
    type Bounds = Lead;
    const MODEL: &'static str = "lead";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Lead {
        let small = Lead::small();
        let budget = match self {
            Mutant::RefusedLeaderStays => Budget { leases: 2, ..Budget::default() },
            _ => small.budget,
        };
        Lead { mutant: self, budget }
    }

    fn unbroken(bounds: Lead) -> Lead {
        Lead { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Lead {
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Lead {
    /// One disturbance of each kind.
    #[must_use]
    pub fn small() -> Lead {
        let budget = Budget { leases: 1, lapses: 1, verdicts: 1, crashes: 1 };
        Lead { budget, mutant: Mutant::None }
    }
}
