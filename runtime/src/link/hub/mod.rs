//! The state that all tasks of a link plane share: the link machines, and beside each what its
//! connection needs. One lock, held for moments, taken by the I/O side alone.

mod incoming;
mod outgoing;
mod vitals;

pub(super) use incoming::Admitted;
pub(super) use outgoing::{Next, Started};
pub use vitals::LinkVitals;

use super::bulk::Reassembly;
use super::config::{EVENTS_MAX, LinkConfig};
use super::event::LinkEvent;
use super::evidence::{DialFailure, PeerEvidence};
use super::packet::Packet;
use super::queue::{Observation, Room, ToTick};
use crate::telemetry::{Counter, Counters, Histogram};
use crate::tick::{SharedClock, monotonic_ns};
use crossbeam_channel::{Receiver, Sender};
use marchland_common::link::{ChannelId, Connection, Direction, Links, Retired};
use marchland_common::msg::Offload;
use marchland_common::order::Node;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Sizes of bundles that are told apart.
const BYTES_BOUNDS: &[u64] =
    &[64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/// A peer's life and a channel.
pub(super) type Key = (Node, ChannelId);

/// Exact counts of what was put on the connections to one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounts {
    /// Messages that carried frames, those sent again included.
    pub messages: u64,
    /// Times that the connection was flushed after one or more of them.
    pub flushes: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

pub(super) struct OutLane {
    /// Tells the connection's stream that there is something to send.
    pub wake: Arc<Notify>,
    pub connection: Option<Connection>,
    /// Ends the current connection; the dialer begins another.
    pub cut: CancellationToken,
    /// Ends the dialer.
    pub over: CancellationToken,
    pub congested: bool,
    pub counts: SendCounts,
    /// The newest refusal of a greeting, so that each is told once.
    pub refused: Option<String>,
}

#[derive(Default)]
pub(super) struct InLane {
    /// Tells the connection's task that there is credit to send.
    pub wake: Arc<Notify>,
    /// Ends the current connection.
    pub cut: CancellationToken,
    pub room: Arc<Room>,
    /// The beginning of a bundle that is not whole yet.
    pub parts: Vec<Packet>,
    pub chunks: Reassembly,
    /// Whole large offloads that wait for the peer's next bundle.
    pub offloads: VecDeque<Offload>,
}

pub(super) struct State {
    pub links: Links<Packet>,
    pub out: BTreeMap<Key, OutLane>,
    pub inp: BTreeMap<Key, InLane>,
    pub evidence: BTreeMap<Node, PeerEvidence>,
}

/// The receiving ends that a hub feeds.
pub(super) struct Feeds {
    pub frames: Receiver<ToTick>,
    pub events: Receiver<LinkEvent>,
    pub observations: Receiver<Observation>,
}

/// Shared by all tasks of a plane.
pub(super) struct Hub {
    pub config: LinkConfig,
    pub clock: SharedClock,
    /// Ends everything.
    pub stop: CancellationToken,
    /// Batches that the tick thread gave and that are not in the machines yet.
    pub pending: Arc<AtomicUsize>,
    frames: Sender<ToTick>,
    events: Sender<LinkEvent>,
    observations: Sender<Observation>,
    events_lost: Counter,
    malformed: Counter,
    messages: Counter,
    flushes: Counter,
    connections: Counter,
    disconnections: Counter,
    frames_lost: Counter,
    congested: Counter,
    /// The most frames to one peer that waited for its acknowledgement, ever.
    waiting_most: Counter,
    /// How large bundles are.
    bundle_bytes: Histogram,
    state: Mutex<State>,
}

impl Hub {
    pub(super) fn new(
        config: LinkConfig,
        clock: SharedClock,
        counters: &Counters,
    ) -> (Arc<Self>, Feeds) {
        let (frames, frames_out) = crossbeam_channel::unbounded();
        let (events, events_out) = crossbeam_channel::bounded(EVENTS_MAX);
        let (observations, observations_out) = crossbeam_channel::bounded(EVENTS_MAX);
        let state = State {
            links: Links::new(config.identity.clone(), config.channels()),
            out: BTreeMap::new(),
            inp: BTreeMap::new(),
            evidence: BTreeMap::new(),
        };
        let hub = Self {
            config,
            clock,
            stop: CancellationToken::new(),
            pending: Arc::default(),
            frames,
            events,
            observations,
            events_lost: counters.counter("link_events_lost"),
            malformed: counters.counter("link_malformed"),
            messages: counters.counter("link_messages"),
            flushes: counters.counter("link_flushes"),
            connections: counters.counter("link_connections"),
            disconnections: counters.counter("link_disconnections"),
            frames_lost: counters.counter("link_frames_lost"),
            congested: counters.counter("link_congested"),
            waiting_most: counters.counter("link_waiting_most"),
            bundle_bytes: counters
                .histogram("march_bundle_bytes", &[], || Histogram::new(BYTES_BOUNDS, 1.0)),
            state: Mutex::new(state),
        };
        let feeds =
            Feeds { frames: frames_out, events: events_out, observations: observations_out };
        (Arc::new(hub), feeds)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the tick thread. A full queue means that it stands still: the event is counted.
    pub(super) fn tell(&self, event: LinkEvent) {
        match &event {
            LinkEvent::Connected { .. } => self.connections.add(1),
            LinkEvent::Disconnected { .. } => self.disconnections.add(1),
            LinkEvent::Lost { frames, .. } => self.frames_lost.add(*frames as u64),
            LinkEvent::Congested { .. } => self.congested.add(1),
            _ => {}
        }
        if self.events.try_send(event).is_err() {
            self.events_lost.add(1);
        }
    }

    /// Counts a greeting, a message or a chunk that cannot be read.
    pub(super) fn count_malformed(&self) {
        self.malformed.add(1);
    }

    /// A life was seen to be registered. Older ones of its name are retired.
    pub(super) fn saw(&self, node: Node) {
        let mut state = self.lock();
        let retired = state.links.saw(node);
        self.retire(&mut state, retired);
    }

    /// A life was declared dead.
    pub(super) fn bury(&self, node: Node) {
        let mut state = self.lock();
        let retired = state.links.bury(node);
        self.retire(&mut state, retired);
        let _ = self.frames.send(ToTick::Over(node));
    }

    /// Ends what was kept for lives that are over.
    pub(super) fn retire(&self, state: &mut State, retired: Vec<Retired<Packet>>) {
        let mut told = BTreeMap::<Node, (usize, usize)>::new();
        for link in retired {
            let (unsent, untaken) = told.entry(link.peer).or_default();
            *unsent += link.abandoned.len();
            *untaken += link.untaken.len() + link.held;
            if link.direction == Direction::Incoming {
                let _ = self.frames.send(ToTick::Over(link.peer));
            }
        }
        for (peer, (unsent, untaken)) in told {
            self.tell(LinkEvent::Retired { peer, unsent, untaken });
        }
        let State { links, out, inp, evidence } = state;
        let known = links.known();
        out.retain(|(peer, _), lane| {
            let over = known.is_over(*peer);
            if over {
                lane.over.cancel();
            }
            !over
        });
        inp.retain(|(peer, _), lane| {
            let over = known.is_over(*peer);
            if over {
                lane.cut.cancel();
            }
            !over
        });
        evidence.retain(|peer, _| !known.is_over(*peer));
    }

    /// An attempt to connect failed.
    pub(super) fn failed(&self, key: Key, failure: DialFailure) {
        let mut state = self.lock();
        if let (DialFailure::Hello { code, message, .. }, Some(lane)) =
            (&failure, state.out.get_mut(&key))
            && lane.refused.as_ref() != Some(code)
        {
            lane.refused = Some(code.clone());
            let (code, message) = (code.clone(), message.clone());
            self.tell(LinkEvent::HelloRefused { peer: key.0, code, message });
        }
        if key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).failed(failure, monotonic_ns());
        }
    }

    /// Whether nothing waits for its record, or to be acknowledged by anybody whose stream stands.
    pub(super) fn is_flushed(&self) -> bool {
        if self.pending.load(Ordering::Acquire) > 0 {
            return false;
        }
        let mut state = self.lock();
        state.links.iter_mut().all(|(_, _, direction, machine)| {
            direction == Direction::Incoming
                || machine.connection().is_none()
                || machine.unacknowledged().0 == 0
        })
    }
}

impl State {
    pub(super) fn evidence_of(&mut self, peer: Node) -> &mut PeerEvidence {
        self.evidence.entry(peer).or_insert_with(|| PeerEvidence::new(peer, monotonic_ns()))
    }
}
