//! The phases of a tick and what they cost: figures a scheduler keeps and the values it reports.

use crate::order::Tick;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The phases of a tick, in their order. After them comes idle, which belongs to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Takes all that is ready, posts completions, dispatches by channel, then entity.
    Network,
    /// Fires timers that are due.
    Timer,
    /// Moves, simulates, runs controllers.
    Entity,
    /// Runs the callbacks of behaviours; changes are marked, nothing is sent.
    Script,
    /// Builds everything that is to be sent.
    SyncBuild,
    /// Sends it, and updates the figures.
    Flush,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 6] =
        [Self::Network, Self::Timer, Self::Entity, Self::Script, Self::SyncBuild, Self::Flush];

    /// The name in metrics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Timer => "timer",
            Self::Entity => "entity",
            Self::Script => "script",
            Self::SyncBuild => "sync_build",
            Self::Flush => "flush",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What something that happens once a tick has cost so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// How often it was measured.
    pub count: u64,
    /// Sum of all.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The newest.
    pub last_ns: u64,
    /// How often the budget ran out in it.
    pub overruns: u64,
}

impl Span {
    pub(super) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
        self.last_ns = ns;
    }
}

/// A tick that was longer than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    /// The tick.
    pub tick: Tick,
    /// The phase in which the budget ran out.
    pub phase: Phase,
    /// The phase that took longest, which is where to look first.
    pub longest: Phase,
    /// What the whole tick took, in nanoseconds.
    pub tick_ns: u64,
    /// What it was allowed, in nanoseconds.
    pub budget_ns: u64,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, phase, longest, tick_ns, budget_ns } = self;
        write!(
            f,
            "tick {tick} took {tick_ns} ns of a budget of {budget_ns} ns; it ran out in {phase}, \
             the longest phase was {longest}"
        )
    }
}

/// What one tick cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickReport {
    /// The tick that ran.
    pub tick: Tick,
    /// What each phase took, in nanoseconds, in the order of [`Phase::ALL`].
    pub phase_ns: [u64; 6],
    /// What the whole took, in nanoseconds.
    pub tick_ns: u64,
    /// Set when that was more than the budget.
    pub overrun: Option<Overrun>,
}
