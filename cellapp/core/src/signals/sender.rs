//! How one entity numbers the signals that it sends.

use super::RUN_BITS;
use marchland_common::order::{EntityId, Epoch, SIGNAL_FIRST_N, Tick};
use serde::{Deserialize, Serialize};

/// Most receivers that a sender counts for at once; whoever was sent to longest ago makes room.
pub const RECEIVERS_MAX: usize = 64;
/// After a pause of this many ticks a sender counts anew for a receiver.
pub const SILENCE_TICKS: u64 = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Receiver {
    id: EntityId,
    run: u32,
    last_n: u64,
    used: Tick,
}

/// The numbers of one source under one epoch. Invariant: every receiver that was dropped had a
/// smaller run than the next one that is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sender {
    epoch: Epoch,
    run: u32,
    /// By ascending id.
    receivers: Vec<Receiver>,
}

impl Sender {
    pub(super) const fn new(epoch: Epoch) -> Self {
        Self { epoch, run: 0, receivers: Vec::new() }
    }

    /// Run and number of the next signal to a receiver; none when all runs of this epoch are used.
    pub(super) fn number(&mut self, epoch: Epoch, to: EntityId, now: Tick) -> Option<(u32, u64)> {
        if epoch != self.epoch {
            *self = Self::new(epoch);
        }
        let at = self.receivers.binary_search_by_key(&to, |receiver| receiver.id);
        if let Ok(at) = at {
            if !is_over(&self.receivers[at], now) {
                let receiver = &mut self.receivers[at];
                receiver.last_n += 1;
                receiver.used = now;
                return Some((receiver.run, receiver.last_n));
            }
            self.drop_receiver(at)?;
        } else if self.receivers.len() >= RECEIVERS_MAX {
            let (oldest, _) =
                self.receivers.iter().enumerate().min_by_key(|(_, r)| (r.used, r.id))?;
            self.drop_receiver(oldest)?;
        }
        let at = self.receivers.partition_point(|receiver| receiver.id < to);
        let run = self.run;
        self.receivers.insert(at, Receiver { id: to, run, last_n: SIGNAL_FIRST_N, used: now });
        Some((run, SIGNAL_FIRST_N))
    }

    /// Drops the receivers that nothing was sent to for long. The run stays: it is what keeps a
    /// dropped receiver's old numbers apart from its new ones.
    pub(super) fn forget_silent(&mut self, now: Tick) {
        while let Some(at) = self.receivers.iter().position(|receiver| is_over(receiver, now)) {
            if self.drop_receiver(at).is_none() {
                return;
            }
        }
    }

    fn drop_receiver(&mut self, at: usize) -> Option<()> {
        let run = self.run + 1;
        if run >> RUN_BITS != 0 {
            return None;
        }
        self.run = run;
        self.receivers.remove(at);
        Some(())
    }
}

fn is_over(receiver: &Receiver, now: Tick) -> bool {
    now.0.saturating_sub(receiver.used.0) >= SILENCE_TICKS
}
