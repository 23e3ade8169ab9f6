//! A slot moves from one baseapp to another, as planned, while either of them, or both, die and
//! come back at any moment.
//!
//! The holder freezes the slot and exports its image, outbox and marks; the target puts them into
//! its log and syncs; the holder raises the slot's term in the store in the target's favour; the
//! target takes the slot; the holder logs that it gave it away. Messages and transactions are a
//! soup: delivered never, once or often, at any later moment. A base that comes back has its log.

mod base;
mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Pair};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{
    CONFIRMED_IS_KEPT, ONE_BASE_SERVES, RECEIVED_ONCE, SERVES_UNDER_ITS_TERM, UNSENT_IS_KEPT,
};

mutants! {
    /// The target serves as soon as the export is in its log.
    TargetServesAtOnce => Fate::Violates(&[ONE_BASE_SERVES, SERVES_UNDER_ITS_TERM]),
    /// The source goes on if the move takes too long, and does not ask the store.
    SourceUnfreezes => Fate::Violates(&[ONE_BASE_SERVES, CONFIRMED_IS_KEPT]),
    /// The source serves on although the store says that the slot went, and it has logged so.
    ServesAfterGave => Fate::Violates(&[ONE_BASE_SERVES]),
    /// The target says that it has the export before that is on disk.
    TransactionBeforeSync => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// The source exports without freezing.
    ExportsUnfrozen => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// The transaction does not ask whether the term still is the one of the export.
    TransactionUnconditional => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// A base that comes back serves what its log holds without asking the store.
    RestartServesUnasked => Fate::Violates(&[ONE_BASE_SERVES, SERVES_UNDER_ITS_TERM]),
    /// A base that comes back finds in the store that the slot is its own, and serves under the
    /// old term: what its former life began can still be carried out.
    RestartKeepsTerm => Fate::Violates(&[CONFIRMED_IS_KEPT, SERVES_UNDER_ITS_TERM]),
    /// A source that calls the move off serves on under the old term.
    AbortKeepsTerm => Fate::Violates(&[CONFIRMED_IS_KEPT, SERVES_UNDER_ITS_TERM]),
    /// A late export replaces that of a newer term.
    LateExportReplaces => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// A target that comes back throws an export away that it has not taken over yet.
    RestartDropsExport => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// The outbox is not part of the export.
    OutboxStaysBehind => Fate::Violates(&[UNSENT_IS_KEPT]),
    /// The marks are not part of the export.
    MarksStayBehind => Fate::Violates(&[RECEIVED_ONCE]),
    /// A source that froze waits for the target, whatever becomes of that.
    NeverCallsOff => Fate::GetsStuck,
    /// The source does not log that it gave the slot away: when it comes back it asks the store in
    /// any case.
    GaveNotLogged => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Slots;
    const MODEL: &'static str = "slots";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Slots {
        let small = Slots::small();
        let budget = match self {
            Mutant::LateExportReplaces => Budget { moves: 2, ..Budget::default() },
            _ => small.budget,
        };
        Slots { mutant: self, budget, ..small }
    }

    fn unbroken(bounds: Slots) -> Slots {
        Slots { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Slots {
    /// Effects that may be confirmed.
    pub effects: u8,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Slots {
    /// One move, two crashes, one lost message, two effects.
    #[must_use]
    pub fn small() -> Slots {
        let budget = Budget { moves: 1, crashes: 2, losses: 1 };
        Slots { effects: 2, budget, mutant: Mutant::None }
    }
}
