//! The order of signals: cosmetic messages that go from cell to cell, direct or through ghosts, on
//! paths that overtake each other.
//!
//! A signal is keyed by (source, source epoch, n), n contiguous from [`SIGNAL_FIRST_N`] for each
//! receiver. Invariants: per source signals come out in the order of (epoch, n), each at most once;
//! a higher epoch restarts n and ends what came before it; a gap is waited for
//! [`SIGNAL_HELD_TICKS`] ticks or [`SIGNAL_HELD_MAX`] signals, then skipped; everything that does
//! not come out is counted.

#[cfg(test)]
mod tests;

use super::reorder::{ReorderLimits, ReorderWindow, Skip, Verdict, WhenFull};
use super::{EntityId, Epoch, Tick, checked_serde};
use serde::{Deserialize, Serialize};

/// The number of the first signal of a source under an epoch.
pub const SIGNAL_FIRST_N: u64 = 1;
/// Longest wait for a missing signal, in ticks.
pub const SIGNAL_HELD_TICKS: u64 = 8;
/// Most signals of one source that wait for a missing one.
pub const SIGNAL_HELD_MAX: u16 = 64;
/// Most sources that a receiver keeps apart. The one that has been silent longest makes room; a
/// repeated signal of a source forgotten so would be taken for a new one.
pub const SIGNAL_SOURCES_MAX: usize = 256;

const LIMITS: ReorderLimits = ReorderLimits {
    held_max: SIGNAL_HELD_MAX,
    held_ticks_max: SIGNAL_HELD_TICKS,
    when_full: WhenFull::Skip,
};

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalVerdict {
    /// What the window of its source and epoch says.
    Window(Verdict),
    /// Its source has spoken under a higher epoch since.
    StaleEpoch,
    /// All sources that could make room have something waiting.
    Full,
}

/// A gap in the signals of a source that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSkip {
    /// The source.
    pub source: EntityId,
    /// The epoch whose numbers were skipped.
    pub epoch: Epoch,
    /// The numbers.
    pub skip: Skip,
}

/// What accepting a signal, or the passing of a tick, led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalAccepted<T> {
    /// What became of the signal.
    pub verdict: SignalVerdict,
    /// The signals that are now in order, oldest first.
    pub ready: Vec<T>,
    /// The gaps given up in front of them; to be journalled.
    pub skipped: Vec<SourceSkip>,
}

/// Counts of signals since the window was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalCounters {
    /// Came out, in order.
    pub delivered: u64,
    /// Never arrived in time; their numbers were skipped.
    pub skipped: u64,
    /// Arrived twice.
    pub duplicate: u64,
    /// Arrived after their number was skipped.
    pub too_old: u64,
    /// Arrived after a higher epoch of their source.
    pub stale_epoch: u64,
    /// Carried a number that cannot be.
    pub overflow: u64,
    /// Found no room for their source.
    pub full: u64,
    /// Sources forgotten to make room.
    pub sources_forgotten: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Row<T> {
    source: EntityId,
    epoch: Epoch,
    heard: Tick,
    window: ReorderWindow<T>,
}

/// The signals that one entity receives. Travels with it. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct SignalWindow<T> {
    /// Sorted by source.
    rows: Vec<Row<T>>,
    counters: SignalCounters,
}

checked_serde!(SignalWindow<T>);

impl<T> Default for SignalWindow<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), counters: SignalCounters::default() }
    }
}

impl<T> SignalWindow<T> {
    /// Takes a signal that arrived at `now`.
    pub fn accept(
        &mut self,
        source: EntityId,
        epoch: Epoch,
        n: u64,
        signal: T,
        now: Tick,
    ) -> SignalAccepted<T> {
        let mut result =
            SignalAccepted { verdict: SignalVerdict::Full, ready: Vec::new(), skipped: Vec::new() };
        let Some(at) = self.row_for(source, epoch, now) else {
            self.counters.full += 1;
            return result;
        };
        let row = &mut self.rows[at];
        if epoch < row.epoch {
            self.counters.stale_epoch += 1;
            result.verdict = SignalVerdict::StaleEpoch;
            return result;
        }
        if epoch > row.epoch {
            let skips = row.window.drain(&mut result.ready);
            note(&mut result.skipped, source, row.epoch, skips);
            row.epoch = epoch;
            row.window = ReorderWindow::new(SIGNAL_FIRST_N, LIMITS);
        }
        row.heard = row.heard.max(now);
        let accepted = row.window.accept(n, signal, now);
        result.verdict = SignalVerdict::Window(accepted.verdict);
        result.ready.extend(accepted.ready);
        note(&mut result.skipped, source, epoch, accepted.skipped);
        self.count(Some(accepted.verdict), &result.ready, &result.skipped);
        result
    }

    /// Call once a tick: gives up the gaps that were waited for long enough. Appends what comes out
    /// to `ready`, by source, and returns what was skipped.
    pub fn expire(&mut self, now: Tick, ready: &mut Vec<T>) -> Vec<SourceSkip> {
        let before = ready.len();
        let mut skipped = Vec::new();
        for row in &mut self.rows {
            let skips = row.window.expire(now, ready);
            note(&mut skipped, row.source, row.epoch, skips);
        }
        self.count(None, &ready[before..], &skipped);
        skipped
    }

    /// Forgets the sources that have been silent for `ticks` and have nothing waiting. Returns how
    /// many. Choose `ticks` longer than any signal can be under way.
    pub fn forget_silent(&mut self, now: Tick, ticks: u64) -> usize {
        let before = self.rows.len();
        self.rows.retain(|row| row.window.held() > 0 || now.0.saturating_sub(row.heard.0) < ticks);
        before - self.rows.len()
    }

    /// Counts since the window was made.
    #[must_use]
    pub const fn counters(&self) -> &SignalCounters {
        &self.counters
    }

    /// How many sources are kept apart now.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.rows.len()
    }

    /// How many signals wait for a missing one.
    #[must_use]
    pub fn held(&self) -> usize {
        self.rows.iter().map(|row| row.window.held()).sum()
    }

    fn row_for(&mut self, source: EntityId, epoch: Epoch, now: Tick) -> Option<usize> {
        if let Ok(at) = self.rows.binary_search_by_key(&source, |row| row.source) {
            return Some(at);
        }
        if self.rows.len() >= SIGNAL_SOURCES_MAX {
            let idle = self.rows.iter().enumerate().filter(|(_, row)| row.window.held() == 0);
            let (oldest, _) = idle.min_by_key(|(_, row)| (row.heard, row.source))?;
            self.rows.remove(oldest);
            self.counters.sources_forgotten += 1;
        }
        let at = self.rows.partition_point(|row| row.source < source);
        let window = ReorderWindow::new(SIGNAL_FIRST_N, LIMITS);
        self.rows.insert(at, Row { source, epoch, heard: now, window });
        Some(at)
    }

    fn count(&mut self, verdict: Option<Verdict>, ready: &[T], skipped: &[SourceSkip]) {
        let counters = &mut self.counters;
        counters.delivered += ready.len() as u64;
        for skip in skipped {
            counters.skipped = counters.skipped.saturating_add(skip.skip.count());
        }
        match verdict {
            None | Some(Verdict::InOrder | Verdict::Held) => {}
            Some(Verdict::Duplicate) => counters.duplicate += 1,
            Some(Verdict::TooOld) => counters.too_old += 1,
            Some(Verdict::Overflow) => counters.overflow += 1,
        }
    }

    fn validate(&self) -> Result<(), &'static str> {
        let rising = self.rows.windows(2).all(|two| two[0].source < two[1].source);
        let limits = self.rows.iter().all(|row| *row.window.limits() == LIMITS);
        if rising && limits && self.rows.len() <= SIGNAL_SOURCES_MAX {
            Ok(())
        } else {
            Err("a broken table of signals")
        }
    }
}

fn note(
    skipped: &mut Vec<SourceSkip>,
    source: EntityId,
    epoch: Epoch,
    skips: impl IntoIterator<Item = Skip>,
) {
    skipped.extend(skips.into_iter().map(|skip| SourceSkip { source, epoch, skip }));
}
