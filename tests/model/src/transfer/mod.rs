//! Value that moves from entity A to entity X, on different cellapps and different bases.
//!
//! A's base keeps the transfer in an outbox from the moment the debit is durable until X's base
//! says that the credit is; X keeps a mark per source in its durable state. Any owner of either
//! entity can be replaced at any moment, and the old copy acts on as a zombie for as long as it
//! likes; the network loses, doubles and reorders everything. X may also be destroyed; what did
//! not reach it comes back to A. When nothing is open, X forgets its mark.

mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::World;

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{CONSERVED, DEBIT_FIRST, IN_ORDER, ONE_FATE, UNDELIVERED_IS_KEPT};

mutants! {
    /// A transfer leaves before the debit is durable.
    SentBeforePersist => Fate::Violates(&[DEBIT_FIRST, CONSERVED]),
    /// X does not look at its mark.
    NoDedup => Fate::Violates(&[CONSERVED]),
    /// The mark does not travel with X's image.
    MarkNotDurable => Fate::Violates(&[CONSERVED]),
    /// X's side acknowledges before the credit is durable.
    AckBeforePersist => Fate::Violates(&[UNDELIVERED_IS_KEPT]),
    /// X's base takes steps of a former owner.
    NoFenceAtX => Fate::Violates(&[UNDELIVERED_IS_KEPT]),
    /// A's base takes steps of a former owner.
    NoFenceAtA => Fate::Violates(&[DEBIT_FIRST, CONSERVED]),
    /// X takes a later transfer before an earlier one.
    GapAccepted => Fate::Violates(&[IN_ORDER, UNDELIVERED_IS_KEPT]),
    /// The answer that X is no more leaves before that is durable.
    UndeliverableBeforePersist => Fate::Violates(&[ONE_FATE, CONSERVED]),
    /// A does not remember which transfers have come back.
    ReturnNotDeduped => Fate::Violates(&[CONSERVED]),
    /// A's base drops a returned transfer before the return is durable.
    ReturnDroppedEarly => Fate::Violates(&[UNDELIVERED_IS_KEPT]),
    /// `Settled` can overtake copies of the transfers that it settles.
    SettledOvertakes => Fate::Violates(&[CONSERVED]),
}

impl BrokenRule for Mutant {
    type Bounds = Transfer;
    const MODEL: &'static str = "transfer";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Transfer {
        let destroys = matches!(
            self,
            Mutant::UndeliverableBeforePersist
                | Mutant::ReturnNotDeduped
                | Mutant::ReturnDroppedEarly
        );
        let settles = self == Mutant::SettledOvertakes;
        Transfer { mutant: self, destroys, settles, ..Transfer::small() }
    }

    fn unbroken(bounds: Transfer) -> Transfer {
        Transfer { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Units that A begins with; each transfer moves one. At most 4.
    pub units: u8,
    /// Times that the owner of A and the owner of X may be replaced, each.
    pub replacements: u8,
    /// X may be destroyed.
    pub destroys: bool,
    /// A's base says `Settled` when nothing is open.
    pub settles: bool,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Transfer {
    /// Two transfers, one replacement on each side.
    #[must_use]
    pub fn small() -> Transfer {
        Transfer {
            units: 2,
            replacements: 1,
            destroys: false,
            settles: false,
            mutant: Mutant::None,
        }
    }
}
