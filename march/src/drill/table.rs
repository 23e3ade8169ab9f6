//! All drills: what each does, and what must be observed.

use super::bound::{Bound, Figure, Limit};
use crate::cli::Against;
use marchland_common::link::LinkLimits;
use serde::Serialize;
use std::time::Duration;

/// How long registrations outlive their processes in a drill: short, so that outliving one takes a
/// moment.
pub(super) const TTL_MS: u64 = 2_000;

/// The same in containers that do not say otherwise.
pub(super) const COMPOSE_TTL: Duration = Duration::from_secs(5);
/// How much later the entities of a killed container may go on. Its address is gone with it, so
/// that nobody refuses to be dialled: it is given up because it is silent.
const CONTAINER_TICKS: u64 = 40;
/// A dead path is noticed within 0.7 s, which is written down in the tick after; and two, because the
/// tick in which the cut was complete is known no better from outside.
const NOTICE_TICKS: u64 = 14 + 3;
/// A healed one is used within a second.
const MEND_TICKS: u64 = 20;
/// How far an owner may run beyond what its base made durable.
const WINDOW_TICKS: u64 = 4;
/// How many frames to one peer may wait.
const FRAMES_MAX: u64 = LinkLimits::ORDERED.hard_items as u64;

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
    PartitionCells,
    PartitionCellBase,
    OneWayPartition,
    SlowPeer,
    DiskFull,
    Drain,
    RollingRestart,
}

impl Script {
    /// Whether it can be done to containers.
    const fn is_for_containers(self) -> bool {
        // Nothing there is slow on order, and a disk is everybody's.
        !matches!(self, Self::SlowPeer | Self::DiskFull)
    }

    /// Whether what processes say to each other is lost or late.
    pub(super) const fn is_of_the_network(self) -> bool {
        matches!(
            self,
            Self::PartitionCells | Self::PartitionCellBase | Self::OneWayPartition | Self::SlowPeer
        )
    }
}

/// One drill.
#[derive(Debug)]
pub(super) struct Drill {
    pub(super) name: &'static str,
    pub(super) does: &'static str,
    bounds: &'static [Bound],
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
    Drill {
        name: "partition-cells",
        does: "cuts two neighbouring cellapps off from each other, and orders handoffs between them",
        bounds: &[
            Bound::at_most(Figure::TicksToNotice, NOTICE_TICKS),
            Bound::at_most(Figure::Verdicts, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::OthersStoodStill, 0),
            Bound::at_least(Figure::GhostsMarked, 1),
            Bound::at_least(Figure::Committed, 4),
            Bound::at_most(Figure::TimedOut, 0),
            Bound::at_most(Figure::TicksToMend, MEND_TICKS),
            Bound::at_most(Figure::TicksToSee, MEND_TICKS),
            Bound::at_most(Figure::FramesLost, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::PartitionCells,
        managers: 1,
    },
    Drill {
        name: "partition-cell-base",
        does: "cuts a cellapp and a baseapp off from each other, those with the most entities",
        bounds: &[
            Bound::at_most(Figure::TicksToNotice, NOTICE_TICKS),
            Bound::at_least(Figure::StoodStill, 1),
            Bound::at_most(Figure::TicksBeyond, WINDOW_TICKS),
            Bound::at_most(Figure::OthersStoodStill, 0),
            Bound::at_most(Figure::Verdicts, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::TicksToReopen, MEND_TICKS),
            Bound::at_most(Figure::FramesLost, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::PartitionCellBase,
        managers: 1,
    },
    Drill {
        name: "one-way-partition",
        does: "swallows what one process says to another: cellapp to baseapp, baseapp to cellapp, \
               cellapp to cellapp",
        bounds: &[
            Bound::at_most(Figure::TicksToNotice, NOTICE_TICKS),
            Bound::at_most(Figure::TicksToMend, MEND_TICKS),
            Bound::at_most(Figure::OthersStoodStill, 0),
            Bound::at_most(Figure::Verdicts, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::FramesLost, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::OneWayPartition,
        managers: 1,
    },
    Drill {
        name: "slow-peer",
        does: "lets everything come late to the cellapp with the most entities, then in stutters, \
               then nothing for two seconds",
        bounds: &[
            Bound::at_most(Figure::OthersStoodStill, 0),
            Bound::at_most(Figure::FramesWaiting, FRAMES_MAX),
            Bound::at_most(Figure::FramesLost, 0),
            Bound::at_most(Figure::Verdicts, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::TicksToReopen, MEND_TICKS),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::SlowPeer,
        managers: 1,
    },
    Drill {
        name: "disk-full",
        does: "lets the disk under the baseapp with the most entities take nothing for some seconds",
        bounds: &[
            Bound::at_least(Figure::DiskAlarms, 1),
            Bound::at_least(Figure::StoodStill, 1),
            Bound::at_most(Figure::TicksBeyond, WINDOW_TICKS),
            Bound::at_most(Figure::ConfirmedStill, 0),
            Bound::at_most(Figure::OthersStoodStill, 0),
            Bound::at_most(Figure::Verdicts, 0),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::TicksToReopen, 2 * MEND_TICKS),
            Bound::at_most(Figure::NewLogins, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::DiskFull,
        managers: 1,
    },
    Drill {
        name: "drain",
        does: "drains the baseapp and the cellapp that have the most, ends each and starts it again",
        bounds: &[
            Bound::at_most(Figure::KeptSomething, 0),
            Bound::at_most(Figure::EndedBadly, 0),
            Bound::at_most(Figure::SlotStoodStill, 20),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::NewLogins, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::Drain,
        managers: 1,
    },
    Drill {
        name: "rolling-restart",
        does: "drains, ends and starts again every cellapp, baseapp and manager, one after the other",
        bounds: &[
            Bound::at_least(Figure::LivesChanged, 7),
            Bound::at_most(Figure::KeptSomething, 0),
            Bound::at_most(Figure::EndedBadly, 0),
            Bound::at_most(Figure::SlotStoodStill, 20),
            Bound::at_most(Figure::Restored, 0),
            Bound::at_most(Figure::Stranded, 0),
            Bound::at_most(Figure::NewLogins, 0),
            Bound::at_most(Figure::Unanswered, 0),
        ],
        script: Script::RollingRestart,
        managers: 2,
    },
];

impl Drill {
    /// Whether it can be done there.
    pub(super) fn can_be_done_to(&self, against: Against) -> bool {
        against == Against::Demo || self.script.is_for_containers()
    }

    /// What must be observed where it takes place, if registrations outlive processes for so long.
    pub(super) fn bounds(&self, against: Against, ttl: Duration) -> Vec<Bound> {
        let bounds = self.bounds.iter().copied();
        match against {
            Against::Demo => bounds.collect(),
            Against::Compose => {
                bounds.map(|bound| in_containers(self.script, bound, ttl)).collect()
            }
        }
    }

    /// For programs.
    pub(super) fn about(&self, against: Against) -> About {
        let ttl = match against {
            Against::Demo => Duration::from_millis(TTL_MS),
            Against::Compose => COMPOSE_TTL,
        };
        let bounds = self.bounds(against, ttl).iter().map(Bound::to_string).collect();
        About { name: self.name, does: self.does, bounds }
    }
}

/// What becomes of a bound in containers.
fn in_containers(script: Script, bound: Bound, ttl: Duration) -> Bound {
    match (bound.figure, bound.limit) {
        (Figure::VerdictsDead, Limit::AtLeast(least)) => Bound::at_least(Figure::Verdicts, least),
        (Figure::TicksToGoOn, Limit::AtMost(most)) if script == Script::KillCellapp => {
            Bound::at_most(bound.figure, most + CONTAINER_TICKS)
        }
        (Figure::LeaderlessMs, Limit::AtMost(most)) => {
            let ttl = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
            Bound::at_most(bound.figure, (most - TTL_MS).saturating_add(ttl))
        }
        _ => bound,
    }
}

/// The drill of a name.
pub(super) fn named(name: &str) -> Option<&'static Drill> {
    DRILLS.iter().find(|drill| drill.name == name)
}
