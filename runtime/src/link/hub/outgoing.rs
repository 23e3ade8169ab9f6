//! The sending side: what the tick thread gave goes into the machines, and from there onto
//! whatever connection stands.

use super::{Hub, Key, OutLane, SendCounts, State};
use crate::link::config::BUNDLE_BYTES_MAX;
use crate::link::event::LinkEvent;
use crate::link::packet::{Packet, split};
use crate::link::{bulk, wire};
use crate::tick::monotonic_ns;
use bytes::Bytes;
use marchland_common::link::{
    Ack, ChannelId, Class, Connection, Direction, Hello, LinkFault, OpenRefusal, Remedy,
    ResetReason, Welcome, WelcomeRefusal,
};
use marchland_common::msg::Outgoing;
use marchland_common::order::{Node, Tick};
use marchland_proto::convert::bundle_to_wire;
use marchland_proto::link::Up;
use prost::Message;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A connection that began.
pub(in crate::link) struct Started {
    pub connection: Connection,
    pub wake: Arc<Notify>,
    pub cut: CancellationToken,
}

/// What to do on a connection now.
pub(in crate::link) enum Next {
    /// Send this.
    Message(Box<Up>),
    /// Wait until woken.
    Nothing,
    /// Another connection took its place.
    Ended,
}

impl Hub {
    /// Puts a bundle into the stream to its receiver. Its record is written.
    pub(in crate::link) fn post(&self, outgoing: Outgoing) {
        let Outgoing { to, mut bundle } = outgoing;
        let (n, tick) = (bundle.n, bundle.src_tick);
        let large = bulk::take_large(&mut bundle.msgs);
        let bytes = Bytes::from(bundle_to_wire(bundle).encode_to_vec());
        self.bundle_bytes.record(bytes.len() as u64);
        let mut state = self.lock();
        for offload in large {
            let entity = offload.entity;
            if !self.post_chunks(&mut state, to, offload.chunks, tick) {
                self.tell(LinkEvent::OffloadDropped { peer: to, entity });
            }
        }
        if bytes.len() > BUNDLE_BYTES_MAX {
            let (bytes, limit) = (bytes.len(), BUNDLE_BYTES_MAX);
            self.tell(LinkEvent::TooLarge { to, n, bytes, limit });
            return;
        }
        let parts = split(bytes, self.config.ordered.frame_bytes);
        let packets = parts.into_iter().map(|(body, more)| Packet::outgoing(body, more, tick));
        self.push_ordered(&mut state, to, n, packets.collect());
    }

    fn push_ordered(&self, state: &mut State, to: Node, n: u64, packets: Vec<Packet>) {
        let Ok(machine) = state.links.open(to, ChannelId::ORDERED) else {
            self.tell(LinkEvent::NoLink { to, n });
            return;
        };
        for packet in packets {
            if machine.send(packet, Class::Ordered).is_err() {
                // Half a bundle is of no use; the gap in the numbers says that it is missing.
                self.give_up(state, (to, ChannelId::ORDERED), ResetReason::Overflow);
                return;
            }
        }
        let (items, bytes) = machine.unacknowledged();
        self.waiting_most.raise(items as u64);
        let limits = self.config.ordered;
        let over = items >= limits.soft_items || bytes >= limits.soft_bytes;
        if let Some(lane) = state.out.get_mut(&(to, ChannelId::ORDERED)) {
            if over && !lane.congested {
                self.tell(LinkEvent::Congested { peer: to, items, bytes });
            }
            lane.congested = over;
            lane.wake.notify_one();
        }
    }

    /// False when not all fit: those that did stay unfinished at the receiver and make room there.
    fn post_chunks(&self, state: &mut State, to: Node, chunks: Vec<Bytes>, tick: Tick) -> bool {
        let Ok(machine) = state.links.open(to, ChannelId::BULK) else { return false };
        let (items, bytes) = machine.unacknowledged();
        let added: usize = chunks.iter().map(Bytes::len).sum();
        let limits = self.config.bulk;
        if items + chunks.len() > limits.soft_items || bytes + added > limits.soft_bytes {
            return false;
        }
        let all = chunks.into_iter().all(|chunk| {
            machine.send(Packet::outgoing(chunk, false, tick), Class::Coalescible).is_ok()
        });
        if let Some(lane) = state.out.get(&(to, ChannelId::BULK)) {
            lane.wake.notify_one();
        }
        all
    }

    /// Gives a stream up; its connection ends and the next one begins a new generation.
    fn give_up(&self, state: &mut State, key: Key, why: ResetReason) {
        if let Some(machine) = state.links.get(key.0, key.1, Direction::Outgoing) {
            let frames = machine.reset(why).len();
            self.tell(LinkEvent::Lost { peer: key.0, channel: key.1, frames, why });
        }
        if let Some(lane) = state.out.get_mut(&key) {
            lane.connection = None;
            lane.congested = false;
            lane.cut.cancel();
        }
    }

    /// Makes room for a peer that will be dialed. None when it is dialed already.
    pub(in crate::link) fn add_out_lane(&self, key: Key) -> Option<CancellationToken> {
        let mut state = self.lock();
        if state.links.known().is_over(key.0) || state.out.contains_key(&key) {
            return None;
        }
        state.evidence_of(key.0);
        let over = self.stop.child_token();
        let lane = OutLane {
            wake: Arc::new(Notify::new()),
            connection: None,
            cut: over.child_token(),
            over: over.clone(),
            congested: false,
            counts: SendCounts::default(),
            refused: None,
        };
        state.out.insert(key, lane);
        Some(over)
    }

    /// What to say first on a connection.
    pub(in crate::link) fn greeting(&self, key: Key) -> Result<Hello, OpenRefusal> {
        self.lock().links.hello(key.0, key.1)
    }

    /// The peer answered the greeting with a welcome.
    pub(in crate::link) fn on_welcome(
        &self,
        key: Key,
        welcome: &Welcome,
    ) -> Result<Started, WelcomeRefusal> {
        let mut state = self.lock();
        let connection = match state.links.on_welcome(key.0, key.1, welcome) {
            Ok(connection) => connection,
            Err(WelcomeRefusal::CannotResume(fault)) => {
                if fault.remedy() == Remedy::Reset {
                    self.give_up(&mut state, key, ResetReason::Fault);
                }
                return Err(WelcomeRefusal::CannotResume(fault));
            }
            Err(over @ WelcomeRefusal::Over(_)) => return Err(over),
        };
        let Some(lane) = state.out.get_mut(&key) else {
            return Err(WelcomeRefusal::Over(key.0));
        };
        lane.connection = Some(connection);
        lane.wake = Arc::new(Notify::new());
        lane.cut = lane.over.child_token();
        lane.refused = None;
        let started = Started { connection, wake: lane.wake.clone(), cut: lane.cut.clone() };
        if key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).set_sending(true, monotonic_ns());
        }
        let (peer, channel, direction) = (key.0, key.1, Direction::Outgoing);
        self.tell(LinkEvent::Connected { peer, channel, direction });
        Ok(started)
    }

    /// The next message for a connection.
    pub(in crate::link) fn next_message(&self, key: Key, connection: Connection) -> Next {
        let mut state = self.lock();
        let State { links, out, .. } = &mut *state;
        let machine = links.get(key.0, key.1, Direction::Outgoing);
        let (Some(machine), Some(lane)) = (machine, out.get_mut(&key)) else { return Next::Ended };
        if machine.connection() != Some(connection) {
            return Next::Ended;
        }
        let Some(frame) = machine.poll_frame() else { return Next::Nothing };
        lane.counts.messages += 1;
        lane.counts.bytes += frame.payload.body.len() as u64;
        self.messages.add(1);
        let phase_us = self.clock.phase_us(frame.payload.tick, monotonic_ns());
        Next::Message(Box::new(wire::frame_to_wire(frame, phase_us)))
    }

    /// A connection handed what it had to the socket.
    pub(in crate::link) fn note_flush(&self, key: Key) {
        self.flushes.add(1);
        if let Some(lane) = self.lock().out.get_mut(&key) {
            lane.counts.flushes += 1;
        }
    }

    /// Credit came back.
    pub(in crate::link) fn on_ack(
        &self,
        key: Key,
        connection: Connection,
        ack: Ack,
    ) -> Result<(), LinkFault> {
        let mut state = self.lock();
        if key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).heard(monotonic_ns());
        }
        let Some(machine) = state.links.get(key.0, key.1, Direction::Outgoing) else {
            return Ok(());
        };
        let taken = machine.on_ack(connection, ack);
        if let Err(fault) = &taken
            && fault.remedy() == Remedy::Reset
        {
            self.give_up(&mut state, key, ResetReason::Fault);
        }
        taken
    }

    /// A connection that this process dialed ended.
    pub(in crate::link) fn on_out_end(&self, key: Key, connection: Connection, why: String) {
        let mut state = self.lock();
        if let Some(machine) = state.links.get(key.0, key.1, Direction::Outgoing) {
            machine.on_disconnected(connection);
        }
        if let Some(lane) = state.out.get_mut(&key) {
            lane.connection = None;
            if key.1 == ChannelId::ORDERED {
                state.evidence_of(key.0).set_sending(false, monotonic_ns());
            }
        }
        let (peer, channel, direction) = (key.0, key.1, Direction::Outgoing);
        self.tell(LinkEvent::Disconnected { peer, channel, direction, why });
    }

    /// What was put on the connections to each peer, on all channels.
    pub(in crate::link) fn counts(&self) -> Vec<(Node, ChannelId, SendCounts)> {
        let state = self.lock();
        state.out.iter().map(|((peer, channel), lane)| (*peer, *channel, lane.counts)).collect()
    }
}
