//! The port of a process. Connections that begin as HTTP/2 does are gRPC's; all others are shown
//! pages. Nobody who connects and says nothing holds up those who do.
//!
//! Invariant: at most [`SILENT_MAX`] connections are waited for; the one that has been silent for
//! longest goes first.

use super::Pages;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How long a connection may take to say its first byte.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(1);
/// Connections that are waited for at once.
const SILENT_MAX: usize = 256;
/// gRPC's connections that wait until somebody serves them.
const WAITING_MAX: usize = 64;
/// The first byte of HTTP/2, and of no question for a page.
const HTTP2: u8 = b'P';
/// Before a listener is asked again that could not accept.
const AFTER_ERROR: Duration = Duration::from_millis(20);

/// How a connection begins: none if nothing came.
type Beginning = Pin<Box<dyn Future<Output = Option<(TcpStream, bool)>> + Send>>;

/// A listener whose connections are told apart.
pub struct Doorway {
    listener: TcpListener,
    pages: Pages,
    silent: FuturesUnordered<Beginning>,
    /// Ends the waiting for each, oldest first. Those that spoke do not hear it any more.
    give_up: VecDeque<oneshot::Sender<()>>,
    waiting: VecDeque<TcpStream>,
}

impl std::fmt::Debug for Doorway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Doorway").field(&self.listener).finish()
    }
}

impl Doorway {
    /// Of a listener.
    #[must_use]
    pub fn new(listener: TcpListener, pages: Pages) -> Self {
        let (silent, give_up, waiting) = Default::default();
        Self { listener, pages, silent, give_up, waiting }
    }

    /// Shows pages until something is done. Who speaks gRPC waits for it as well.
    pub async fn meanwhile<T>(&mut self, done: impl Future<Output = T>) -> T {
        let mut done = std::pin::pin!(done);
        loop {
            tokio::select! {
                biased;
                done = &mut done => return done,
                stream = self.next() => {
                    if self.waiting.len() < WAITING_MAX {
                        self.waiting.push_back(stream);
                    }
                }
            }
        }
    }

    /// gRPC's connections. An error of one, or a shortage of descriptors, does not end them.
    pub fn grpc(self) -> impl Stream<Item = io::Result<TcpStream>> {
        futures::stream::unfold(self, |mut doorway| async move {
            let stream = match doorway.waiting.pop_front() {
                Some(stream) => stream,
                None => doorway.next().await,
            };
            Some((Ok(stream), doorway))
        })
    }

    /// The next one that speaks gRPC.
    async fn next(&mut self) -> TcpStream {
        loop {
            tokio::select! {
                Some(began) = self.silent.next() => match began {
                    Some((stream, true)) => return stream,
                    Some((stream, false)) => self.pages.answer(stream),
                    None => {}
                },
                accepted = self.listener.accept() => self.wait_for(accepted).await,
            }
        }
    }

    async fn wait_for(&mut self, accepted: io::Result<(TcpStream, std::net::SocketAddr)>) {
        let stream = match accepted {
            Ok((stream, _)) if stream.set_nodelay(true).is_ok() => stream,
            Ok(_) => return,
            Err(error) => {
                crate::warn_rarely!(%error, "a connection was not accepted");
                return sleep(AFTER_ERROR).await;
            }
        };
        self.give_up.retain(|one| !one.is_closed());
        if self.give_up.len() >= SILENT_MAX {
            self.give_up.pop_front();
        }
        let (give_up, given_up) = oneshot::channel();
        self.give_up.push_back(give_up);
        self.silent.push(begins(stream, given_up).boxed());
    }
}

/// How it begins, unless it takes too long or is given up.
async fn begins(stream: TcpStream, given_up: oneshot::Receiver<()>) -> Option<(TcpStream, bool)> {
    let mut first = [0];
    let peeked = tokio::select! {
        peeked = timeout(FIRST_BYTE_MAX, stream.peek(&mut first)) => peeked,
        _ = given_up => return None,
    };
    match peeked {
        Ok(Ok(1..)) => Some((stream, first[0] == HTTP2)),
        _ => None,
    }
}
