//! What one run of the ownership model is bounded by, and which rule it breaks on purpose.

use super::mutant::Mutant;

/// Cellapps that a state has room for.
pub const CELLS_MAX: usize = 3;

/// How often each disturbance may happen in one run; in a state, how often it has happened.
///
/// Disturbances that are bounded by others need no entry: true verdicts about crashed
/// incarnations, re-grants that follow from a verdict, retries.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Cellapp crashes: memory is lost and the process returns under a higher incarnation.
    pub crashes: u8,
    /// False verdicts: a healthy incarnation is declared dead.
    pub verdicts: u8,
    /// Handoffs that an owner starts.
    pub handoffs: u8,
    /// Grant deadlines that fire although the target may be alive and active.
    pub deadlines: u8,
    /// Handoffs that the base refuses because the target does not accept at that moment.
    pub refusals: u8,
    /// Baseapp crashes: the log survives, everything volatile is lost.
    pub restarts: u8,
}

/// The bounds of one run.
#[derive(Clone, Debug)]
pub struct Params {
    /// Cellapps, 2 to [`CELLS_MAX`].
    pub cells: u8,
    /// Commands that the session has sent before the run begins.
    pub commands: u8,
    /// Commands that the session sends at some moment during the run.
    pub late_commands: u8,
    /// The entity has one timer.
    pub timer: bool,
    /// Deadlines of commands may pass: the owner may expire a command, and the base may expire
    /// one that it has sent to no owner.
    pub expiry: bool,
    /// Events that an owner may apply beyond the acknowledged ones (the sequence form of the
    /// window; the window in ticks has a model of its own).
    pub window: u8,
    /// The run begins with the birth of the entity: logged and granted, not yet active.
    pub born: bool,
    /// A cellapp that is alive but never takes a Grant.
    pub sick: Option<u8>,
    /// The disturbances.
    pub budget: Budget,
    /// The rule that is broken on purpose.
    pub mutant: Mutant,
    /// Forget messages that can never have an effect again (see [`super::forget`]). A broken rule
    /// may give them one, so most mutants keep them.
    pub forget: bool,
}

impl Params {
    /// The small run that every other one varies: two cellapps, one command, window 2, and one
    /// each of crash, false verdict, handoff and Grant deadline.
    #[must_use]
    pub fn small() -> Params {
        Params {
            cells: 2,
            commands: 1,
            late_commands: 0,
            timer: false,
            expiry: false,
            window: 2,
            born: false,
            sick: None,
            budget: Budget {
                crashes: 1,
                verdicts: 1,
                handoffs: 1,
                deadlines: 1,
                ..Budget::default()
            },
            mutant: Mutant::None,
            forget: true,
        }
    }

    /// All commands that the session will ever send, as a set of bits.
    #[must_use]
    pub fn all_commands(&self) -> u8 {
        (1 << (self.commands + self.late_commands)) - 1
    }
}
