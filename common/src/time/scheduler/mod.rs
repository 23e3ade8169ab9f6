//! The tick: six phases in their order, and in each phase its components in the order in which they
//! were registered. Idle follows and is the caller's.
//!
//! Invariants: single-threaded; a tick runs all phases or none; tick numbers only grow, each runs
//! at most once; the scheduler reads no clock: the caller hands in a probe, a core one that
//! always says 0, and nothing but the reported figures depends on what it says.

#[cfg(test)]
mod tests;

use super::stats::{Overrun, Phase, Span, TickReport};
use crate::order::Tick;
use std::ops::ControlFlow;

/// Something that runs once a tick, in its phase. Any `FnMut(&mut C)` is one.
pub trait Component<C> {
    /// Runs its part of the tick.
    fn run(&mut self, context: &mut C);
}

impl<C, F: FnMut(&mut C)> Component<C> for F {
    fn run(&mut self, context: &mut C) {
        self(context);
    }
}

struct Slot<C> {
    name: &'static str,
    component: Box<dyn Component<C> + Send>,
}

/// Refused: the tick was run or passed over before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tick {asked} lies behind: the next is {next}")]
pub struct RefusedTick {
    /// What was asked for.
    pub asked: Tick,
    /// The lowest number that can still run.
    pub next: Tick,
}

/// Runs ticks over a context `C`, which is all that components share.
pub struct Scheduler<C> {
    phases: [Vec<Slot<C>>; 6],
    budget_ns: u64,
    next: Tick,
    current: Option<Tick>,
    stopped: bool,
    phase_spans: [Span; 6],
    tick_span: Span,
    idle_span: Span,
}

impl<C> Scheduler<C> {
    /// A scheduler without components, whose first tick is `first`. A tick over `budget_ns` is
    /// reported as an overrun; it is not cut short.
    #[must_use]
    pub fn new(first: Tick, budget_ns: u64) -> Self {
        Self {
            phases: std::array::from_fn(|_| Vec::new()),
            budget_ns,
            next: first,
            current: None,
            stopped: false,
            phase_spans: [Span::default(); 6],
            tick_span: Span::default(),
            idle_span: Span::default(),
        }
    }

    /// Adds a component at the end of a phase. `name` is for people and need not be unique.
    pub fn register(
        &mut self,
        phase: Phase,
        name: &'static str,
        component: impl Component<C> + Send + 'static,
    ) {
        self.phases[phase as usize].push(Slot { name, component: Box::new(component) });
    }

    /// The components of a phase, in the order in which they run.
    pub fn components(&self, phase: Phase) -> impl Iterator<Item = &'static str> + '_ {
        self.phases[phase as usize].iter().map(|slot| slot.name)
    }

    /// Runs the next tick. `probe` says nanoseconds from any fixed moment; it is asked seven times.
    /// None after [`stop`](Self::stop).
    pub fn run_tick(
        &mut self,
        context: &mut C,
        probe: &mut dyn FnMut() -> u64,
    ) -> Option<TickReport> {
        if self.stopped {
            return None;
        }
        let tick = self.next;
        self.current = Some(tick);
        self.next = tick.next();
        let begun_ns = probe();
        let mut at_ns = begun_ns;
        let mut ran_out_in = None;
        let mut phase_ns = [0; 6];
        for phase in Phase::ALL {
            for slot in &mut self.phases[phase as usize] {
                slot.component.run(context);
            }
            let now_ns = probe().max(at_ns);
            phase_ns[phase as usize] = now_ns - at_ns;
            self.phase_spans[phase as usize].add(now_ns - at_ns);
            at_ns = now_ns;
            if at_ns - begun_ns > self.budget_ns {
                ran_out_in.get_or_insert(phase);
            }
        }
        let tick_ns = at_ns - begun_ns;
        self.tick_span.add(tick_ns);
        let overrun = ran_out_in.map(|phase| self.note_overrun(tick, phase, &phase_ns, tick_ns));
        Some(TickReport { tick, phase_ns, tick_ns, overrun })
    }

    /// Runs ticks until [`stop`](Self::stop) was called or `idle` breaks. `idle` is called after
    /// each tick: it waits until the next deadline, and may [`resume_at`](Self::resume_at) a later
    /// tick or stop through the scheduler it is given.
    pub fn run(
        &mut self,
        context: &mut C,
        probe: &mut dyn FnMut() -> u64,
        idle: &mut dyn FnMut(&mut Self, &mut C, &TickReport) -> ControlFlow<()>,
    ) {
        while let Some(report) = self.run_tick(context, probe) {
            let begun_ns = probe();
            let flow = idle(self, context, &report);
            self.idle_span.add(probe().saturating_sub(begun_ns));
            if flow.is_break() {
                return;
            }
        }
    }

    /// Makes `tick` the next one, after numbers were dropped.
    ///
    /// # Errors
    /// When that number was run or passed over before.
    pub fn resume_at(&mut self, tick: Tick) -> Result<(), RefusedTick> {
        if tick < self.next {
            return Err(RefusedTick { asked: tick, next: self.next });
        }
        self.next = tick;
        Ok(())
    }

    /// No tick runs after this.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// True after [`stop`](Self::stop).
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The tick that runs now or ran last; None before the first.
    #[must_use]
    pub const fn current_tick(&self) -> Option<Tick> {
        self.current
    }

    /// The tick that runs next.
    #[must_use]
    pub const fn next_tick(&self) -> Tick {
        self.next
    }

    /// What a tick may take, in nanoseconds.
    #[must_use]
    pub const fn tick_budget_ns(&self) -> u64 {
        self.budget_ns
    }

    /// Changes what a tick may take, in nanoseconds.
    pub fn set_tick_budget_ns(&mut self, budget_ns: u64) {
        self.budget_ns = budget_ns;
    }

    /// What the last tick took, in nanoseconds; 0 before the first.
    #[must_use]
    pub const fn last_tick_ns(&self) -> u64 {
        self.tick_span.last_ns
    }

    /// What a phase has cost so far.
    #[must_use]
    pub const fn phase_span(&self, phase: Phase) -> &Span {
        &self.phase_spans[phase as usize]
    }

    /// What whole ticks have cost so far, idle not included.
    #[must_use]
    pub const fn tick_span(&self) -> &Span {
        &self.tick_span
    }

    /// How long [`run`](Self::run) was idle between ticks.
    #[must_use]
    pub const fn idle_span(&self) -> &Span {
        &self.idle_span
    }

    fn note_overrun(
        &mut self,
        tick: Tick,
        phase: Phase,
        phase_ns: &[u64; 6],
        tick_ns: u64,
    ) -> Overrun {
        self.phase_spans[phase as usize].overruns += 1;
        self.tick_span.overruns += 1;
        // Of equals the earliest: it took the time first.
        let longest = Phase::ALL
            .into_iter()
            .rev()
            .max_by_key(|phase| phase_ns[*phase as usize])
            .unwrap_or(phase);
        Overrun { tick, phase, longest, tick_ns, budget_ns: self.budget_ns }
    }
}
