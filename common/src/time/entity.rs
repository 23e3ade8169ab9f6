//! Entity time: how much simulation an entity has lived through. It travels with the entity, so it
//! stands still while the entity is frozen or lost and nobody's clock can shorten or stretch it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The sum of the steps an entity was simulated for, in microseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EntityTime(pub u64);

impl EntityTime {
    /// This time and `us` microseconds more; stops at the largest value.
    #[must_use]
    pub const fn after_us(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }
}

impl fmt::Display for EntityTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} us", self.0)
    }
}

/// The clock of one entity: adds up the steps it was simulated for and carries what does not make a
/// microsecond, so that a step of 16,666,667 ns does not drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityClock {
    time: EntityTime,
    carry_ns: u16,
}

impl EntityClock {
    /// The entity's time.
    #[must_use]
    pub const fn time(&self) -> EntityTime {
        self.time
    }

    /// Adds one simulated step, in nanoseconds.
    pub fn step(&mut self, step_ns: u64) {
        let ns = u128::from(step_ns) + u128::from(self.carry_ns);
        self.carry_ns = (ns % 1_000) as u16;
        self.time = self.time.after_us(u64::try_from(ns / 1_000).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_no_whole_microseconds_add_up_exactly() {
        let mut clock = EntityClock::default();
        (0..3_600_000).for_each(|_| clock.step(16_666_700));
        assert_eq!(clock.time(), EntityTime(3_600_000 * 166_667 / 10));
    }

    #[test]
    fn entity_time_stops_at_its_end_and_never_wraps() {
        let mut clock = EntityClock { time: EntityTime(u64::MAX - 1), carry_ns: 999 };
        clock.step(u64::MAX);
        assert_eq!(clock.time(), EntityTime(u64::MAX));
    }
}
