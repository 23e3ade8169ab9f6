//! Dialing one peer on one channel, for as long as its life lasts: connect, greet, send what the
//! machine has, take credit; when that ends, pause and begin again.

use super::config::{ANSWER_BYTES_MAX, MESSAGE_BYTES_MAX};
use super::evidence::DialFailure;
use super::hub::{Hub, Key, Next, Started};
use super::socket::{self, Resolver};
use super::wire;
use futures::{Stream, StreamExt};
use marchland_common::digest::digest_of;
use marchland_common::link::{Connection, WelcomeRefusal};
use marchland_common::rng::Rng;
use marchland_proto::link::link_client::LinkClient;
use marchland_proto::link::{Down, Up, down};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

/// Pause after a refusal that another attempt cannot change by itself.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// Dials until `over`.
pub(super) async fn run(
    hub: Arc<Hub>,
    key: Key,
    mut addr: watch::Receiver<String>,
    over: CancellationToken,
) {
    let mut rng = Rng(digest_of(&(hub.config.identity.node, key)));
    let mut pause = hub.config.times.retry_min;
    let mut names = Resolver::default();
    loop {
        let at = addr.borrow_and_update().clone();
        // The connection first: it sees the end as well, and notes it.
        let attempt = tokio::select! {
            biased;
            attempt = attempt(&hub, key, &at, &mut names) => attempt,
            () = over.cancelled() => return,
        };
        let wait = match attempt {
            Ok(()) => {
                pause = hub.config.times.retry_min;
                pause
            }
            Err(failure) => {
                tracing::debug!(peer = %key.0, channel = key.1.0, %failure, "no connection");
                let hopeless = matches!(failure, DialFailure::Hello { may_retry: false, .. });
                hub.failed(key, failure);
                let wait = if hopeless { REFUSED_PAUSE } else { pause };
                pause = (pause * 2).min(hub.config.times.retry_max);
                wait
            }
        };
        // Between half and the whole of it, so that many do not come at once.
        let half_us = (wait.as_micros() / 2) as u64;
        let wait = Duration::from_micros(half_us + rng.below(half_us + 1));
        tokio::select! {
            () = over.cancelled() => return,
            () = sleep(wait) => {}
            // A new address is tried at once.
            changed = addr.changed() => if changed.is_err() { return },
        }
    }
}

/// One connection, from its beginning to its end. An error if it never began.
async fn attempt(
    hub: &Arc<Hub>,
    key: Key,
    addr: &str,
    names: &mut Resolver,
) -> Result<(), DialFailure> {
    let (times, from) = (&hub.config.times, hub.config.dial_from);
    let stream = socket::dial(names, addr, from, times.connect).await?;
    let greeted = timeout(times.hello, greet(hub, key, stream)).await;
    let (started, answers) = greeted.unwrap_or(Err(DialFailure::Silent))?;
    let why = carry(hub, key, &started, answers).await;
    hub.on_out_end(key, started.connection, why);
    Ok(())
}

async fn greet(
    hub: &Arc<Hub>,
    key: Key,
    stream: tokio::net::TcpStream,
) -> Result<(Started, Streaming<Down>), DialFailure> {
    let broken = |error: &dyn std::fmt::Display| DialFailure::Broken(error.to_string());
    let times = &hub.config.times;
    let channel = socket::channel_over(stream, times).await.map_err(|e| broken(&e))?;
    let mut client = LinkClient::new(channel)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(ANSWER_BYTES_MAX);
    let hello = hub.greeting(key).map_err(|e| DialFailure::NoLink(e.to_string()))?;
    let (start, started) = oneshot::channel();
    let ups = messages(hub.clone(), key, wire::hello_to_wire(&hello), started);
    let mut answers = client.carry(ups).await.map_err(|e| broken(&e))?.into_inner();
    let first = answers.next().await.transpose().map_err(|e| broken(&e))?;
    let welcome = match first.and_then(|down| down.what) {
        Some(down::What::Welcome(welcome)) => wire::welcome_from_wire(welcome),
        Some(down::What::Refusal(refusal)) => {
            let (code, message, may_retry) = (refusal.code, refusal.message, refusal.may_retry);
            return Err(DialFailure::Hello { code, message, may_retry });
        }
        Some(down::What::Ack(_)) | None => return Err(broken(&"the answer was no welcome")),
    };
    let welcome = welcome.map_err(|e| {
        hub.count_malformed();
        broken(&e)
    })?;
    let begun = hub.on_welcome(key, &welcome).map_err(|refusal| match refusal {
        WelcomeRefusal::Over(_) => DialFailure::NoLink(refusal.to_string()),
        WelcomeRefusal::CannotResume(_) => broken(&refusal),
    })?;
    let _ = start.send((begun.connection, begun.wake.clone()));
    Ok((begun, answers))
}

/// Takes credit until the connection ends; says why it did.
async fn carry(
    hub: &Arc<Hub>,
    key: Key,
    started: &Started,
    mut answers: Streaming<Down>,
) -> String {
    loop {
        let answer = tokio::select! {
            () = started.cut.cancelled() => return "ended by this process".to_owned(),
            answer = answers.next() => answer,
        };
        let what = match answer {
            None => return "ended by the peer".to_owned(),
            Some(Err(status)) => return status.to_string(),
            Some(Ok(down)) => down.what,
        };
        let Some(down::What::Ack(ack)) = what else {
            hub.count_malformed();
            return "the peer answered with something else than credit".to_owned();
        };
        if let Err(fault) = hub.on_ack(key, started.connection, wire::ack_from_wire(ack)) {
            return fault.to_string();
        }
    }
}

enum Stage {
    Greeting(Up, oneshot::Receiver<(Connection, Arc<Notify>)>),
    Greeted(oneshot::Receiver<(Connection, Arc<Notify>)>),
    Running { connection: Connection, wake: Arc<Notify>, unflushed: bool },
}

/// The messages of one connection: the greeting, then what the machine has. Whenever it has
/// nothing, what went before is flushed, so one output moment is one flush.
fn messages(
    hub: Arc<Hub>,
    key: Key,
    hello: Up,
    started: oneshot::Receiver<(Connection, Arc<Notify>)>,
) -> impl Stream<Item = Up> + Send + 'static {
    futures::stream::unfold(Stage::Greeting(hello, started), move |stage| {
        let hub = hub.clone();
        async move { next_stage(&hub, key, stage).await }
    })
}

async fn next_stage(hub: &Hub, key: Key, stage: Stage) -> Option<(Up, Stage)> {
    let (connection, wake, mut unflushed) = match stage {
        Stage::Greeting(hello, started) => return Some((hello, Stage::Greeted(started))),
        Stage::Greeted(started) => {
            let (connection, wake) = started.await.ok()?;
            (connection, wake, false)
        }
        Stage::Running { connection, wake, unflushed } => (connection, wake, unflushed),
    };
    loop {
        match hub.next_message(key, connection) {
            Next::Message(up) => {
                return Some((*up, Stage::Running { connection, wake, unflushed: true }));
            }
            Next::Ended => return None,
            Next::Nothing => {
                if std::mem::take(&mut unflushed) {
                    hub.note_flush(key);
                }
                wake.notified().await;
            }
        }
    }
}
