//! All drills: what each does, and what must be observed.

use super::bound::{Bound, Figure};
use serde::Serialize;

/// How long registrations outlive their processes in a drill: short, so that outliving one takes a
/// moment.
pub(super) const TTL_MS: u64 = 2_000;

/// What a drill does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    KillCellapp,
    ZombieCellapp,
    KillManager,
    StopEtcd,
    KillBaseapp,
    ZombieBaseapp,
    HandoffStorm,
}

/// One drill.
#[derive(Debug)]
pub(super) struct Drill {
    pub(super) name: &'static str,
    pub(super) does: &'static str,
    pub(super) bounds: &'static [Bound],
    pub(super) script: Script,
    pub(super) managers: u16,
}

/// A drill for programs.
#[derive(Debug, Serialize)]
pub(super) struct About {
    name: &'static str,
    does: &'static str,
    bounds: Vec<String>,
}

pub(super) const DRILLS: &[Drill] = &[
    Drill {
        name: "kill-cellapp",
        does: "kills the cellapp with the most entities, and starts it again after the verdict",
        bounds: &[
            Bound::at_most(Figure::TicksToGoOn, 20),
            Bound::at_least(Figure::VerdictsDead, 1),
            Bound::at_least(Figure::Restored, 1),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_least(Figure::NextLives, 1),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::KillCellapp,
        managers: 1,
    },
    Drill {
        name: "zombie-cellapp",
        does: "stops the cellapp with the most entities for longer than its lease, and lets it go on",
        bounds: &[
            Bound::at_most(Figure::TicksToGoOn, 40),
            Bound::at_least(Figure::VerdictsSilent, 1),
            Bound::at_least(Figure::Restored, 1),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::LateSteps, 0),
            Bound::at_least(Figure::NextLives, 1),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::ZombieCellapp,
        managers: 1,
    },
    Drill {
        name: "kill-manager",
        does: "kills the manager that leads, of two, and orders handoffs",
        bounds: &[
            Bound::at_most(Figure::TicksStoodStill, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::LeaderlessMs, TTL_MS + 1_000),
            Bound::at_least(Figure::Committed, 1),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::KillManager,
        managers: 2,
    },
    Drill {
        name: "stop-etcd",
        does: "stops the store for longer than every lease, and orders handoffs meanwhile",
        bounds: &[
            Bound::at_most(Figure::TicksStoodStill, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::LivesChanged, 0),
            Bound::at_least(Figure::Committed, 1),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::StopEtcd,
        managers: 1,
    },
    Drill {
        name: "kill-baseapp",
        does: "kills the baseapp with the most entities, and starts it again a second later",
        bounds: &[
            Bound::at_most(Figure::TicksToReopen, 20),
            Bound::at_least(Figure::NextLives, 1),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::NewLogins, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::KillBaseapp,
        managers: 1,
    },
    Drill {
        name: "zombie-baseapp",
        does: "stops the baseapp with the most entities for longer than its lease, and lets it go on",
        bounds: &[
            Bound::at_most(Figure::TicksToReopen, 20),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::NewLogins, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::ZombieBaseapp,
        managers: 1,
    },
    Drill {
        name: "handoff-storm",
        does: "orders handoffs of random entities from eight sides at once",
        bounds: &[
            Bound::at_least(Figure::Committed, 200),
            Bound::at_most(Figure::TimedOut, 0),
            Bound::at_most(Figure::TicksDoubled, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::HandoffStorm,
        managers: 1,
    },
];

impl Drill {
    /// For programs.
    pub(super) fn about(&self) -> About {
        let bounds = self.bounds.iter().map(Bound::to_string).collect();
        About { name: self.name, does: self.does, bounds }
    }
}

/// The drill of a name.
pub(super) fn named(name: &str) -> Option<&'static Drill> {
    DRILLS.iter().find(|drill| drill.name == name)
}
