//! The tick thread's end of the link plane. No call here waits for anything: not for a socket, not
//! for a disk, not for another thread.

use super::event::LinkEvent;
use super::hub::Feeds;
use super::queue::{Observation, ToTick};
use crate::journal::ReleaseTicket;
use crossbeam_channel::Receiver;
use marchland_common::msg::{Frame, Outgoing};
use marchland_common::order::{Incarnation, Node, NodeName};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

/// The bundles of one output moment, and when they may leave.
pub(super) struct Batch {
    pub bundles: Vec<Outgoing>,
    pub ticket: ReleaseTicket,
}

/// What came in until now.
#[derive(Debug, Default)]
pub struct Drained {
    /// The bundles, by sender and number.
    pub frames: Vec<Frame>,
    /// Bundles of lives that ended meanwhile: by life, how many were refused.
    pub stale: Vec<(Node, usize)>,
    /// What happened to the links since the last time, in order.
    pub events: Vec<LinkEvent>,
}

/// The bundles were not accepted: too much waits for the journal to write its records. They come
/// back; their receivers will see a gap in the numbers.
#[derive(Debug, thiserror::Error)]
#[error("{} bundles were not accepted: too many ticks wait for their records", .0.len())]
pub struct SendFull(pub Vec<Outgoing>);

/// The tick thread's end.
#[derive(Debug)]
pub struct LinkTick {
    frames: Receiver<ToTick>,
    events: Receiver<LinkEvent>,
    batches: mpsc::Sender<Batch>,
    drained: Arc<Notify>,
    pending: Arc<AtomicUsize>,
}

impl LinkTick {
    pub(super) fn new(
        feeds: Feeds,
        batches: mpsc::Sender<Batch>,
        drained: Arc<Notify>,
        pending: Arc<AtomicUsize>,
    ) -> (Self, Receiver<Observation>) {
        let Feeds { frames, events, observations } = feeds;
        (Self { frames, events, batches, drained, pending }, observations)
    }

    /// Takes everything that arrived before this call; what comes later belongs to the next tick.
    /// Call it once a tick: it is also what gives the peers credit.
    pub fn drain(&mut self) -> Drained {
        let mut out = Drained::default();
        let mut over = BTreeMap::<NodeName, Incarnation>::new();
        // What arrives meanwhile stays: the length is read once.
        for _ in 0..self.frames.len() {
            match self.frames.try_recv() {
                Ok(ToTick::Frame { frame, room, bytes }) => {
                    room.give_back(bytes);
                    out.frames.push(*frame);
                }
                Ok(ToTick::Over(node)) => {
                    let newest = over.entry(node.name).or_default();
                    *newest = node.incarnation.max(*newest);
                }
                Err(_) => break,
            }
        }
        out.events.extend(self.events.try_iter().take(self.events.len()));
        self.drained.notify_one();
        if !over.is_empty() {
            refuse_stale(&mut out, &over);
        }
        out.frames.sort_by_key(|frame| (frame.from, frame.bundle.n));
        out
    }

    /// Gives the bundles of one output moment on: they leave when `ticket` is complete, in the
    /// order of the calls.
    ///
    /// # Errors
    /// Too many moments wait already; the bundles come back.
    pub fn send(&mut self, bundles: Vec<Outgoing>, ticket: ReleaseTicket) -> Result<(), SendFull> {
        if bundles.is_empty() {
            return Ok(());
        }
        self.pending.fetch_add(1, Ordering::AcqRel);
        let Err(refused) = self.batches.try_send(Batch { bundles, ticket }) else { return Ok(()) };
        self.pending.fetch_sub(1, Ordering::AcqRel);
        let (TrySendError::Full(batch) | TrySendError::Closed(batch)) = refused;
        Err(SendFull(batch.bundles))
    }
}

fn refuse_stale(out: &mut Drained, over: &BTreeMap<NodeName, Incarnation>) {
    let mut stale = BTreeMap::<Node, usize>::new();
    out.frames.retain(|frame| {
        let ended = over.get(&frame.from.name).is_some_and(|end| frame.from.incarnation <= *end);
        if ended {
            *stale.entry(frame.from).or_default() += 1;
        }
        !ended
    });
    out.stale = stale.into_iter().collect();
}
