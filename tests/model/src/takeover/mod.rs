//! A slot whose baseapp is lost goes on at another one, which reads the log of the first, while
//! either of them dies and comes back at any moment.
//!
//! The taker locks the log, reads it, puts what it says into its own log and lets the leader write
//! the slot's key, guarded by the slot's term and by the life that wrote the log last. A base that
//! comes back locks its own log, writes its life down in the store, and only then asks whose the
//! slot is. Orders and transactions are a soup: delivered never, once or often, at any later moment,
//! and a verdict may be wrong.

mod base;
mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Pair};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{CONFIRMED_IS_KEPT, ONE_BASE_SERVES, SERVES_WHAT_IT_KEEPS};

mutants! {
    /// The taker reads the log without its lock: whoever writes it may live.
    AdoptsWithoutLock => Fate::Violates(&[ONE_BASE_SERVES, CONFIRMED_IS_KEPT]),
    /// A base that comes back serves what its log holds without asking the store.
    ReturnsUnasked => Fate::Violates(&[ONE_BASE_SERVES, SERVES_WHAT_IT_KEEPS]),
    /// What an earlier takeover left at the taker, under another term, counts as held.
    AdoptsOtherTerm => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// The transaction does not ask whether a later life wrote the log.
    CommitIgnoresLife => Fate::Violates(&[ONE_BASE_SERVES, CONFIRMED_IS_KEPT]),
    /// The transaction does not ask whether the term still is the one that was ordered.
    CommitIgnoresTerm => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// A base that comes back asks the store, and says after that that it writes the log.
    AsksBeforeItOwns => Fate::Violates(&[ONE_BASE_SERVES, CONFIRMED_IS_KEPT]),
    /// A base that comes back keeps what it had of a slot that is another's, and goes on with that
    /// when the slot comes back to it.
    KeepsWhatIsGone => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// An order under an older term than the taker knows replaces what it holds under a newer one.
    LateOrderReplaces => Fate::Violates(&[CONFIRMED_IS_KEPT]),
    /// Nobody calls a takeover off that cannot be committed.
    NeverCallsOff => Fate::GetsStuck,
    /// The taker lets the lock go as soon as it has read: a life that comes back then says so in the
    /// store before it writes.
    LetsGoOnceRead => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Takeover;
    const MODEL: &'static str = "takeover";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Takeover {
        Takeover { mutant: self, ..Takeover::small() }
    }

    fn unbroken(bounds: Takeover) -> Takeover {
        Takeover { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Takeover {
    /// Effects that may be confirmed.
    pub effects: u8,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Takeover {
    /// Two takeovers, two crashes, two effects.
    #[must_use]
    pub fn small() -> Takeover {
        let budget = Budget { orders: 2, crashes: 2, losses: 0 };
        Takeover { effects: 2, budget, mutant: Mutant::None }
    }
}
