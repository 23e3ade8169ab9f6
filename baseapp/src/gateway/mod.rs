//! The client's door: one stream per session, in one order, and nothing a client sends can reach
//! more than its own entity or hurt another stream.
//!
//! The tick thread never waits for a client: what clients say waits in a bounded queue, what they
//! are told goes through one funnel to a bounded queue per stream. A client that does not read is
//! cut off and may come back.

mod funnel;
mod hear;
mod limits;
mod route;
mod service;
mod translate;

pub use funnel::{Funnel, Told};
pub use hear::{FirstWord, Unheard, first_word, later_word};
pub use limits::{ARGS_BYTES_MAX, MESSAGE_BYTES_MAX, RATE_PER_SECOND};
pub use route::{GATEWAY, GATEWAY_INSIDE, note_name};
pub use service::GatewayService;

use crossbeam_channel::Sender;
use dashmap::DashMap;
use marchland_baseapp_core::io::ClientEvent;
use marchland_common::order::{KindId, NodeName, SessionId};
use marchland_common::world::Kinds;
use marchland_proto::client::Down;
use marchland_runtime::process::{MapFeed, ShutdownWatch};
use marchland_runtime::telemetry::Counters;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// What a world says about its clients.
#[derive(Clone)]
pub struct PlayRules {
    /// The declared kinds.
    pub kinds: Arc<Kinds>,
    /// Where an account's entity is born.
    pub home: fn(&str) -> marchland_common::world::Place,
    /// Whether clients may play a kind.
    pub playable: fn(KindId) -> bool,
    /// The length of a tick.
    pub step: Duration,
}

/// A stream that is open: where its frames go. Dropping it ends the stream.
type StreamEnd = mpsc::Sender<Result<Down, tonic::Status>>;

/// What is known of a stream.
#[derive(Clone)]
struct OpenStream {
    end: StreamEnd,
    /// The kind that its client asked for.
    kind: KindId,
    /// Whether its client stands inside, where the addresses between processes work.
    inside: bool,
}

/// What all streams of this gateway share.
pub struct Gateway {
    name: NodeName,
    /// What processes of the cluster and whoever else stands inside with them call it.
    inside: String,
    feed: MapFeed,
    rules: PlayRules,
    said: Sender<ClientEvent>,
    counters: Counters,
    requests: AtomicU64,
    /// Streams that wait for their welcome, by request.
    waiting: DashMap<u64, OpenStream>,
    /// Streams by session, with the request that opened them.
    streams: DashMap<SessionId, (u64, OpenStream)>,
    shutdown: ShutdownWatch,
}

impl Gateway {
    /// A gateway of the baseapp `name`, reached as `inside` by those inside. What clients say goes
    /// to `said`.
    #[must_use]
    pub fn new(
        name: NodeName,
        inside: String,
        feed: MapFeed,
        rules: PlayRules,
        said: Sender<ClientEvent>,
        counters: Counters,
        shutdown: ShutdownWatch,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            inside,
            feed,
            rules,
            said,
            counters,
            requests: AtomicU64::new(1),
            waiting: DashMap::new(),
            streams: DashMap::new(),
            shutdown,
        })
    }

    fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands something a client said to the tick thread. False when the queue is full.
    fn say(&self, event: ClientEvent) -> bool {
        let taken = self.said.try_send(event).is_ok();
        if !taken {
            self.counters.counter("client_queue_full").add(1);
        }
        taken
    }

    /// How many streams are open.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }
}
