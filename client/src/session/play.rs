//! One stream to one gateway: dial, say hello, and hand over both directions.

use marchland_proto::client::{Down, Up, gateway_client::GatewayClient};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;

/// How long a gateway may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_secs(2);
/// Pings find a cut that no packet tells of.
const PING_EVERY: Duration = Duration::from_secs(2);
/// How long a ping may stay unanswered.
const PONG_MAX: Duration = Duration::from_secs(2);
/// Most messages that wait for the socket.
const UPS_MAX: usize = 256;

/// Both directions of an open stream.
pub(super) struct Stream {
    pub(super) up: mpsc::Sender<Up>,
    pub(super) down: Streaming<Down>,
}

/// Opens a stream whose first message is `hello`.
pub(super) async fn dial(gateway: &str, hello: Up) -> Result<Stream, String> {
    let endpoint = Endpoint::from_shared(gateway.to_owned())
        .map_err(|e| format!("{gateway} is not an address: {e}"))?
        .connect_timeout(DIAL_MAX)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_MAX)
        .keep_alive_while_idle(true);
    let channel = endpoint.connect().await.map_err(|e| format!("{gateway}: {e}"))?;
    let (up, ups) = mpsc::channel(UPS_MAX);
    up.send(hello).await.map_err(|_| "the stream closed at once".to_owned())?;
    let mut gateway_client = GatewayClient::new(channel);
    let call = gateway_client.play(ReceiverStream::new(ups));
    let answer = tokio::time::timeout(DIAL_MAX, call)
        .await
        .map_err(|_| format!("{gateway}: no answer within {DIAL_MAX:?}"))?
        .map_err(|status| format!("{gateway}: {}", status.message()))?;
    Ok(Stream { up, down: answer.into_inner() })
}
