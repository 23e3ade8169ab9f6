//! The window: a cellapp simulates the entities of a base only while its tick is less than W past
//! the newest tick that this base has made durable.
//!
//! One cellapp incarnation and one base incarnation share one ordered stream each way, as slow as
//! it likes, or cut. Time is the cellapp's tick number and nothing else; the base has no clock
//! here at all, its deadlines fire whenever they like. What is asked: whatever happens, a copy
//! whose ownership is over is simulated for at most W more ticks, also if it is idle and never
//! sends a thing; and an idle owner that is well runs on for ever.

mod model;
pub mod properties;
pub mod state;

pub use model::Action;
pub use state::{Budget, Pair};

use crate::fate::{Fate, mutants};
use properties::{GRANTED_RUNS_AT_ONCE, IDLE_OWNER_RUNS, STALE_COPY_STOPS, WINDOW_TICKS};

mutants! {
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
    /// A cellapp sends nothing in a tick in which nothing changed.
    NoEmptyBundles => Fate::NeverSees(IDLE_OWNER_RUNS),
    /// A cellapp sends nothing to a base whose entities it does not hold.
    SilentWithoutReals => Fate::NeverSees(GRANTED_RUNS_AT_ONCE),
    /// An idle target sends no first step: with the notice of the deadline the window needs none.
    /// (The handoff does; see [`crate::ownership`].)
    FirstStepOptional => Fate::Harmless,
}

impl Mutant {
    /// The smallest bounds in which the broken rule can show.
    #[must_use]
    pub fn bounds(self) -> Window {
        let begins_granted = !matches!(self, Mutant::FencedKeepsAdvancing | Mutant::NoEmptyBundles);
        // Most rules show without a verdict, and the space is much smaller then.
        let verdicts = u8::from(!begins_granted);
        let budget = Budget { verdicts, ..Window::small().budget };
        Window { mutant: self, begins_granted, budget, ..Window::small() }
    }
}

/// The model, ready for a checker.
#[derive(Clone, Debug)]
pub struct Window {
    /// W, in ticks.
    pub window_ticks: u8,
    /// Ticks that a run lasts; more than W, or nothing could be overrun.
    pub ticks_max: u8,
    /// The entity begins as granted and not yet active, instead of active and heard.
    pub begins_granted: bool,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
}

impl Window {
    /// W = 2 over 6 ticks, one disturbance of each kind.
    #[must_use]
    pub fn small() -> Window {
        Window {
            window_ticks: 2,
            ticks_max: 6,
            begins_granted: false,
            budget: Budget { verdicts: 1, deadlines: 1, grants: 1, restarts: 1 },
            mutant: Mutant::None,
        }
    }
}
