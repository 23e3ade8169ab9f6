//! What a clock decided, as values: every decision that a replay could not guess from the elapsed
//! time alone is returned to the caller, who journals it.

use super::policy::OverloadPolicy;
use super::scale::Scale;
use crate::order::Tick;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Tick numbers from `from` up to, not including, `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickRange {
    /// The first number.
    pub from: Tick,
    /// The number after the last.
    pub to: Tick,
}

impl TickRange {
    /// How many numbers there are; 0 when `to` is not after `from`.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.to.0.saturating_sub(self.from.0)
    }

    /// True when there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers, upwards.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Tick> + use<> {
        (self.from.0..self.to.0).map(Tick)
    }
}

/// A record of time that no step will ever run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The first tick number left out.
    pub from: Tick,
    /// The number after the last one left out.
    pub to: Tick,
    /// The logic time that these numbers stood for, in nanoseconds.
    pub ns: u128,
    /// The policy that ordered it.
    pub policy: OverloadPolicy,
    /// The version of that policy.
    pub version: u32,
}

impl Dropped {
    /// The numbers left out.
    #[must_use]
    pub const fn ticks(&self) -> TickRange {
        TickRange { from: self.from, to: self.to }
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, ns, policy, version } = self;
        write!(f, "dropped {ns} ns, ticks {from}..{to}, under {policy}, version {version}")
    }
}

/// A decision of a [`WorldClock`](super::WorldClock) that belongs in the journal. `tick` is the
/// number of the next step at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClockDecision {
    /// Steps were dropped.
    Dropped(Dropped),
    /// The monotonic clock went back; no time passed.
    Backwards {
        /// The next step.
        tick: Tick,
        /// How far it went back.
        by_ns: u64,
    },
    /// The step is now longer than declared, and has just changed.
    Stretched {
        /// The first step of the new length.
        tick: Tick,
        /// Length before.
        from_ns: u64,
        /// Length from here on.
        to_ns: u64,
    },
    /// The step has its declared length again.
    Recovered {
        /// The first step of declared length.
        tick: Tick,
        /// Length before.
        from_ns: u64,
    },
    /// More was due than could run: the policy is at work from here on.
    OverloadBegan {
        /// The first step under overload.
        tick: Tick,
        /// The policy at work.
        policy: OverloadPolicy,
        /// Its version.
        version: u32,
        /// Steps that this advance was allowed to run.
        cap: u32,
    },
    /// Nothing has been late, dropped or stretched for a while.
    OverloadEnded {
        /// The step at which the overload began.
        since: Tick,
        /// The next step.
        tick: Tick,
    },
    /// The policy or the cap was changed.
    PolicyChanged {
        /// The first step under it.
        tick: Tick,
        /// The new policy.
        policy: OverloadPolicy,
        /// The new cap.
        cap: u32,
        /// The new version.
        version: u32,
    },
    /// The time scale was changed.
    ScaleChanged {
        /// The next step.
        tick: Tick,
        /// The new scale.
        scale: Scale,
        /// False when a part of a nanosecond had to be rounded away.
        exact: bool,
    },
    /// Time stands still from here on.
    Paused {
        /// The next step.
        tick: Tick,
    },
    /// Time runs again.
    Resumed {
        /// The next step.
        tick: Tick,
    },
}

impl fmt::Display for ClockDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped(dropped) => dropped.fmt(f),
            Self::Backwards { tick, by_ns } => {
                write!(f, "the monotonic clock went back {by_ns} ns before tick {tick}: ignored")
            }
            Self::Stretched { tick, from_ns, to_ns } => {
                write!(f, "step stretched from {from_ns} to {to_ns} ns at tick {tick}")
            }
            Self::Recovered { tick, from_ns } => {
                write!(f, "step back to its declared length from {from_ns} ns at tick {tick}")
            }
            Self::OverloadBegan { tick, policy, version, cap } => write!(
                f,
                "overload from tick {tick}: more than cap = {cap} steps were due; policy {policy}, \
                 version {version}; a higher cap or step_ns, or less work a step, ends it"
            ),
            Self::OverloadEnded { since, tick } => {
                write!(f, "overload ended at tick {tick}; it began at tick {since}")
            }
            Self::PolicyChanged { tick, policy, cap, version } => {
                write!(f, "policy {policy}, cap {cap}, version {version} from tick {tick}")
            }
            Self::ScaleChanged { tick, scale, exact } => {
                let how = if *exact { "exactly" } else { "less than 1 ns rounded" };
                write!(f, "time scale {scale} from tick {tick} ({how})")
            }
            Self::Paused { tick } => write!(f, "paused before tick {tick}"),
            Self::Resumed { tick } => write!(f, "resumed before tick {tick}"),
        }
    }
}
