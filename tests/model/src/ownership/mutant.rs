//! Rules of the ownership protocol that a run can break on purpose.

use super::Ownership;
use super::params::Params;
use super::properties::{
    APPLIED_ONCE, CONFIRMED_IS_DURABLE, DEAD_NEVER_CONFIRMED, EPOCHS_GROW, FIFO, NONE_SKIPPED,
    ONE_ANSWER, OWNER_EXTENDS_IMAGE, REFUSED_STAYS_REFUSED, SINGLE_OWNER, WINDOW,
};
use crate::fate::{BrokenRule, Fate, mutants};

mutants! {
    /// The base takes any step, whoever sends it and under whatever epoch.
    NoEpochCheck => Fate::Violates(&[CONFIRMED_IS_DURABLE, OWNER_EXTENDS_IMAGE]),
    /// The base takes steps of its owner after the owner was declared dead.
    AcceptsTheDead => Fate::Violates(&[DEAD_NEVER_CONFIRMED]),
    /// The base takes an older step of the right owner again and lets the image go back.
    TakesOldSteps => Fate::Violates(&[CONFIRMED_IS_DURABLE]),
    /// The client hears a result before the step is on disk.
    AnswersBeforeSync => Fate::Violates(&[CONFIRMED_IS_DURABLE]),
    /// A Grant leaves before the new owner is on disk.
    GrantsBeforeSync => Fate::Violates(&[SINGLE_OWNER, EPOCHS_GROW]),
    /// The table of answered commands stays with the process instead of the image.
    DedupStaysBehind => Fate::Violates(&[APPLIED_ONCE]),
    /// A restore after a verdict keeps the epoch.
    RestoreKeepsEpoch => Fate::Violates(&[SINGLE_OWNER, EPOCHS_GROW]),
    /// A Grant deadline re-owns under the epoch that it gives up.
    DeadlineReusesEpoch => Fate::Violates(&[SINGLE_OWNER, EPOCHS_GROW]),
    /// The next epoch is counted from the message instead of the log, and a Prepare is taken
    /// without looking at its epoch.
    EpochFromMessage => Fate::Violates(&[EPOCHS_GROW]),
    /// A cellapp takes a Grant that was meant for its predecessor of the same name.
    GrantIgnoresIncarnation => Fate::Violates(&[SINGLE_OWNER]),
    /// A cellapp takes a Grant of the epoch that it is already active under.
    GrantTakenTwice => Fate::Violates(&[OWNER_EXTENDS_IMAGE]),
    /// A re-granted source goes on from its own frozen copy instead of the granted image.
    GrantKeepsOwnCopy => Fate::Violates(&[OWNER_EXTENDS_IMAGE]),
    /// The target goes active on the Offload, without the base.
    ActivatesOnOffload => Fate::Violates(&[SINGLE_OWNER]),
    /// The target activates its parked Offload without comparing digests.
    ParkedUnverified => Fate::Violates(&[OWNER_EXTENDS_IMAGE]),
    /// The base forgets that it refused a handoff and commits the repeated request.
    RefusalForgotten => Fate::Violates(&[REFUSED_STAYS_REFUSED]),
    /// The base keeps in memory only that it refused a handoff.
    RefusalNotLogged => Fate::Violates(&[REFUSED_STAYS_REFUSED]),
    /// An owner applies events however many are unacknowledged.
    NoWindow => Fate::Violates(&[WINDOW]),
    /// A command message carries only the newest command, and an owner applies what it holds
    /// without asking what comes before.
    CommandsOneByOne => Fate::Violates(&[FIFO]),
    /// A restarted base takes a new command of a session whose earlier ones it has not got again.
    TakesAnyCommand => Fate::Violates(&[NONE_SKIPPED]),
    /// The base expires a command that it has already sent to an owner.
    ExpiresWhatItSent => Fate::Violates(&[ONE_ANSWER]),
    /// A restarted base takes re-sent commands for ones that no owner has seen.
    RestartForgetsSent => Fate::Violates(&[ONE_ANSWER]),
    /// The base answers `expired` before that is on disk.
    ExpiresBeforeSync => Fate::Violates(&[ONE_ANSWER]),
    /// The target sends nothing until something changes.
    FirstStepOptional => Fate::GetsStuck,
    /// There is no Grant deadline, and a target that is alive takes no Grant.
    NoDeadline => Fate::GetsStuck,
    /// A Grant does not carry the open commands.
    GrantWithoutCommands => Fate::GetsStuck,
    /// The source goes on although it has asked for a handoff: its steps are refused.
    SourceRunsOn => Fate::Harmless,
    /// Late duplicates of the previous owner are answered with Fenced while its frozen copy still
    /// counts as the fallback: the image in the log is fallback enough.
    FencesPrevious => Fate::Harmless,
    /// The source is released at the commit: likewise.
    ReleaseAtCommit => Fate::Harmless,
    /// A deadline forgets the previous owner: its repeated request is answered with Fenced.
    DeadlineDropsPrevious => Fate::Harmless,
    /// A deadline makes the first target the previous owner: only its zombie lasts longer.
    DeadlineMovesPrevious => Fate::Harmless,
    /// A deadline does not tell the first target that it was replaced: its next step tells it.
    /// (The window in ticks does need this rule; see [`crate::window`].)
    SilentDeadline => Fate::Harmless,
}

impl BrokenRule for Mutant {
    type Bounds = Ownership;
    const MODEL: &'static str = "ownership";

    fn all() -> &'static [Mutant] {
        Mutant::ALL
    }

    fn fate(self) -> Fate {
        Mutant::fate(self)
    }

    fn bounds(self) -> Ownership {
        let mut params = Params { mutant: self, ..Params::small() };
        // Forgetting argues from the rules. What is only about liveness or is harmless keeps them.
        params.forget = !matches!(self.fate(), Fate::Violates(_));
        let budget = &mut params.budget;
        match self {
            Mutant::NoEpochCheck | Mutant::TakesOldSteps => params.commands = 2,
            Mutant::AcceptsTheDead => budget.verdicts = 2,
            Mutant::DedupStaysBehind => budget.restarts = 1,
            Mutant::GrantKeepsOwnCopy => budget.crashes = 0,
            Mutant::RefusalForgotten => budget.refusals = 1,
            Mutant::RefusalNotLogged => (budget.refusals, budget.restarts) = (1, 1),
            Mutant::NoWindow => params.commands = 3,
            Mutant::CommandsOneByOne => {
                (params.commands, params.late_commands, budget.crashes) = (0, 2, 0);
            }
            Mutant::TakesAnyCommand => {
                (params.late_commands, budget.restarts, budget.crashes) = (1, 1, 0);
            }
            Mutant::ExpiresWhatItSent | Mutant::RestartForgetsSent | Mutant::ExpiresBeforeSync => {
                (params.commands, params.late_commands, params.expiry) = (0, 1, true);
                budget.restarts = 1;
                budget.crashes = 0;
            }
            Mutant::NoDeadline => params.sick = Some(1),
            _ => {}
        }
        Ownership { params }
    }

    fn unbroken(bounds: Ownership) -> Ownership {
        let params = Params { mutant: Mutant::None, forget: true, ..bounds.params };
        Ownership { params }
    }
}
