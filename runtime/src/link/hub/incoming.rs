//! The receiving side: what peers sent goes through the machines to the tick thread.

use super::{Hub, InLane, Key, State};
use crate::link::bulk::Taken;
use crate::link::config::BUNDLE_BYTES_MAX;
use crate::link::event::LinkEvent;
use crate::link::packet::Packet;
use crate::link::queue::{Observation, ToTick};
use crate::tick::monotonic_ns;
use bytes::Bytes;
use marchland_common::link::{
    Ack, ChannelId, Connection, Delivery, Direction, Frame, Hello, HelloRefusal, LinkFault, Remedy,
    ResetReason, Welcome,
};
use marchland_common::msg::{self, Bundle, CellToCell, Msg};
use marchland_common::order::Node;
use marchland_common::time::PeerSample;
use marchland_proto::convert::{BadMessage, read_bundle};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Most whole offloads that wait for their sender's next bundle.
const OFFLOADS_WAIT_MAX: usize = 64;
/// Most frames that one bundle is spread over.
const PARTS_MAX: usize = 1024;

/// Why a connection must end.
#[derive(Debug, thiserror::Error)]
pub(in crate::link) enum Break {
    /// The machine cannot go on with it.
    #[error(transparent)]
    Fault(#[from] LinkFault),
    /// The content does not decode.
    #[error("malformed content: {0}")]
    Malformed(#[from] BadMessage),
    /// The peer's life ended meanwhile.
    #[error("that life of the peer is over")]
    Over,
}

/// A connection that a peer began.
pub(in crate::link) struct Admitted {
    pub welcome: Welcome,
    pub connection: Connection,
    pub wake: Arc<Notify>,
    pub cut: CancellationToken,
}

impl Hub {
    /// A peer greeted.
    pub(in crate::link) fn on_hello(&self, hello: &Hello) -> Result<Admitted, HelloRefusal> {
        let mut state = self.lock();
        let key = (hello.from, hello.channel);
        let accepted = match state.links.on_hello(hello) {
            Ok(accepted) => accepted,
            Err(refusal) => {
                self.heal(&mut state, key, &refusal);
                return Err(refusal);
            }
        };
        self.retire(&mut state, accepted.retired);
        if !accepted.agreed.same_schema {
            tracing::info!(peer = %hello.from, "the peer was built with other entity kinds");
        }
        let lane = state.inp.entry(key).or_default();
        // The connection before it, if it still lingers.
        lane.cut.cancel();
        lane.wake = Arc::new(Notify::new());
        lane.cut = self.stop.child_token();
        let (wake, cut) = (lane.wake.clone(), lane.cut.clone());
        if key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).set_receiving(true, monotonic_ns());
        }
        let (peer, channel, direction) = (key.0, key.1, Direction::Incoming);
        self.tell(LinkEvent::Connected { peer, channel, direction });
        let (welcome, connection) = (accepted.welcome, accepted.connection);
        // The peer may have begun its stream again: the marker of that waits to be delivered.
        if let Err(broken) = self.deliver(&mut state, key) {
            tracing::debug!(peer = %key.0, %broken, "content of an earlier connection");
        }
        Ok(Admitted { welcome, connection, wake, cut })
    }

    /// A stream that cannot be continued is reset, so that the dialer's next attempt succeeds.
    fn heal(&self, state: &mut State, key: Key, refusal: &HelloRefusal) {
        if let HelloRefusal::CannotResume(fault) = refusal
            && fault.remedy() == Remedy::Reset
            && let Some(machine) = state.links.get(key.0, key.1, Direction::Incoming)
        {
            let frames = machine.reset(ResetReason::Fault).len();
            if frames > 0 {
                let (peer, channel, why) = (key.0, key.1, ResetReason::Fault);
                self.tell(LinkEvent::Lost { peer, channel, frames, why });
            }
        }
    }

    /// A frame arrived.
    pub(in crate::link) fn on_frame(
        &self,
        key: Key,
        connection: Connection,
        frame: Frame<Packet>,
    ) -> Result<(), Break> {
        let mut state = self.lock();
        let heard_ns = frame.payload.arrived_ns;
        let machine = state.links.get(key.0, key.1, Direction::Incoming).ok_or(Break::Over)?;
        machine.on_frame(connection, frame)?;
        if key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).heard(heard_ns);
        }
        self.deliver(&mut state, key)
    }

    /// Hands on what the tick thread has room for.
    fn deliver(&self, state: &mut State, key: Key) -> Result<(), Break> {
        loop {
            let room = state.inp.entry(key).or_default().room.clone();
            if !room.is_open() {
                return Ok(());
            }
            let Some(machine) = state.links.get(key.0, key.1, Direction::Incoming) else {
                return Ok(());
            };
            let Some(delivery) = machine.pop() else { return Ok(()) };
            let taken = match delivery {
                Delivery::PeerReset { .. } => {
                    self.begin_again(state, key);
                    Ok(())
                }
                Delivery::Frame { payload, .. } if key.1 == ChannelId::BULK => {
                    self.take_chunk(state, key.0, payload)
                }
                Delivery::Frame { payload, .. } => self.take_part(state, key.0, payload),
            };
            if let Err(bad) = taken {
                self.count_malformed();
                self.tell(LinkEvent::Malformed { peer: key.0, what: bad.to_string() });
                return Err(bad.into());
            }
        }
    }

    fn begin_again(&self, state: &mut State, key: Key) {
        let lane = state.inp.entry(key).or_default();
        lane.parts.clear();
        for entity in lane.chunks.clear() {
            self.tell(LinkEvent::OffloadDropped { peer: key.0, entity });
        }
        self.tell(LinkEvent::PeerReset { peer: key.0, channel: key.1 });
    }

    fn take_chunk(&self, state: &mut State, peer: Node, part: Packet) -> Result<(), BadMessage> {
        let lane = state.inp.entry((peer, ChannelId::BULK)).or_default();
        let (taken, dropped) = lane.chunks.take(part.body)?;
        for entity in dropped {
            self.tell(LinkEvent::OffloadDropped { peer, entity });
        }
        if let Taken::Whole(offload) = taken {
            let lane = state.inp.entry((peer, ChannelId::ORDERED)).or_default();
            lane.offloads.push_back(*offload);
            if lane.offloads.len() > OFFLOADS_WAIT_MAX
                && let Some(oldest) = lane.offloads.pop_front()
            {
                self.tell(LinkEvent::OffloadDropped { peer, entity: oldest.entity });
            }
        }
        Ok(())
    }

    fn take_part(&self, state: &mut State, peer: Node, part: Packet) -> Result<(), BadMessage> {
        let lane = state.inp.entry((peer, ChannelId::ORDERED)).or_default();
        let Some((body, last)) = lane.assemble(part)? else { return Ok(()) };
        let bytes = body.len();
        let mut bundle = read_bundle(body)?;
        bundle.phase_us = last.phase_us;
        let sample = PeerSample {
            tick: bundle.src_tick,
            phase_ns: i64::from(last.phase_us) * 1_000,
            delay_ns: 0,
        };
        let arrived_ns = last.arrived_ns;
        if last.phase_us.unsigned_abs() < i32::MAX.unsigned_abs() {
            // A full queue means that the tick thread stands still; the next word says the same.
            let _ = self.observations.try_send(Observation { peer, sample, arrived_ns });
        }
        lane.add_offloads(&mut bundle);
        let (frame, room) = (Box::new(msg::Frame { from: peer, bundle }), lane.room.clone());
        room.take(bytes);
        let _ = self.frames.send(ToTick::Frame { frame, room, bytes });
        Ok(())
    }

    /// The tick thread drained: there is room, and credit to tell. Once a tick.
    pub(in crate::link) fn after_drain(&self) {
        let mut state = self.lock();
        let keys: Vec<Key> = state.inp.keys().copied().collect();
        for key in keys {
            let delivered = self.deliver(&mut state, key);
            let State { links, inp, .. } = &mut *state;
            let Some(lane) = inp.get(&key) else { continue };
            let Some(machine) = links.get(key.0, key.1, Direction::Incoming) else { continue };
            if let Err(fault) = machine.on_tick() {
                tracing::warn!(peer = %key.0, %fault, "ending a connection");
                lane.cut.cancel();
            }
            if delivered.is_err() {
                lane.cut.cancel();
            }
            lane.wake.notify_one();
        }
    }

    /// Credit to send on a connection.
    pub(in crate::link) fn credit(&self, key: Key, connection: Connection) -> Option<Ack> {
        let mut state = self.lock();
        let machine = state.links.get(key.0, key.1, Direction::Incoming)?;
        if machine.connection() != Some(connection) {
            return None;
        }
        machine.ack_to_send()
    }

    /// A connection that a peer began ended.
    pub(in crate::link) fn on_in_end(&self, key: Key, connection: Connection, why: String) {
        let mut state = self.lock();
        let Some(machine) = state.links.get(key.0, key.1, Direction::Incoming) else { return };
        let current = machine.connection() == Some(connection);
        machine.on_disconnected(connection);
        if current && key.1 == ChannelId::ORDERED {
            state.evidence_of(key.0).set_receiving(false, monotonic_ns());
        }
        let (peer, channel, direction) = (key.0, key.1, Direction::Incoming);
        self.tell(LinkEvent::Disconnected { peer, channel, direction, why });
    }
}

impl InLane {
    /// The encoded bundle when this part ends it, and the part that did.
    fn assemble(&mut self, part: Packet) -> Result<Option<(Bytes, Packet)>, BadMessage> {
        if self.parts.is_empty() && !part.more {
            return Ok(Some((part.body.clone(), part)));
        }
        let bytes: usize = self.parts.iter().map(|part| part.body.len()).sum();
        let too_many = self.parts.len() >= PARTS_MAX || part.body.is_empty();
        if too_many || bytes + part.body.len() > BUNDLE_BYTES_MAX {
            self.parts.clear();
            return Err(BadMessage::Range("frame.body"));
        }
        let ends = !part.more;
        self.parts.push(part.clone());
        if !ends {
            return Ok(None);
        }
        let whole: Vec<u8> =
            std::mem::take(&mut self.parts).into_iter().flat_map(|part| part.body).collect();
        Ok(Some((Bytes::from(whole), part)))
    }

    fn add_offloads(&mut self, bundle: &mut Bundle) {
        if !self.offloads.is_empty() {
            let whole = std::mem::take(&mut self.offloads).into_iter();
            let whole =
                whole.map(|offload| Msg::CellToCell(CellToCell::Offload(Box::new(offload))));
            bundle.msgs.splice(0..0, whole);
        }
    }
}
