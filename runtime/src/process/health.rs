//! Whether a process may take work, and if not, what it waits for.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a process lacks as long as its cluster has no identity and no clock.
pub const UNFOUNDED: &str = "no manager has founded the cluster yet";

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// What is missing, in words; ready when empty.
    pub reasons: Vec<String>,
    /// Its newest tick.
    pub tick: u64,
    /// Reals that it holds.
    pub reals: u64,
    /// Ghosts that it holds.
    pub ghosts: u64,
    /// Entities with a record here.
    pub entities: u64,
    /// Open sessions.
    pub sessions: u64,
    /// It drains, and nothing is left here.
    pub drained: bool,
}

#[derive(Debug, Default)]
struct Inner {
    reasons: Mutex<BTreeSet<String>>,
    figures: [AtomicU64; 5],
    drained: AtomicBool,
}

/// Shared by the tick thread, which writes figures, and the operator's door, which reads them.
#[derive(Clone, Debug, Default)]
pub struct HealthBoard(Arc<Inner>);

impl HealthBoard {
    /// Something is missing, or is not any more.
    pub fn set(&self, reason: &str, missing: bool) {
        let mut reasons = self.0.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        if missing {
            reasons.insert(reason.to_owned());
        } else {
            reasons.remove(reason);
        }
    }

    /// The figures after a tick.
    pub fn figures(&self, tick: u64, reals: u64, ghosts: u64, entities: u64, sessions: u64) {
        for (slot, value) in self.0.figures.iter().zip([tick, reals, ghosts, entities, sessions]) {
            slot.store(value, Ordering::Relaxed);
        }
    }

    /// Whether a drain left nothing here.
    pub fn set_drained(&self, drained: bool) {
        self.0.drained.store(drained, Ordering::Release);
    }

    /// Whether a drain left nothing here.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.0.drained.load(Ordering::Acquire)
    }

    /// Everything.
    #[must_use]
    pub fn report(&self) -> HealthReport {
        let reasons = self.0.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let figure = |i: usize| self.0.figures[i].load(Ordering::Relaxed);
        HealthReport {
            reasons: reasons.iter().cloned().collect(),
            tick: figure(0),
            reals: figure(1),
            ghosts: figure(2),
            entities: figure(3),
            sessions: figure(4),
            drained: self.is_drained(),
        }
    }
}
