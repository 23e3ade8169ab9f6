//! One funnel for everything that clients are told: in the order of the core's outputs, after the
//! records of their moments were written.

use super::limits::TOLD_MAX;
use super::translate::{Setting, frame};
use super::{Gateway, OpenStream};
use marchland_baseapp_core::io::{ClientEvent, ClientFrame, ToClient};
use marchland_common::order::SessionId;
use marchland_runtime::journal::ReleaseTicket;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What one output moment tells clients.
pub struct Told {
    /// In order per session.
    pub frames: Vec<ToClient>,
    /// The tick.
    pub tick: u64,
    /// When it may leave.
    pub ticket: ReleaseTicket,
}

/// Moments that wait for their records: more than six seconds of a disk that stands still.
const MOMENTS_MAX: usize = 512;

/// The tick thread's end of the funnel.
#[derive(Debug, Clone)]
pub struct Funnel(mpsc::Sender<Told>);

impl Funnel {
    /// A funnel into a gateway. Must be called inside a tokio runtime.
    #[must_use]
    pub fn spawn(gateway: Arc<Gateway>) -> Self {
        let (tell, mut told) = mpsc::channel::<Told>(MOMENTS_MAX);
        tokio::spawn(async move {
            while let Some(mut moment) = told.recv().await {
                if moment.ticket.written().await.is_err() {
                    // What has no record must not leave.
                    return;
                }
                for frame in moment.frames {
                    gateway.tell(frame, moment.tick);
                }
            }
        });
        Self(tell)
    }

    /// Tells clients something. Never waits.
    ///
    /// # Errors
    /// Too many moments wait; the frames come back, and their streams should be ended.
    pub fn tell(&self, told: Told) -> Result<(), Vec<ToClient>> {
        if told.frames.is_empty() {
            return Ok(());
        }
        self.0.try_send(told).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(told) | mpsc::error::TrySendError::Closed(told) => {
                told.frames
            }
        })
    }
}

impl Gateway {
    fn tell(&self, told: ToClient, tick: u64) {
        let ToClient { session, what } = told;
        let ends = matches!(
            what,
            ClientFrame::Refused { .. }
                | ClientFrame::NotYet { .. }
                | ClientFrame::Ended { .. }
                | ClientFrame::Moved
        );
        let mut setting = Setting { tick, ..Setting::default() };
        let stream = match &what {
            ClientFrame::Welcome { request, .. } => {
                setting.step_us = u32::try_from(self.rules.step.as_micros()).unwrap_or(u32::MAX);
                self.welcomed(*request, session, &mut setting)
            }
            ClientFrame::Refused { request, .. } | ClientFrame::NotYet { request, .. } => {
                self.waiting.remove(request).map(|(_, stream)| stream)
            }
            _ => self.streams.get(&session).map(|entry| entry.1.clone()),
        };
        let Some(stream) = stream else {
            self.counters.counter("client_frames_without_stream").add(1);
            return;
        };
        let down = match what {
            ClientFrame::Moved => self.sent_on(session, stream.inside),
            what => frame(session, what, setting),
        };
        let sent = stream.end.try_send(Ok(down));
        if sent.is_err() {
            self.cut_off(session);
        } else if ends {
            self.streams.remove(&session);
        }
    }

    fn welcomed(
        &self,
        request: u64,
        session: SessionId,
        setting: &mut Setting,
    ) -> Option<OpenStream> {
        let (_, stream) = self.waiting.remove(&request)?;
        setting.kind = stream.kind;
        self.streams.insert(session, (request, stream.clone()));
        Some(stream)
    }

    /// A client that does not read loses its stream, not its session.
    fn cut_off(&self, session: SessionId) {
        if self.streams.remove(&session).is_some() {
            self.counters.counter("clients_cut_off").add(1);
            tracing::info!(%session, limit = TOLD_MAX, "a client does not read; its stream ends");
            self.say(ClientEvent::Gone { session });
        }
    }

    /// A stream ended from the client's side.
    pub(super) fn stream_over(&self, request: u64, session: Option<SessionId>) {
        self.waiting.remove(&request);
        let Some(session) = session else { return };
        // A newer stream of the same session stays.
        if self.streams.remove_if(&session, |_, (by, _)| *by == request).is_some() {
            self.say(ClientEvent::Gone { session });
        }
    }

    /// The session that a request's stream plays, once it was welcomed.
    pub(super) fn session_of(&self, request: u64) -> Option<SessionId> {
        self.streams.iter().find(|entry| entry.value().0 == request).map(|entry| *entry.key())
    }
}
