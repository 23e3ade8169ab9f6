//! The world clock: cuts uneven frames into steps and accounts for every nanosecond.
//!
//! Logic time is decided only by the steps that ran; the monotonic clock enters in one argument of
//! [`WorldClock::advance`] and nowhere else. Invariants:
//!
//! * `scaled elapsed == executed + backlog + dropped`, exactly, after every call;
//! * executed time is the sum of the lengths of the steps that ran, so a change of the step never
//!   rewrites the past and logic time never goes back;
//! * step numbers run from 0 upwards and each is either run or in exactly one
//!   [`Dropped`] record. (They saturate at 2^64, half a million years in.)
//!
//! Dropping takes whole steps and leaves the fraction of a step in the backlog, so that the beat
//! of the steps survives a stall.
//!
//! What this does not do: it does not wait, and it does not know what a step costs. A caller with a
//! budget says how many steps it can afford ([`WorldClock::advance_within`]).

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::decision::{ClockDecision, Dropped, TickRange};
use super::policy::{ClockConfig, ClockConfigError, OverloadPolicy};
use super::scale::{Scale, Scaler};
use super::source::TimeSource;
use crate::order::{Tick, checked_serde};
use serde::{Deserialize, Serialize};

/// Advances in a row without lateness, drop or stretch after which an overload counts as over.
/// Long enough that a world just above its budget, which drops one step in four frames, is one
/// overload and not twenty.
pub const OVERLOAD_CALM_ADVANCES: u32 = 16;

/// The largest `f32` below 1.
const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;

/// What one advance asks of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advance {
    /// How many steps to run now, and their numbers.
    pub ticks: TickRange,
    /// The length of each of them, in nanoseconds.
    pub step_ns: u64,
    /// What was decided; to be journalled. Empty in a quiet advance.
    pub decisions: Vec<ClockDecision>,
}

impl Advance {
    /// How many steps to run now.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.ticks.len()
    }
}

/// Where all time went, in nanoseconds and counts since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Monotonic time that passed while not paused.
    pub elapsed_ns: u128,
    /// The same, scaled.
    pub scaled_ns: u128,
    /// Logic time: the sum of the steps that ran.
    pub executed_ns: u128,
    /// Scaled time that waits to be run.
    pub backlog_ns: u128,
    /// Scaled time that no step will run.
    pub dropped_ns: u128,
    /// Monotonic time that passed while paused; no part of the identity.
    pub paused_ns: u128,
    /// Steps run.
    pub steps: u64,
    /// Steps dropped.
    pub dropped_steps: u64,
    /// How often the monotonic clock went back.
    pub backwards: u64,
    /// How often a change of scale rounded a part of a nanosecond away.
    pub roundings: u64,
}

impl Account {
    /// True while every scaled nanosecond is run, waiting or dropped, and in one of these only.
    #[must_use]
    pub fn balances(&self) -> bool {
        let parts = [self.executed_ns, self.backlog_ns, self.dropped_ns];
        let sum = parts.into_iter().try_fold(0u128, u128::checked_add);
        sum == Some(self.scaled_ns)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Overload {
    since: Tick,
    calm: u32,
}

/// The clock of a world. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct WorldClock {
    config: ClockConfig,
    scaler: Scaler,
    step_ns: u64,
    paused: bool,
    last_ns: Option<u64>,
    account: Account,
    overload: Option<Overload>,
}

checked_serde!(WorldClock);

impl WorldClock {
    /// A clock at step 0 that has not seen any time yet.
    ///
    /// # Errors
    /// When the configuration is out of its limits.
    pub fn new(config: ClockConfig) -> Result<Self, ClockConfigError> {
        config.check()?;
        Ok(Self {
            config,
            scaler: Scaler::new(Scale::ONE),
            step_ns: config.step_ns,
            paused: false,
            last_ns: None,
            account: Account::default(),
            overload: None,
        })
    }

    /// Takes the time up to `now_ns` and says which steps to run. The first call only aligns.
    ///
    /// A clock that went back counts as no time, and its new reading is the one to measure from: a
    /// world that stood still until the old reading came round again would be worse.
    pub fn advance(&mut self, now_ns: u64) -> Advance {
        self.advance_within(now_ns, u32::MAX)
    }

    /// [`advance`](Self::advance) with the reading of a time source.
    pub fn advance_from(&mut self, time: &impl TimeSource) -> Advance {
        self.advance(time.now_ns())
    }

    /// [`advance`](Self::advance) for a caller whose processor budget affords no more than
    /// `afford_steps` now: the cap is the smaller of the two, and the rest falls to the policy.
    pub fn advance_within(&mut self, now_ns: u64, afford_steps: u32) -> Advance {
        let mut decisions = Vec::new();
        let elapsed_ns = self.measure(now_ns, &mut decisions);
        let from = self.next_tick();
        if self.paused {
            self.account.paused_ns += u128::from(elapsed_ns);
            let ticks = TickRange { from, to: from };
            return Advance { ticks, step_ns: self.step_ns, decisions };
        }
        let scaled_ns = self.scaler.apply(elapsed_ns);
        self.account.elapsed_ns += u128::from(elapsed_ns);
        self.account.scaled_ns += scaled_ns;
        self.account.backlog_ns += scaled_ns;
        self.fit_step(scaled_ns, &mut decisions);

        let cap = self.config.cap.min(afford_steps);
        let step_ns = u128::from(self.step_ns);
        let due = self.account.backlog_ns / step_ns;
        let run = due.min(u128::from(cap));
        self.account.backlog_ns -= run * step_ns;
        self.account.executed_ns += run * step_ns;
        self.account.steps = self.account.steps.saturating_add(run as u64);
        let ticks = TickRange { from, to: self.next_tick() };

        let late = due - run;
        self.note_overload(late > 0 || self.step_ns > self.config.step_ns, cap, &mut decisions);
        self.shed(late, &mut decisions);
        Advance { ticks, step_ns: self.step_ns, decisions }
    }

    /// Changes the policy and the cap from the next step on and raises the version. The step has
    /// its declared length again.
    ///
    /// # Errors
    /// When either is out of its limits; then nothing changes.
    pub fn set_policy(
        &mut self,
        policy: OverloadPolicy,
        cap: u32,
    ) -> Result<ClockDecision, ClockConfigError> {
        let version = self.config.version.saturating_add(1);
        let config = ClockConfig { policy, cap, version, ..self.config };
        config.check()?;
        self.config = config;
        self.step_ns = config.step_ns;
        Ok(ClockDecision::PolicyChanged { tick: self.next_tick(), policy, cap, version })
    }

    /// Changes how fast time runs, from the last advance on. What is owed of a nanosecond is kept.
    pub fn set_scale(&mut self, scale: Scale) -> ClockDecision {
        let exact = self.scaler.set(scale);
        self.account.roundings += u64::from(!exact);
        ClockDecision::ScaleChanged { tick: self.next_tick(), scale, exact }
    }

    /// Stops or restarts time, from the last advance on. The backlog waits. None when nothing
    /// changes.
    pub fn set_paused(&mut self, paused: bool) -> Option<ClockDecision> {
        if self.paused == paused {
            return None;
        }
        self.paused = paused;
        let tick = self.next_tick();
        Some(if paused { ClockDecision::Paused { tick } } else { ClockDecision::Resumed { tick } })
    }

    /// Where all time went.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Logic time in nanoseconds: the sum of the steps that ran. Never decreases.
    #[must_use]
    pub const fn logic_ns(&self) -> u128 {
        self.account.executed_ns
    }

    /// The number of the next step.
    #[must_use]
    pub const fn next_tick(&self) -> Tick {
        Tick(self.account.steps.saturating_add(self.account.dropped_steps))
    }

    /// The configuration in force, with its version.
    #[must_use]
    pub const fn config(&self) -> &ClockConfig {
        &self.config
    }

    /// The time scale in force.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scaler.scale()
    }

    /// The present length of a step, in nanoseconds; longer than declared while stretched.
    #[must_use]
    pub const fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// True while time stands still.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// True from the beginning of an overload to its end.
    #[must_use]
    pub const fn is_overloaded(&self) -> bool {
        self.overload.is_some()
    }

    /// How far the wall is into the step that has not run yet, as (part, whole) in nanoseconds with
    /// part < whole. Whole steps that wait are not counted.
    #[must_use]
    pub fn alpha_ratio(&self) -> (u64, u64) {
        ((self.account.backlog_ns % u128::from(self.step_ns)) as u64, self.step_ns)
    }

    /// [`alpha_ratio`](Self::alpha_ratio) as a number in `[0, 1)`, to draw between the previous and
    /// the current state.
    #[must_use]
    pub fn alpha(&self) -> f32 {
        let (part, whole) = self.alpha_ratio();
        // The quotient of two integers this close may round up to 1, which would draw a step ahead.
        ((part as f64 / whole as f64) as f32).min(BELOW_ONE)
    }

    fn validate(&self) -> Result<(), &'static str> {
        self.config.check().map_err(|_| "a clock out of its limits")?;
        let steps = self.config.step_ns..=self.config.step_ns_max();
        let sound = steps.contains(&self.step_ns) && self.scaler.is_sound();
        if sound && self.account.balances() { Ok(()) } else { Err("a clock that does not balance") }
    }

    fn measure(&mut self, now_ns: u64, decisions: &mut Vec<ClockDecision>) -> u64 {
        let last_ns = self.last_ns.replace(now_ns).unwrap_or(now_ns);
        if now_ns < last_ns {
            self.account.backwards += 1;
            let by_ns = last_ns - now_ns;
            decisions.push(ClockDecision::Backwards { tick: self.next_tick(), by_ns });
        }
        now_ns.saturating_sub(last_ns)
    }

    /// Under slow-down the step is as long as the frame, or as all that waits when that is two
    /// steps or more; so at most one step runs a frame until a stall exceeds two longest steps.
    fn fit_step(&mut self, frame_ns: u128, decisions: &mut Vec<ClockDecision>) {
        let (base, longest) = (self.config.step_ns, self.config.step_ns_max());
        if longest == base {
            return;
        }
        let waiting_ns = self.account.backlog_ns;
        let behind = waiting_ns >= 2 * u128::from(base);
        let wish = if behind { waiting_ns } else { frame_ns };
        let to_ns = wish.clamp(u128::from(base), u128::from(longest)) as u64;
        let from_ns = std::mem::replace(&mut self.step_ns, to_ns);
        let tick = self.next_tick();
        if to_ns == from_ns {
            return;
        }
        decisions.push(match to_ns == base {
            true => ClockDecision::Recovered { tick, from_ns },
            false => ClockDecision::Stretched { tick, from_ns, to_ns },
        });
    }

    fn shed(&mut self, late: u128, decisions: &mut Vec<ClockDecision>) {
        let waiting_max = match self.config.policy {
            OverloadPolicy::CatchUp { backlog_max_steps } => u128::from(backlog_max_steps),
            OverloadPolicy::Drop | OverloadPolicy::SlowDown { .. } => 0,
        };
        let steps = late.saturating_sub(waiting_max);
        if steps == 0 {
            return;
        }
        let ns = steps * u128::from(self.step_ns);
        let from = self.next_tick();
        self.account.backlog_ns -= ns;
        self.account.dropped_ns += ns;
        let count = u64::try_from(steps).unwrap_or(u64::MAX);
        self.account.dropped_steps = self.account.dropped_steps.saturating_add(count);
        let (policy, version) = (self.config.policy, self.config.version);
        let to = self.next_tick();
        decisions.push(ClockDecision::Dropped(Dropped { from, to, ns, policy, version }));
    }

    fn note_overload(&mut self, strained: bool, cap: u32, decisions: &mut Vec<ClockDecision>) {
        let tick = self.next_tick();
        match &mut self.overload {
            None if strained => {
                self.overload = Some(Overload { since: tick, calm: 0 });
                let (policy, version) = (self.config.policy, self.config.version);
                decisions.push(ClockDecision::OverloadBegan { tick, policy, version, cap });
            }
            None => {}
            Some(overload) if strained => overload.calm = 0,
            Some(overload) => {
                overload.calm += 1;
                let since = overload.since;
                if overload.calm >= OVERLOAD_CALM_ADVANCES {
                    self.overload = None;
                    decisions.push(ClockDecision::OverloadEnded { since, tick });
                }
            }
        }
    }
}
