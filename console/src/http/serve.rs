//! Connections: at most so many, each with a limit for what it may keep waiting.

use super::{Console, router};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Extension};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt;

/// Most open connections. One more is closed at once.
const CONNECTIONS_MAX: usize = 256;
/// How long a connection may take to say what it wants, and may be kept without a question.
const HEADERS_MAX: Duration = Duration::from_secs(20);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 32 * 1024;
/// After the system could not give a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a console does not listen.
#[derive(Debug, thiserror::Error)]
#[error("the console cannot listen on {addr}: {source}; choose another address for it")]
pub struct ServeError {
    /// Where.
    pub addr: SocketAddr,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Serves until `end`. What is open then is closed.
pub async fn serve(listener: TcpListener, console: Console, end: impl Future<Output = ()>) {
    let app = router(console);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new();
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => return,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let Ok(permit) = room.clone().try_acquire_owned() else {
                    tracing::debug!(%from, "too many connections to the console");
                    continue;
                };
                let app = app.clone();
                open.spawn(async move {
                    let _permit = permit;
                    connection(stream, from, app).await;
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection to the console was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, from: SocketAddr, app: Router) {
    // Small frames leave at once.
    let _ = stream.set_nodelay(true);
    let app = app.layer(Extension(ConnectInfo(from)));
    let app = app.map_request(|request: hyper::Request<Incoming>| request.map(Body::new));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%from, %error, "a connection to the console ended");
    }
}
