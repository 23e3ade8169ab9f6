//! One link between two lives on one channel: both halves, and the connection they share.
//!
//! In a pair of processes that talk both ways each dials what it sends, so that usually only one
//! half of a machine is in use; nothing here depends on that.

use super::fault::LinkFault;
use super::receive::{Arrival, Delivery, ReceiveHalf};
use super::send::{Abandoned, ResetReason, SendError, SendHalf};
use super::stats::LinkStats;
use super::types::{Ack, Class, Connection, Frame, Generation, LinkLimits, Payload, Resume};
use crate::order::Seq;
use serde::{Deserialize, Serialize};

/// The state of one link. Pure: the shell moves its frames, and reports connections.
///
/// Duties of the shell, per connection: exchange [`Resume`] values, call
/// [`on_connected`](Self::on_connected); then carry what [`poll_frame`](Self::poll_frame) and
/// [`ack_to_send`](Self::ack_to_send) give, feed what arrives, and hand
/// [`pop`](Self::pop) to the consumer only as fast as the consumer has room. A returned
/// [`LinkFault`] ends the connection, and names its remedy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkMachine<P> {
    limits: LinkLimits,
    send: SendHalf<P>,
    receive: ReceiveHalf<P>,
    connection: Option<Connection>,
    connections: u64,
    stats: LinkStats,
}

impl<P: Payload> LinkMachine<P> {
    /// A link that was never connected. Payloads may be sent at once: they wait.
    #[must_use]
    pub fn new(limits: LinkLimits) -> Self {
        Self {
            limits,
            send: SendHalf::new(Generation(0)),
            receive: ReceiveHalf::new(),
            connection: None,
            connections: 0,
            stats: LinkStats::default(),
        }
    }

    /// Accepts a payload as the next frame of the stream, connected or not.
    ///
    /// # Errors
    /// The refused payload with the reason; see [`SendError`] for what to do about each.
    pub fn send(&mut self, payload: P, class: Class) -> Result<Seq, SendError<P>> {
        let refused = self.send.push(payload, class, &self.limits, &mut self.stats);
        if self.send.broken.is_some() {
            self.connection = None;
        }
        refused
    }

    /// What to tell the peer when a connection begins.
    #[must_use]
    pub const fn resume(&self) -> Resume {
        Resume {
            sending: self.send.generation,
            receiving: self.receive.generation,
            last_received: self.receive.last,
        }
    }

    /// A connection begins and the peer told where it is. Takes the place of an older connection.
    ///
    /// # Errors
    /// The streams cannot be continued like this; nothing was changed.
    pub fn on_connected(&mut self, peer: Resume) -> Result<Connection, LinkFault> {
        let checked = self.check_resume(peer);
        let at = self.count_fault(checked)?;
        self.receive.on_connected(peer.sending, &mut self.stats);
        self.send.resume(at);
        self.connections += 1;
        self.stats.connections += 1;
        self.stats.reconnects += u64::from(self.connections > 1);
        let connection = Connection(self.connections);
        self.connection = Some(connection);
        Ok(connection)
    }

    fn check_resume(&self, peer: Resume) -> Result<super::send::SendResume, LinkFault> {
        self.receive.check_generation(peer.sending)?;
        let known = self.send.generation;
        if peer.receiving > known {
            return Err(LinkFault::UnknownGeneration { got: peer.receiving, known });
        }
        // A peer that has not heard of this generation has nothing of it.
        let last = if peer.receiving == known { peer.last_received } else { Seq(0) };
        self.send.check_resume(last, &self.limits)
    }

    /// A connection ended. Ignored, but counted, if it is not the current one.
    pub const fn on_disconnected(&mut self, connection: Connection) {
        if self.is_current(connection) {
            self.connection = None;
        } else {
            self.stats.old_connection += 1;
        }
    }

    /// The next frame to put on the current connection, if there is one.
    pub fn poll_frame(&mut self) -> Option<Frame<P>> {
        self.connection?;
        let (seq, payload) = self.send.next(&mut self.stats)?;
        Some(Frame { generation: self.send.generation, seq, payload })
    }

    /// Credit to send, if there is more than the peer was told.
    pub fn ack_to_send(&mut self) -> Option<Ack> {
        self.connection?;
        self.receive.untold_ack()
    }

    /// A frame arrived.
    ///
    /// # Errors
    /// The connection must end; the frame was not kept and will be sent again.
    pub fn on_frame(
        &mut self,
        connection: Connection,
        frame: Frame<P>,
    ) -> Result<Arrival, LinkFault> {
        if !self.is_current(connection) {
            self.stats.old_connection += 1;
            return Ok(Arrival::OldConnection);
        }
        self.stats.arrived += 1;
        let Frame { generation, seq, payload } = frame;
        let taken = self.receive.on_frame(generation, seq, payload, &self.limits, &mut self.stats);
        self.stats.refused_arrivals += u64::from(taken.is_err());
        self.count_fault(taken)
    }

    /// Credit arrived.
    ///
    /// # Errors
    /// The peer claims what was never sent to it.
    pub fn on_ack(&mut self, connection: Connection, ack: Ack) -> Result<(), LinkFault> {
        if !self.is_current(connection) {
            self.stats.old_connection += 1;
            return Ok(());
        }
        let taken = self.take_ack(ack);
        self.count_fault(taken)
    }

    fn take_ack(&mut self, ack: Ack) -> Result<(), LinkFault> {
        let known = self.send.generation;
        if ack.generation > known {
            return Err(LinkFault::UnknownGeneration { got: ack.generation, known });
        }
        if ack.generation < known {
            return Ok(());
        }
        self.send.on_ack(ack.seq, &mut self.stats)
    }

    /// The next delivery for the consumer. Taking it is what gives the peer credit.
    pub fn pop(&mut self) -> Option<Delivery<P>> {
        self.receive.pop(&mut self.stats)
    }

    /// One tick passed; call it once a tick while connected.
    ///
    /// # Errors
    /// A hole in the stream stayed open too long.
    pub fn on_tick(&mut self) -> Result<(), LinkFault> {
        if self.connection.is_none() {
            return Ok(());
        }
        let checked = self.receive.on_tick(&self.limits);
        self.count_fault(checked)
    }

    /// Gives the sending stream up: everything unacknowledged comes back, the next frame is
    /// number 1 of a new generation. The caller disconnects the peer and sends its state anew.
    pub fn reset(&mut self, reason: ResetReason) -> Abandoned<P> {
        let abandoned = self.send.reset(reason);
        self.connection = None;
        self.stats.resets += 1;
        self.stats.abandoned += abandoned.len() as u64;
        abandoned
    }

    /// Why the stream is broken off and needs [`reset`](Self::reset), if it is.
    #[must_use]
    pub const fn broken(&self) -> Option<ResetReason> {
        self.send.broken
    }

    /// The current connection.
    #[must_use]
    pub const fn connection(&self) -> Option<Connection> {
        self.connection
    }

    /// Frames and bytes that are sent or waiting, and not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> (usize, usize) {
        self.send.unacked()
    }

    /// Frames that wait, and that the current connection has not taken.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.send.unsent()
    }

    /// Frames and bytes that are received, and not taken by the consumer.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        self.receive.waiting()
    }

    /// Sequence of the newest accepted payload.
    #[must_use]
    pub fn newest_sent(&self) -> Seq {
        self.send.newest()
    }

    /// Newest sequence received without a hole before it.
    #[must_use]
    pub const fn last_received(&self) -> Seq {
        self.receive.last
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    const fn is_current(&self, connection: Connection) -> bool {
        matches!(self.connection, Some(current) if current.0 == connection.0)
    }

    fn count_fault<T>(&mut self, result: Result<T, LinkFault>) -> Result<T, LinkFault> {
        self.stats.faults += u64::from(result.is_err());
        result
    }
}
