//! The machine's clocks, and what a tick thread tells the others about cluster time.
//!
//! This is the only room that reads a clock for logic. Nothing here blocks.

use marchland_common::order::Tick;
use marchland_common::time::TimeSource;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Nanoseconds of `CLOCK_MONOTONIC`: never goes back, stands still while the machine sleeps.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Nanoseconds of `CLOCK_BOOTTIME`: like the monotonic clock, but also counts sleep.
#[must_use]
pub fn boottime_ns() -> u64 {
    read_ns(ClockId::Boottime)
}

/// Milliseconds of calendar time. For people, and once for the first alignment; never for order.
#[must_use]
pub fn calendar_ms() -> u64 {
    read_ns(ClockId::Realtime) / 1_000_000
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// The monotonic clock as a source for the pure clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl TimeSource for Monotonic {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}

/// Where cluster time stands, as the tick thread believes now: others read it without waiting.
#[derive(Clone, Debug)]
pub struct SharedClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    step_ns: u64,
    /// The monotonic nanosecond at which tick 0 began.
    origin_ns: AtomicI64,
    tick: AtomicU64,
}

impl SharedClock {
    /// A clock of a process that runs steps of `step_ns`; nobody set its origin yet.
    #[must_use]
    pub fn new(step_ns: u64) -> Self {
        let (origin_ns, tick) = (AtomicI64::new(0), AtomicU64::new(0));
        Self { inner: Arc::new(Inner { step_ns: step_ns.max(1), origin_ns, tick }) }
    }

    /// Length of a step in nanoseconds.
    #[must_use]
    pub fn step_ns(&self) -> u64 {
        self.inner.step_ns
    }

    /// Told by the tick thread whenever its belief changes.
    pub fn set_origin(&self, origin_ns: i128) {
        let clamped = origin_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        self.inner.origin_ns.store(clamped, Ordering::Relaxed);
    }

    /// Told by the tick thread when it begins a tick.
    pub fn set_tick(&self, tick: Tick) {
        self.inner.tick.store(tick.0, Ordering::Relaxed);
    }

    /// The tick that runs now or ran last; 0 before the first.
    #[must_use]
    pub fn tick(&self) -> Tick {
        Tick(self.inner.tick.load(Ordering::Relaxed))
    }

    /// How far cluster time is into `tick` at the monotonic nanosecond `now_ns`, in microseconds;
    /// negative before it. Ends at the limits of its type.
    #[must_use]
    pub fn phase_us(&self, tick: Tick, now_ns: u64) -> i32 {
        let origin_ns = i128::from(self.inner.origin_ns.load(Ordering::Relaxed));
        let begun_ns = i128::from(tick.0) * i128::from(self.inner.step_ns);
        let into_us = (i128::from(now_ns) - origin_ns - begun_ns) / 1_000;
        into_us.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_counts_from_the_start_of_its_tick_and_ends_at_its_limits() {
        let clock = SharedClock::new(50_000_000);
        clock.set_origin(-1_000_000);
        assert_eq!(clock.phase_us(Tick(2), 99_000_000), 0);
        assert_eq!(clock.phase_us(Tick(2), 100_500_000), 1_500);
        assert_eq!(clock.phase_us(Tick(3), 99_000_000), -50_000);
        assert_eq!(clock.phase_us(Tick(0), u64::MAX), i32::MAX);
        assert_eq!(clock.phase_us(Tick(u64::MAX), 0), i32::MIN);
    }
}
