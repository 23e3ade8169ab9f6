//! The stand-in for etcd as a server: the pure machine of `marchland-standin-core` behind etcd's
//! own gRPC services, for clusters that run where no etcd is installed.
//!
//! Served: `KV` (without `RangeStream`), `Watch`, `Lease` and `Maintenance.Status`. Everything else
//! answers `Unimplemented`.
//!
//! Invariants:
//! - With a data file, nothing is answered and no watch is told anything before the change is on
//!   disk; a restart after SIGKILL goes on at the same revision.
//! - Every connection, stream and request has a bound; a client can slow down only itself.
//! - Leases are timed by the monotonic clock; after a restart each lives its full time again.

mod convert;
mod disk;
mod format;
mod kv;
mod lease;
mod maintenance;
mod options;
mod shared;
mod watch;

pub use options::{FaultSwitch, StandinError, StandinOptions};

use etcd_client::proto::{PbKvServer, PbLeaseServer, PbMaintenanceServer, PbWatchServer};
use shared::Shared;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The largest request that etcd accepts, in bytes.
const REQUEST_BYTES_MAX: usize = 1536 * 1024;

/// What a decoder may read: a request that is too large still gets a typed answer.
const DECODE_BYTES_MAX: usize = REQUEST_BYTES_MAX + 512 * 1024;

/// Requests of one connection that are worked on at once.
const REQUESTS_PER_CONNECTION_MAX: usize = 256;

/// How often leases are looked at. etcd's own period is 500 ms.
const EXPIRY_PERIOD: Duration = Duration::from_millis(100);

/// How long a shutdown waits for open streams to end.
const DRAIN: Duration = Duration::from_secs(1);

/// Serves until `shutdown` resolves, then ends all streams, writes a snapshot and returns.
///
/// Errors: the data file cannot be opened, read or locked; the log cannot be written (the server
/// then stops, because it could no longer keep what it confirms); the transport fails.
pub async fn serve(
    listener: TcpListener,
    options: StandinOptions,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), StandinError> {
    let (shared, log) = Shared::open(&options)?;
    let stop = shared.closing().clone();
    // Ends the streams even if this future is dropped instead of shut down.
    let _end_streams = stop.clone().drop_guard();
    let expiry = tokio::spawn(expire_leases(Arc::clone(&shared)));
    let server = Server::builder()
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(Duration::from_secs(5)))
        .http2_keepalive_timeout(Some(Duration::from_secs(5)))
        .concurrency_limit_per_connection(REQUESTS_PER_CONNECTION_MAX)
        .add_service(
            PbKvServer::from_arc(Arc::clone(&shared)).max_decoding_message_size(DECODE_BYTES_MAX),
        )
        .add_service(PbWatchServer::new(watch::WatchService(Arc::clone(&shared))))
        .add_service(PbLeaseServer::new(lease::LeaseService(Arc::clone(&shared))))
        .add_service(PbMaintenanceServer::from_arc(Arc::clone(&shared)))
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listener).with_nodelay(Some(true)),
            stop.clone().cancelled_owned(),
        );
    tokio::pin!(server);
    let served = tokio::select! {
        served = &mut server => served,
        () = shutdown => drain(&stop, server).await,
        () = shared.log_over() => drain(&stop, server).await,
    };
    stop.cancel();
    expiry.abort();
    let closed = log.close(&shared).await;
    closed.and(served.map_err(StandinError::Transport))
}

/// Lets open connections end, but not for ever: a client that reads nothing must not hold us.
async fn drain<E>(
    stop: &tokio_util::sync::CancellationToken,
    server: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    stop.cancel();
    timeout(DRAIN, server).await.unwrap_or(Ok(()))
}

async fn expire_leases(shared: Arc<Shared>) {
    loop {
        shared.expire();
        sleep(EXPIRY_PERIOD).await;
    }
}
