//! What is observed of a drill, and within which bounds it has to be.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Something that can be counted or measured of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// Of entities that lost their owner: from the last tick in the lineage to the next one.
    TicksToGoOn,
    /// Entities that lost their owner and got another one.
    Restored,
    /// Entities that lost their owner and did not go on by the end.
    Stranded,
    /// Steps of a life that had lost the entity, and that its base accepted.
    LateSteps,
    /// Verdicts that somebody was dead.
    VerdictsDead,
    /// Verdicts that nobody heard somebody.
    VerdictsSilent,
    /// Verdicts of either kind.
    Verdicts,
    /// Later lives of whoever was hurt.
    NextLives,
    /// Commands of clients without an answer.
    Unanswered,
    /// Ticks that cellapps left out, or in which they let the entities of a base stand still, while
    /// the fault lasted.
    TicksStoodStill,
    /// How long nobody led.
    LeaderlessMs,
    /// Ordered handoffs that committed.
    Committed,
    /// Ordered handoffs that did not end by their deadline.
    TimedOut,
    /// Ticks of entities that two owners ran, both in the lineage.
    TicksDoubled,
    /// Members that were another life afterwards.
    LivesChanged,
    /// From the first tick of a baseapp that was away until cellapps let its entities go on.
    TicksToReopen,
    /// Sessions that clients had to open beside their first ones.
    NewLogins,
    /// From a cut of the network until both its ends had noticed it.
    TicksToNotice,
    /// From its end until both were connected again, both ways.
    TicksToMend,
    /// From its end until each of two cellapps showed something new of the other's entities.
    TicksToSee,
    /// Ghosts that were marked because nobody spoke for them.
    GhostsMarked,
    /// Ticks that cellapps left out, or in which they let entities stand still that had no part in the
    /// trouble.
    OthersStoodStill,
    /// How often entities of a base stood still that had a part in it.
    StoodStill,
    /// How far beyond the last durable tick they had run by then.
    TicksBeyond,
    /// Frames that were given up.
    FramesLost,
    /// Frames to one peer that waited for its acknowledgement, at most.
    FramesWaiting,
    /// How often a log said that its disk takes nothing.
    DiskAlarms,
    /// Commands that a base confirmed while its log stood still.
    ConfirmedStill,
    /// Processes that were drained and still had something when they had to end.
    KeptSomething,
    /// Ticks that a slot's entities stood still at a cellapp while it was on its way: the worst.
    SlotStoodStill,
    /// Processes that were asked to end and did not, or not with code 0.
    EndedBadly,
}

impl Figure {
    /// For people.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::TicksToGoOn => "ticks from an entity's last one to its next elsewhere, the worst",
            Self::Restored => "entities restored elsewhere after a verdict",
            Self::Stranded => "entities that never went on",
            Self::LateSteps => "steps accepted of an owner that was given up",
            Self::VerdictsDead => "verdicts of dead",
            Self::VerdictsSilent => "verdicts of silent",
            Self::Verdicts => "verdicts that somebody is gone",
            Self::NextLives => "later lives of the same name",
            Self::Unanswered => "commands without an answer",
            Self::TicksStoodStill => "ticks of cellapps left out or stood still meanwhile",
            Self::LeaderlessMs => "milliseconds until another manager led",
            Self::Committed => "ordered handoffs that committed",
            Self::TimedOut => "ordered handoffs without an end",
            Self::TicksDoubled => "ticks of entities that two owners ran",
            Self::LivesChanged => "members that are another life afterwards",
            Self::TicksToReopen => "ticks from its first one until its entities went on, the worst",
            Self::NewLogins => "sessions that clients had to open anew",
            Self::TicksToNotice => "ticks until both ends noticed it, the worst",
            Self::TicksToMend => "ticks from the heal until both were connected again, the worst",
            Self::TicksToSee => "ticks from the heal until ghosts went on, the worst",
            Self::GhostsMarked => "ghosts that were marked as stale",
            Self::OthersStoodStill => "ticks left out, or stood still without a part in it",
            Self::StoodStill => "times that entities with a part in it stood still",
            Self::TicksBeyond => "ticks that they had run beyond what is durable, the worst",
            Self::FramesLost => "frames given up",
            Self::FramesWaiting => "frames to one peer that waited, the most",
            Self::DiskAlarms => "alarms that the log stands still",
            Self::ConfirmedStill => "commands confirmed while the log stood still",
            Self::KeptSomething => "drained processes that kept something",
            Self::SlotStoodStill => {
                "ticks that a slot's entities stood still on its way, the worst"
            }
            Self::EndedBadly => "processes that did not end with code 0",
        }
    }
}

/// What was observed. What is not here was not observed.
pub(super) type Figures = BTreeMap<Figure, u64>;

/// Where a figure has to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    AtMost(u64),
    AtLeast(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

/// A figure and where it has to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) figure: Figure,
    pub(super) limit: Limit,
}

impl Bound {
    pub(super) const fn at_most(figure: Figure, most: u64) -> Self {
        Self { figure, limit: Limit::AtMost(most) }
    }

    pub(super) const fn at_least(figure: Figure, least: u64) -> Self {
        Self { figure, limit: Limit::AtLeast(least) }
    }

    /// Holds what was observed against it. What was not observed does not hold.
    pub(super) fn judge(self, figures: &Figures) -> Judged {
        let figure = figures.get(&self.figure).copied();
        let holds = figure.is_some_and(|figure| match self.limit {
            Limit::AtMost(most) => figure <= most,
            Limit::AtLeast(least) => figure >= least,
        });
        Judged { what: self.figure.what(), bound: self.limit.to_string(), figure, holds }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.figure.what(), self.limit)
    }
}

/// A figure beside its bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Judged {
    pub(super) what: &'static str,
    pub(super) bound: String,
    /// None if it could not be observed.
    pub(super) figure: Option<u64>,
    pub(super) holds: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_holds_up_to_its_bound_and_one_that_nobody_observed_never_does() {
        let bound = Bound::at_most(Figure::TicksToGoOn, 20);
        let holds = |figures: Figures| bound.judge(&figures).holds;
        assert!(holds(Figures::from([(Figure::TicksToGoOn, 20)])));
        assert!(!holds(Figures::from([(Figure::TicksToGoOn, 21)])));
        assert!(!holds(Figures::new()));
        let bound = Bound::at_least(Figure::Committed, 1);
        assert!(bound.judge(&Figures::from([(Figure::Committed, 1)])).holds);
        assert!(!bound.judge(&Figures::from([(Figure::Committed, 0)])).holds);
    }
}
