//! Sockets and the HTTP/2 settings of both ends.
//!
//! Invariants: no socket delays small writes; both ends ask whether the other is there, also when
//! nothing is said; both windows, of the stream and of the connection, are set, for setting one
//! alone leaves the other at 64 KiB.

use super::config::{H2_FRAME_BYTES, LinkTimes, WINDOW_BYTES};
use super::evidence::DialFailure;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::Stream;
use tonic::transport::{Channel, Endpoint, Server, Uri};

/// Looks names up, one question at a time: a name server that is slow would otherwise collect a
/// blocked thread with every attempt.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    asking: Option<(String, JoinHandle<io::Result<Vec<SocketAddr>>>)>,
}

impl Resolver {
    async fn resolve(&mut self, addr: &str) -> Result<Vec<SocketAddr>, DialFailure> {
        if let Ok(literal) = addr.parse() {
            return Ok(vec![literal]);
        }
        if self.asking.as_ref().is_none_or(|(asked, _)| asked != addr) {
            let name = addr.to_owned();
            let ask = tokio::spawn(async move { Ok(lookup_host(name).await?.collect()) });
            self.asking = Some((addr.to_owned(), ask));
        }
        let Some((_, ask)) = &mut self.asking else { return Err(DialFailure::NameGone) };
        let answer = ask.await;
        self.asking = None;
        match answer {
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            Ok(Ok(_) | Err(_)) | Err(_) => Err(DialFailure::NameGone),
        }
    }
}

/// Connects to `host:port`, from that address of this machine if one is given.
pub(crate) async fn dial(
    names: &mut Resolver,
    addr: &str,
    from: Option<IpAddr>,
    limit: Duration,
) -> Result<TcpStream, DialFailure> {
    match timeout(limit, dial_any(names, addr, from)).await {
        Ok(dialed) => dialed,
        Err(_) => Err(DialFailure::Silent),
    }
}

async fn dial_any(
    names: &mut Resolver,
    addr: &str,
    from: Option<IpAddr>,
) -> Result<TcpStream, DialFailure> {
    let mut failure = DialFailure::NameGone;
    for addr in names.resolve(addr).await? {
        match connect(addr, from).await {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|e| DialFailure::of_io(&e))?;
                return Ok(stream);
            }
            Err(error) => failure = DialFailure::of_io(&error),
        }
    }
    Err(failure)
}

async fn connect(addr: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let Some(from) = from else { return TcpStream::connect(addr).await };
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(addr).await
}

/// Speaks HTTP/2 over a connected socket. The channel lives as long as the socket: it does not
/// connect again by itself.
pub(crate) async fn channel_over(
    stream: TcpStream,
    times: &LinkTimes,
) -> Result<Channel, tonic::transport::Error> {
    let mut stream = Some(stream);
    let connector = tower::service_fn(move |_: Uri| {
        let stream = stream.take().map(TokioIo::new);
        async move { stream.ok_or_else(|| io::Error::other("this socket ended")) }
    });
    Endpoint::from_static("http://link")
        .http2_keep_alive_interval(times.keep_alive)
        .keep_alive_timeout(times.keep_alive_answer)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .http2_adaptive_window(false)
        .max_frame_size(H2_FRAME_BYTES)
        .connect_with_connector(connector)
        .await
}

/// A server with the settings of the link plane, for services to be added to.
#[must_use]
pub fn server(times: &LinkTimes) -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(times.keep_alive))
        .http2_keepalive_timeout(Some(times.keep_alive_answer))
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .http2_adaptive_window(Some(false))
        .max_frame_size(H2_FRAME_BYTES)
        .max_concurrent_streams(64)
}

/// The sockets that a listener accepts. An error of one, or a shortage of descriptors, does not
/// end it.
pub fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> {
    futures::stream::unfold(listener, |listener| async move {
        loop {
            let accepted = listener.accept().await.and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(stream)
            });
            match accepted {
                Ok(stream) => return Some((Ok(stream), listener)),
                Err(error) => {
                    crate::warn_rarely!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use futures::StreamExt;

    #[tokio::test]
    async fn neither_a_dialed_nor_an_accepted_socket_delays_small_writes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let mut accepted = std::pin::pin!(incoming(listener));
        let (mut names, limit) = (Resolver::default(), Duration::from_secs(10));
        let (dialed, accepted) =
            tokio::join!(dial(&mut names, &addr, None, limit), accepted.next());
        assert!(dialed.unwrap().nodelay().unwrap());
        assert!(accepted.unwrap().unwrap().nodelay().unwrap());
    }

    #[tokio::test]
    async fn a_port_without_a_listener_and_a_name_without_an_address_are_absence() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        drop(listener);
        let (mut names, limit) = (Resolver::default(), Duration::from_secs(10));
        assert_eq!(dial(&mut names, &addr, None, limit).await.unwrap_err(), DialFailure::Refused);
        let gone = dial(&mut names, "no such host:1", None, limit).await.unwrap_err();
        assert!(gone.is_absence(), "{gone}");
    }

    #[tokio::test]
    async fn who_is_told_where_to_dial_from_is_seen_there_and_an_address_elsewhere_is_no_absence() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let (mut names, limit) = (Resolver::default(), Duration::from_secs(10));
        let here: IpAddr = "127.0.0.9".parse().unwrap();
        let dialed = dial(&mut names, &addr, Some(here), limit);
        let (dialed, accepted) = tokio::join!(dialed, listener.accept());
        assert_eq!((accepted.unwrap().1.ip(), dialed.unwrap().nodelay().unwrap()), (here, true));
        for foreign in ["192.0.2.1", "::1"] {
            let from = Some(foreign.parse().unwrap());
            let failure = dial(&mut names, &addr, from, limit).await.unwrap_err();
            assert!(matches!(failure, DialFailure::Broken(_)), "{foreign}: {failure}");
        }
    }
}
