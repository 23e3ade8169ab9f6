//! What one sender says arrives in the order in which it was said, once, with nothing left out.
//!
//! An entity sends a few messages to another. Its base keeps each until it was answered, and sends
//! it over a link that reconnects, and that begins anew now and then with everything lost that was
//! under way. The receiver's base keeps a queue for the owner of the receiver, which is replaced
//! at any moment. A late connection goes on delivering beside the one that replaced it. Commands of
//! a session take the same way from the queue on.

mod link;
mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Path};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{APPLIED_ONCE, FIFO, LINK_IN_ORDER, NONE_SKIPPED};

mutants! {
    /// The receiver of a link takes a frame that it has taken before.
    FrameTakenTwice => Fate::Violates(&[LINK_IN_ORDER]),
    /// The receiver of a link takes frames of a stream that was given up.
    OldGenerationTaken => Fate::Violates(&[LINK_IN_ORDER]),
    /// A new connection goes on after what was sent instead of after what was received.
    ResumesAfterSent => Fate::GetsStuck,
    /// A base takes a message although one before it is missing.
    TakesAfterGap => Fate::Violates(&[NONE_SKIPPED]),
    /// An owner applies any message that it holds, with a table of those that it has applied.
    OwnerPicksAny => Fate::Violates(&[FIFO]),
    /// A new owner gets the queue newest first.
    QueueReversed => Fate::Violates(&[NONE_SKIPPED]),
    /// A new owner gets only what comes after its Grant.
    QueueNotSentAgain => Fate::Violates(&[NONE_SKIPPED]),
    /// The mark does not travel with the image.
    MarkStaysBehind => Fate::Violates(&[APPLIED_ONCE]),
    /// A message is answered when it is applied, not when that is durable.
    AnswersBeforePersist => Fate::Violates(&[NONE_SKIPPED]),
    /// A sender does not say open messages again.
    NothingSaidAgain => Fate::GetsStuck,
    /// The receiver of a link takes a frame beyond a hole: connections are in order and begin
    /// where the receiver is, so there is none.
    FrameTakenOverHole => Fate::Harmless,
    /// After a link began anew something new is said before what is open: its number shows that it
    /// does not follow, and it is said again.
    NewBeforeOpen => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Order;
    const MODEL: &'static str = "order";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Order {
        let small = Order::small();
        let budget = match self {
            Mutant::ResumesAfterSent => Budget { reconnects: 1, ..Budget::default() },
            _ => small.budget,
        };
        Order { mutant: self, budget, ..small }
    }

    fn unbroken(bounds: Order) -> Order {
        Order { mutant: Mutant::None, ..bounds }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Order {
    /// Messages that are sent, at most 6.
    pub messages: u8,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Order {
    /// Two messages, one disturbance of each kind.
    #[must_use]
    pub fn small() -> Order {
        Order {
            messages: 2,
            budget: Budget { reconnects: 1, resets: 1, refusals: 1, migrations: 1, restarts: 1 },
            mutant: Mutant::None,
        }
    }
}
