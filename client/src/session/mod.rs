//! A client's session: one ordered stream, commands with exactly one answer each, and a resume
//! that neither loses nor doubles one.
//!
//! A session task owns the stream. The handle talks to it through a bounded queue; what the
//! gateway says comes out of another. When the stream breaks, the task comes back with the session
//! and its secret, and sends again what the gateway did not take in.

mod outcome;
mod play;
mod task;
#[cfg(test)]
mod tests;

pub use outcome::{Outcome, outcome_of};

use bytes::Bytes;
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SessionId, Tick};
use marchland_common::world::Value;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How to open a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Any gateways of the cluster, as `http://host:port`; the next is tried when one fails.
    pub gateways: Vec<String>,
    /// Who plays; at most 64 characters.
    pub account: String,
    /// The kind of the entity to be born when the account has none.
    pub kind: String,
    /// How far to see, in millimetres; 0 sees nobody.
    pub radius: i32,
    /// For how long a broken stream is tried again before the session gives up.
    pub give_up: Duration,
}

/// What the gateway told the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A stream began; always first on it.
    Welcome {
        /// The session.
        session: SessionId,
        /// The entity that it plays.
        entity: EntityId,
        /// The entity's kind.
        kind: KindId,
        /// Whether an earlier stream goes on.
        resumed: bool,
        /// The base's tick.
        tick: Tick,
        /// The length of a tick.
        step: Duration,
    },
    /// The one answer to a command.
    Answer {
        /// The command's number.
        n: u64,
        /// How it ended.
        outcome: Outcome,
        /// The epoch and step that hold it; none where no owner saw the command.
        confirmed: Option<(Epoch, Seq)>,
    },
    /// A piece of the view.
    View {
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner's tick.
        tick: Tick,
        /// Forget what was seen before.
        fresh: bool,
        /// Records in the view encoding.
        body: Bytes,
    },
    /// What was seen of the own entity under lower epochs does not hold any more.
    Reset {
        /// The epoch that begins.
        epoch: Epoch,
        /// The step that it goes on from.
        seq: Seq,
    },
    /// Own properties, confirmed.
    Own {
        /// The epoch.
        epoch: Epoch,
        /// The step.
        seq: Seq,
        /// The properties, by the kind's index.
        props: Vec<(u8, Value)>,
    },
    /// Something cosmetic from the own entity.
    Notice(Bytes),
    /// The session is over; nothing follows.
    Ended(SessionEnd),
}

/// Why a session is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionEnd {
    /// The gateway ended it: `replaced`, `destroyed`, `logout`, …
    #[error("the gateway ended the session: {0}")]
    ByGateway(String),
    /// The login or resume was refused.
    #[error("refused ({code}): {message}")]
    Refused {
        /// A stable word.
        code: String,
        /// What to do, for people.
        message: String,
    },
    /// No gateway could be reached for too long.
    #[error("no gateway answered within {0:?}: {1}")]
    Unreachable(Duration, String),
    /// The gateway broke the protocol.
    #[error("the gateway broke the protocol: {0}")]
    Protocol(String),
    /// The handle was dropped.
    #[error("closed here")]
    Closed,
}

/// Why something could not be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SayError {
    /// The queue to the session task is full; nothing was sent.
    #[error("too much is waiting to be sent; try again")]
    Busy,
    /// The session is over.
    #[error("the session is over")]
    Over,
}

/// What the handle asks of the task.
#[derive(Debug)]
pub(crate) enum Ask {
    Command { method: String, args: Bytes, ttl: u32, number: oneshot::Sender<u64> },
    Input(Bytes),
    Logout,
}

/// A session that is open or coming back. Dropping it ends the session here at once, also while
/// no gateway answers; what was asked and not sent by then is not sent any more.
#[derive(Debug)]
pub struct Session {
    asks: mpsc::Sender<Ask>,
    /// Its other end learns when this one is dropped.
    _here: oneshot::Sender<Infallible>,
}

/// Most things that wait to be sent.
const ASKS_MAX: usize = 256;
/// Most things that wait to be read by the program; the stream is not read meanwhile.
const TOLD_MAX: usize = 1_024;

impl Session {
    /// Opens a session in the background. The first thing told is the welcome or the end.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn open(options: SessionOptions) -> (Self, mpsc::Receiver<Told>) {
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let (here, gone) = oneshot::channel();
        tokio::spawn(task::SessionTask::new(options, asked, tell).run(gone));
        (Self { asks, _here: here }, told)
    }

    /// A session whose gateway is the test itself: it reads what is asked.
    #[cfg(test)]
    pub(crate) fn over(asks: mpsc::Sender<Ask>) -> Self {
        Self { asks, _here: oneshot::channel().0 }
    }

    /// Sends a command to the own entity and returns its number. `ttl` is in ticks; 0 is the
    /// gateway's default.
    ///
    /// # Errors
    /// [`SayError`] when nothing was sent.
    pub async fn command(&self, method: &str, args: Vec<u8>, ttl: u32) -> Result<u64, SayError> {
        let (number, answer) = oneshot::channel();
        let ask = Ask::Command { method: method.to_owned(), args: args.into(), ttl, number };
        self.say(ask)?;
        answer.await.map_err(|_| SayError::Over)
    }

    /// Sends an input; a newer one replaces it, nothing answers.
    ///
    /// # Errors
    /// [`SayError`] when nothing was sent.
    pub fn input(&self, payload: Vec<u8>) -> Result<(), SayError> {
        self.say(Ask::Input(payload.into()))
    }

    /// Leaves for good; `Ended` follows.
    ///
    /// # Errors
    /// [`SayError`] when nothing was sent.
    pub fn logout(&self) -> Result<(), SayError> {
        self.say(Ask::Logout)
    }

    fn say(&self, ask: Ask) -> Result<(), SayError> {
        self.asks.try_send(ask).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => SayError::Busy,
            mpsc::error::TrySendError::Closed(_) => SayError::Over,
        })
    }
}
