//! Dawdling on purpose, for simulations: where a process may be slow, or may do something twice,
//! it now and then is and does.
//!
//! A core has this only in its settings, so that it is part of its input, and no process sets it.

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// Draws when to dawdle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dawdle {
    rng: Rng,
    times: u64,
}

impl Dawdle {
    /// One that has not dawdled yet.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::child(seed, 0x6461_7764_6c65), times: 0 }
    }

    /// Whether to dawdle at a point, in one of so many cases.
    pub fn here(&mut self, one_in: u64) -> bool {
        let dawdles = self.rng.chance(1, one_in);
        self.times += u64::from(dawdles);
        dawdles
    }

    /// How often it dawdled.
    #[must_use]
    pub const fn times(&self) -> u64 {
        self.times
    }
}
