//! What a clock does with time it cannot run: the declared policies, their limits, and the
//! configuration of a [`WorldClock`](super::WorldClock).

use serde::{Deserialize, Serialize};
use std::fmt;

/// Shortest step, in nanoseconds (100 µs). With the largest scale it keeps tick numbers far from
/// overflow after any jump a 64-bit clock can make.
pub const STEP_NS_MIN: u64 = 100_000;
/// Longest step, in nanoseconds (10 s).
pub const STEP_NS_MAX: u64 = 10_000_000_000;
/// Most steps one advance may be allowed to run.
pub const CAP_MAX: u32 = 10_000;
/// Most that a step may be allowed to stretch, in percent of its declared length.
pub const STRETCH_PERCENT_MAX: u32 = 1_000;

/// What happens to whole steps that are due and may not run now, because the cap on steps per
/// advance is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverloadPolicy {
    /// They wait and run later. Only what exceeds `backlog_max_steps` is dropped, and counted.
    CatchUp {
        /// Whole steps that may wait after an advance.
        backlog_max_steps: u32,
    },
    /// They are dropped at once, and counted: logic time jumps behind the wall.
    Drop,
    /// No steps are made up for: the step itself grows with the frame, up to `stretch_max_percent`
    /// of its declared length, and shrinks again when frames do. What even the longest step does
    /// not cover within the cap is dropped, and counted.
    SlowDown {
        /// Longest step, in percent of the declared one: 100 (never) to [`STRETCH_PERCENT_MAX`].
        stretch_max_percent: u32,
    },
}

impl fmt::Display for OverloadPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CatchUp { backlog_max_steps } => {
                write!(f, "catch-up (backlog_max_steps {backlog_max_steps})")
            }
            Self::Drop => write!(f, "drop"),
            Self::SlowDown { stretch_max_percent } => {
                write!(f, "slow-down (stretch_max_percent {stretch_max_percent})")
            }
        }
    }
}

/// How a world clock cuts time into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockConfig {
    /// Declared length of a step, in nanoseconds: [`STEP_NS_MIN`] to [`STEP_NS_MAX`].
    pub step_ns: u64,
    /// Most steps that one advance runs: 1 to [`CAP_MAX`].
    pub cap: u32,
    /// What happens to the rest.
    pub policy: OverloadPolicy,
    /// Version of this policy, written into every record of dropped time. Each change adds one.
    pub version: u32,
}

impl ClockConfig {
    /// Checks the limits.
    ///
    /// # Errors
    /// The first field that is out of its range, with the value found.
    pub fn check(&self) -> Result<(), ClockConfigError> {
        if !(STEP_NS_MIN..=STEP_NS_MAX).contains(&self.step_ns) {
            return Err(ClockConfigError::Step { step_ns: self.step_ns });
        }
        if !(1..=CAP_MAX).contains(&self.cap) {
            return Err(ClockConfigError::Cap { cap: self.cap });
        }
        if let OverloadPolicy::SlowDown { stretch_max_percent: percent } = self.policy
            && !(100..=STRETCH_PERCENT_MAX).contains(&percent)
        {
            return Err(ClockConfigError::Stretch { percent });
        }
        Ok(())
    }

    /// The longest step that the policy allows, in nanoseconds.
    #[must_use]
    pub const fn step_ns_max(&self) -> u64 {
        match self.policy {
            OverloadPolicy::SlowDown { stretch_max_percent } => {
                self.step_ns * stretch_max_percent as u64 / 100
            }
            OverloadPolicy::CatchUp { .. } | OverloadPolicy::Drop => self.step_ns,
        }
    }
}

/// Why a clock cannot be configured so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockConfigError {
    /// The step is out of range.
    #[error("step of {step_ns} ns: must be {STEP_NS_MIN} to {STEP_NS_MAX} ns")]
    Step {
        /// The value found.
        step_ns: u64,
    },
    /// The cap is out of range.
    #[error("cap of {cap} steps an advance: must be 1 to {CAP_MAX}")]
    Cap {
        /// The value found.
        cap: u32,
    },
    /// The stretch is out of range.
    #[error("stretch_max_percent of {percent}: must be 100 to {STRETCH_PERCENT_MAX}")]
    Stretch {
        /// The value found.
        percent: u32,
    },
    /// The phase offset is not inside a step.
    #[error("phase of {phase_ns} ns: must be below the step of {step_ns} ns")]
    Phase {
        /// The value found.
        phase_ns: u64,
        /// The step it must be below.
        step_ns: u64,
    },
    /// The scale is out of range.
    #[error(
        "time scale {num}/{den}: each part must be 1 to 1000000 and the quotient at most 1000; \
         to stop time, pause"
    )]
    Scale {
        /// The numerator found.
        num: u32,
        /// The denominator found.
        den: u32,
    },
}
