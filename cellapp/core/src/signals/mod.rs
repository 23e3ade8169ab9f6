//! Signals: cosmetic messages from entity to entity, at most once, in the order of their sender.
//!
//! A signal goes straight to the process where its receiver is real, as far as is known; where the
//! receiver is a ghost it is forwarded to the ghost's owner, at most [`Signal::HOPS_MAX`] times.
//! The receiver's window puts what took different paths back into order.
//!
//! # Who calls what
//!
//! - Ingress: [`Signals::adopt`] when a real begins here from an offload;
//!   [`Signals::receive_own`] once, then [`Signals::receive`] for each signal that came in, both
//!   after all ghost messages of the tick; then [`Signals::tick`] once. What is in
//!   [`SignalOut::ready`] goes to the receivers' behaviours, in its order.
//! - Script or SyncBuild: [`Signals::send`] for each signal that a behaviour made, in their order.
//! - Ends: [`Signals::window`] travels in an offload; [`Signals::end`] when a real ends here.
//! - Flush: [`SignalOut::mail`] goes into the bundles behind the ghost messages.
//!
//! # Numbers
//!
//! Each (source, epoch, receiver) counts from 1. The sender's table of receivers is bounded, so it
//! counts in runs: a receiver that was dropped from the table begins a higher run at 1, which the
//! window treats like a higher epoch. [`number`] makes one growing number of both, for the journal.

mod sender;
#[cfg(test)]
mod tests;

pub use sender::{RECEIVERS_MAX, SILENCE_TICKS};

use crate::ghosts::Refusal;
use bytes::Bytes;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::Signal;
use marchland_common::order::{
    EntityId, Epoch, Node, SignalVerdict, SignalWindow, SourceSkip, Tick, Verdict,
};
use sender::Sender;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Most signals between entities of this very process that wait for the next tick.
pub const OWN_MAX: usize = 16_384;
/// Receivers remember a source longer than a sender counts on after a pause, so that a number never
/// meets a window that has forgotten the ones before it.
const FORGET_TICKS: u64 = SILENCE_TICKS * 2;
/// Bits of a run, of a number, and of both in one window.
const RUN_BITS: u32 = 24;
const NUMBER_BITS: u32 = 40;
/// How many entities are looked through for silence in each tick.
const SWEEP: usize = 8;

/// Where an entity is, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It is real here and runs.
    Here,
    /// It is frozen here, on its way to that process.
    Leaving(Node),
    /// It is a ghost here; its real is there.
    There(Node),
    /// Nobody here knows it, or whom its ghost follows.
    Unknown,
}

/// What became of a signal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It comes in with the next tick, by the same door as from elsewhere.
    Own,
    /// It goes to another process.
    To(Node),
    /// It was dropped; the refusal says why.
    Dropped,
}

/// What the work on signals leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalOut {
    /// Signals to other processes, in order.
    pub mail: Vec<(Node, Signal)>,
    /// Signals for reals of this process, each receiver's in the order of their senders.
    pub ready: Vec<Signal>,
    /// What was given up.
    pub events: Vec<Event>,
    /// What was dropped.
    pub refusals: Vec<Refusal>,
}

/// All signals of this process. See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    senders: BTreeMap<EntityId, Sender>,
    windows: BTreeMap<EntityId, SignalWindow<Signal>>,
    /// Receivers with a signal that waits for an earlier one.
    holding: BTreeSet<EntityId>,
    /// Between entities of this process, for the next tick.
    own: Vec<Signal>,
    /// How far the search for silence has come.
    swept: (EntityId, EntityId),
}

/// The number of a signal in the journal: grows with every signal of a source under an epoch to one
/// receiver.
#[must_use]
pub const fn number(signal: &Signal) -> u64 {
    (signal.run as u64) << NUMBER_BITS | signal.n
}

/// Epoch and run in one, for a window that knows only epochs; none if they do not fit.
fn stream(epoch: Epoch, run: u32) -> Option<Epoch> {
    let fits = epoch.0 >> (64 - RUN_BITS) == 0 && run >> RUN_BITS == 0;
    fits.then_some(Epoch(epoch.0 << RUN_BITS | u64::from(run)))
}

impl Signals {
    /// Sends a signal of a real of this process. Without a known receiver it is dropped and takes
    /// no number.
    pub fn send(
        &mut self,
        (source, epoch): (EntityId, Epoch),
        (to, at): (EntityId, Whereabouts),
        payload: Bytes,
        now: Tick,
        out: &mut SignalOut,
    ) -> Route {
        let route = match at {
            Whereabouts::Here => Route::Own,
            Whereabouts::Leaving(node) | Whereabouts::There(node) => Route::To(node),
            Whereabouts::Unknown => return drop_one(Refused::SignalLost, to, out),
        };
        if route == Route::Own && self.own.len() >= OWN_MAX {
            return drop_one(Refused::QueueFull, to, out);
        }
        let sender = self.senders.entry(source).or_insert_with(|| Sender::new(epoch));
        let Some((run, n)) = sender.number(epoch, to, now) else {
            return drop_one(Refused::QueueFull, to, out);
        };
        let signal = Signal { to, source, epoch, run, n, hops: 0, payload };
        match route {
            Route::To(node) => out.mail.push((node, signal)),
            Route::Own | Route::Dropped => self.own.push(signal),
        }
        route
    }

    /// Takes a signal that came in. `at` is where its receiver is.
    pub fn receive(&mut self, mut signal: Signal, at: Whereabouts, now: Tick, out: &mut SignalOut) {
        match at {
            Whereabouts::Here => self.accept(signal, now, out),
            Whereabouts::Unknown => {
                drop_one(Refused::SignalLost, signal.to, out);
            }
            Whereabouts::Leaving(_) | Whereabouts::There(_) if signal.hops >= Signal::HOPS_MAX => {
                drop_one(Refused::SignalHops, signal.to, out);
            }
            Whereabouts::Leaving(node) | Whereabouts::There(node) => {
                signal.hops += 1;
                out.mail.push((node, signal));
            }
        }
    }

    /// Takes the signals that entities of this process sent each other in the tick before.
    pub fn receive_own(
        &mut self,
        at: impl Fn(EntityId) -> Whereabouts,
        now: Tick,
        out: &mut SignalOut,
    ) {
        for signal in std::mem::take(&mut self.own) {
            let at = at(signal.to);
            self.receive(signal, at, now, out);
        }
    }

    fn accept(&mut self, signal: Signal, now: Tick, out: &mut SignalOut) {
        let Signal { to, source, n, .. } = signal;
        let stream = stream(signal.epoch, signal.run).filter(|_| n >> NUMBER_BITS == 0);
        let Some(stream) = stream else {
            drop_one(Refused::Malformed, to, out);
            return;
        };
        let window = self.windows.entry(to).or_default();
        let accepted = window.accept(source, stream, n, signal, now);
        match window.held() {
            0 => self.holding.remove(&to),
            _ => self.holding.insert(to),
        };
        let reason = match accepted.verdict {
            SignalVerdict::Window(Verdict::InOrder | Verdict::Held) => None,
            SignalVerdict::Window(Verdict::Duplicate) => Some(Refused::SignalDuplicate),
            SignalVerdict::Window(Verdict::TooOld) => Some(Refused::SignalLost),
            SignalVerdict::Window(Verdict::Overflow) => Some(Refused::Malformed),
            SignalVerdict::StaleEpoch => Some(Refused::StaleEpoch),
            SignalVerdict::Full => Some(Refused::QueueFull),
        };
        if let Some(reason) = reason {
            drop_one(reason, to, out);
        }
        report(to, &accepted.skipped, out);
        out.ready.extend(accepted.ready);
    }

    /// Gives up the gaps that were waited for long enough, and forgets who has been silent for
    /// long.
    pub fn tick(&mut self, now: Tick, out: &mut SignalOut) {
        let holding: Vec<EntityId> = self.holding.iter().copied().collect();
        for to in holding {
            let Some(window) = self.windows.get_mut(&to) else { continue };
            let skipped = window.expire(now, &mut out.ready);
            report(to, &skipped, out);
            if window.held() == 0 {
                self.holding.remove(&to);
            }
        }
        self.sweep(now);
    }

    /// Looks through a few entities, each in its turn.
    fn sweep(&mut self, now: Tick) {
        let turn = next_in_turn(&self.senders, self.swept.0);
        self.swept.0 = turn.last().copied().unwrap_or_default();
        for source in turn {
            if let Some(sender) = self.senders.get_mut(&source) {
                sender.forget_silent(now);
            }
        }
        let turn = next_in_turn(&self.windows, self.swept.1);
        self.swept.1 = turn.last().copied().unwrap_or_default();
        for to in turn {
            let Some(window) = self.windows.get_mut(&to) else { continue };
            window.forget_silent(now, FORGET_TICKS);
            if window.sources() == 0 {
                self.windows.remove(&to);
            }
        }
    }

    /// What a real heard so far, for its offload.
    #[must_use]
    pub fn window(&self, entity: EntityId) -> SignalWindow<Signal> {
        self.windows.get(&entity).cloned().unwrap_or_default()
    }

    /// A real begins here and goes on with what it heard elsewhere.
    pub fn adopt(&mut self, entity: EntityId, window: SignalWindow<Signal>) {
        self.end(entity);
        if window.held() > 0 {
            self.holding.insert(entity);
        }
        if window.sources() > 0 {
            self.windows.insert(entity, window);
        }
    }

    /// A real ends here, for good or because it lives on elsewhere.
    pub fn end(&mut self, entity: EntityId) {
        self.senders.remove(&entity);
        self.windows.remove(&entity);
        self.holding.remove(&entity);
    }

    /// How many signals wait for an earlier one.
    #[must_use]
    pub fn held(&self) -> usize {
        self.holding.iter().filter_map(|to| self.windows.get(to)).map(SignalWindow::held).sum()
    }

    /// How many senders and receivers are remembered.
    #[must_use]
    pub fn remembered(&self) -> (usize, usize) {
        (self.senders.len(), self.windows.len())
    }
}

fn drop_one(reason: Refused, to: EntityId, out: &mut SignalOut) -> Route {
    out.refusals.push(Refusal { reason, from: None, entity: Some(to), count: 1 });
    Route::Dropped
}

fn report(to: EntityId, skipped: &[SourceSkip], out: &mut SignalOut) {
    for SourceSkip { source, epoch, skip } in skipped {
        let run = (epoch.0 & ((1 << RUN_BITS) - 1)) << NUMBER_BITS;
        out.events.push(Event::SignalSkipped {
            to,
            source: *source,
            epoch: Epoch(epoch.0 >> RUN_BITS),
            first: run | skip.from,
            last: run | (skip.to - 1),
        });
    }
}

fn next_in_turn<T>(map: &BTreeMap<EntityId, T>, after: EntityId) -> Vec<EntityId> {
    let rest = map.range((Bound::Excluded(after), Bound::Unbounded));
    rest.take(SWEEP).map(|(id, _)| *id).collect()
}
