//! The window: a cellapp simulates the entities of a base only while its tick is less than W past
//! the newest tick that this base has made durable.
//!
//! One cellapp incarnation and one base share one ordered stream each way, as slow as it likes, or
//! cut, or begun anew with everything lost that was under way. Time is the cellapp's tick number
//! and nothing else; the base has no clock here at all, its deadlines fire whenever they like. What
//! is asked: whatever happens, a copy whose ownership is over is simulated for fewer than W more
//! ticks, also if it is idle and never sends a thing; an idle owner that is well runs on for ever;
//! and whatever was lost, the owner can run again.

mod base;
mod cell;
mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Pair};

use crate::fate::{BrokenRule, Fate, mutants};
use properties::{GRANTED_RUNS_AT_ONCE, IDLE_OWNER_RUNS, STALE_COPY_STOPS, WINDOW_TICKS};

mutants! {
    /// There is no window.
    NoWindow => Fate::Violates(&[WINDOW_TICKS, STALE_COPY_STOPS]),
    /// The window counts unacknowledged steps of the entity instead of ticks.
    CountsSteps => Fate::Violates(&[WINDOW_TICKS, STALE_COPY_STOPS]),
    /// The window is one tick too long.
    OneTickTooLong => Fate::Violates(&[WINDOW_TICKS]),
    /// The base answers a fenced incarnation like any other, and only steps get a refusal.
    FencedKeepsAdvancing => Fate::Violates(&[WINDOW_TICKS, STALE_COPY_STOPS]),
    /// The base reports a tick as durable when it has received it.
    ReportsBeforeSync => Fate::Violates(&[WINDOW_TICKS]),
    /// A bundle with nothing to log is durable at once, although the notice to its sender waits
    /// for a sync.
    EmptyNeedsNoSync => Fate::Violates(&[STALE_COPY_STOPS]),
    /// That an epoch is over travels on another stream than the durable tick.
    NoticeOnOtherStream => Fate::Violates(&[STALE_COPY_STOPS]),
    /// A Grant deadline leaves it to the first target's next step to find out.
    SilentDeadline => Fate::Violates(&[STALE_COPY_STOPS]),
    /// After a base restart the cellapp does not list the entities that it holds.
    ResyncOmitsHeld => Fate::Violates(&[STALE_COPY_STOPS]),
    /// A new base incarnation begins with an open window.
    NewBaseOpensWindow => Fate::Violates(&[WINDOW_TICKS]),
    /// A new base incarnation reports ticks of a cellapp as durable before that has said what it
    /// holds.
    OpensUnlisted => Fate::Violates(&[WINDOW_TICKS, STALE_COPY_STOPS]),
    /// After bundles were lost the base goes on reporting later ticks as durable.
    GapOpensWindow => Fate::Violates(&[WINDOW_TICKS]),
    /// That an epoch is over is said in one report only.
    NoticeSaidOnce => Fate::Violates(&[STALE_COPY_STOPS]),
    /// A base that waits for a list asks only once, and the question may be lost.
    AsksOnce => Fate::GetsStuck,
    /// A cellapp that holds nothing does not answer. The base goes on asking, and hears an answer
    /// when something is granted; that costs the granted entity a round trip.
    SilentIfEmpty => Fate::Harmless,
    /// An owner whose window is shut keeps its first step back until it opens.
    FirstStepWaits => Fate::Harmless,
    /// A cellapp sends nothing in a tick in which nothing changed.
    NoEmptyBundles => Fate::NeverSees(IDLE_OWNER_RUNS),
    /// A cellapp sends nothing to a base whose entities it does not hold.
    SilentWithoutReals => Fate::NeverSees(GRANTED_RUNS_AT_ONCE),
    /// An idle target sends no first step: with the notice of the deadline the window needs none.
    /// (The handoff does; see [`crate::ownership`].)
    FirstStepOptional => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Window;
    const MODEL: &'static str = "window";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    /// The smallest bounds in which the broken rule can show.
    fn bounds(self) -> Window {
        let active = matches!(
            self,
            Mutant::FencedKeepsAdvancing | Mutant::NoEmptyBundles | Mutant::GapOpensWindow
        );
        let small = Window::small();
        let quiet = Budget { verdicts: 0, ..small.budget };
        let budget = match self {
            Mutant::GapOpensWindow => Budget { losses: 1, ..Budget::default() },
            Mutant::OpensUnlisted => Budget { deadlines: 1, restarts: 1, ..Budget::default() },
            Mutant::NoticeSaidOnce => Budget { deadlines: 1, losses: 1, ..Budget::default() },
            Mutant::AsksOnce => Budget { losses: 1, restarts: 1, ..Budget::default() },
            Mutant::SilentIfEmpty => Budget { restarts: 1, ..Budget::default() },
            Mutant::FirstStepWaits | Mutant::FirstStepOptional => Budget { grants: 0, ..quiet },
            // Most rules show without a verdict, and the space is much smaller then.
            _ => Budget { verdicts: u8::from(active), ..small.budget },
        };
        let settles = !matches!(self.fate(), Fate::Violates(_) | Fate::NeverSees(_));
        let (ticks_max, settle_ticks) = if settles { (3, SETTLE_TICKS) } else { (6, 0) };
        let begins_granted = !active;
        Window { mutant: self, begins_granted, budget, ticks_max, settle_ticks, ..small }
    }

    fn unbroken(bounds: Window) -> Window {
        Window { mutant: Mutant::None, ..bounds }
    }
}

/// Ticks within which everything can settle from any moment on.
pub const SETTLE_TICKS: u8 = 5;

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Window {
    /// W, in ticks.
    pub window_ticks: u8,
    /// Ticks in which something may go wrong; more than W, or nothing could be overrun.
    pub ticks_max: u8,
    /// Undisturbed ticks after them, where it is asked whether everything can settle.
    pub settle_ticks: u8,
    /// The entity begins as granted and not yet active, instead of active and heard.
    pub begins_granted: bool,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Window {
    /// W = 2 over 6 ticks, one disturbance of each kind but loss.
    #[must_use]
    pub fn small() -> Window {
        Window {
            window_ticks: 2,
            ticks_max: 6,
            settle_ticks: 0,
            begins_granted: false,
            budget: Budget { verdicts: 1, deadlines: 1, grants: 1, restarts: 1, losses: 0 },
            mutant: Mutant::None,
        }
    }
}
