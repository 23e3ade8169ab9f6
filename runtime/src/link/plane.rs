//! The plane as its process holds it: peers come and go, evidence is asked for, and it ends in
//! bounded time.

use super::accept::LinkService;
use super::config::{BATCHES_MAX, LinkConfig, MESSAGE_BYTES_MAX};
use super::dialer;
use super::event::LinkEvent;
use super::evidence::PeerEvidence;
use super::hub::{Hub, LinkVitals, SendCounts};
use super::queue::Observation;
use super::tick_side::{Batch, LinkTick};
use crate::telemetry::Counters;
use crate::tick::SharedClock;
use crossbeam_channel::Receiver;
use marchland_common::link::ChannelId;
use marchland_common::order::{Node, NodeKind};
use marchland_proto::link::link_server::LinkServer;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep};

/// Where a life of a peer listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddr {
    /// Which life.
    pub node: Node,
    /// `host:port`.
    pub addr: String,
}

/// A link plane. Clones share it. Dropping the last [`LinkTick`] and calling
/// [`shutdown`](Self::shutdown) ends it.
#[derive(Clone)]
pub struct LinkPlane {
    hub: Arc<Hub>,
    io: Handle,
    addrs: Arc<Mutex<BTreeMap<Node, watch::Sender<String>>>>,
}

impl std::fmt::Debug for LinkPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LinkPlane").field(&self.hub.config.identity.node).finish()
    }
}

impl LinkPlane {
    /// A plane whose tasks run on `io`, the tick thread's end of it, and what peers say about
    /// their clocks. `clock` is what the tick thread keeps up to date.
    #[must_use]
    pub fn start(
        config: LinkConfig,
        clock: SharedClock,
        counters: &Counters,
        io: &Handle,
    ) -> (Self, LinkTick, Receiver<Observation>) {
        let (hub, feeds) = Hub::new(config, clock, counters);
        let (batches, released) = mpsc::channel(BATCHES_MAX);
        let drained = Arc::new(Notify::new());
        io.spawn(pump(hub.clone(), released));
        io.spawn(follow_drains(hub.clone(), drained.clone()));
        let (tick, observations) = LinkTick::new(feeds, batches, drained, hub.pending.clone());
        (Self { hub, io: io.clone(), addrs: Arc::default() }, tick, observations)
    }

    /// The service that peers dial, with its limits set.
    #[must_use]
    pub fn service(&self) -> LinkServer<LinkService> {
        LinkServer::new(LinkService(self.hub.clone()))
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// All processes that are registered now, with where they listen. Who is new is dialed; a
    /// newer life ends the links to the older one; who is missing stays connected, for the
    /// registry may forget a process that is well. Cellapps and baseapps alone have links.
    pub fn set_peers(&self, peers: Vec<PeerAddr>) {
        let local = self.hub.config.identity.node;
        let mut addrs = self.addrs.lock().unwrap_or_else(PoisonError::into_inner);
        for PeerAddr { node, addr } in peers {
            let has_links = matches!(node.name.kind, NodeKind::Cell | NodeKind::Base);
            if !has_links || node.name == local.name {
                continue;
            }
            self.hub.saw(node);
            match addrs.get(&node) {
                Some(known) => {
                    known.send_if_modified(|at| {
                        let news = *at != addr;
                        *at = addr;
                        news
                    });
                }
                None => {
                    addrs.insert(node, self.dial(node, addr));
                }
            }
        }
        addrs.retain(|_, addr| !addr.is_closed());
    }

    fn dial(&self, node: Node, addr: String) -> watch::Sender<String> {
        let (sender, addr) = watch::channel(addr);
        let between_cells =
            [self.hub.config.identity.node, node].iter().all(|end| end.name.kind == NodeKind::Cell);
        let channels = [ChannelId::ORDERED, ChannelId::BULK];
        // Only cellapps send each other offloads.
        for channel in channels.into_iter().take(if between_cells { 2 } else { 1 }) {
            let key = (node, channel);
            if let Some(over) = self.hub.add_out_lane(key) {
                self.io.spawn(dialer::run(self.hub.clone(), key, addr.clone(), over));
            }
        }
        sender
    }

    /// Lives that were declared dead: their links end, and what they said counts no more.
    pub fn bury(&self, nodes: &[Node]) {
        nodes.iter().for_each(|node| self.hub.bury(*node));
    }

    /// What is known about each peer's being there.
    #[must_use]
    pub fn evidence(&self) -> Vec<PeerEvidence> {
        self.hub.lock().evidence.values().cloned().collect()
    }

    /// How the links to every known life are.
    #[must_use]
    pub fn vitals(&self, now_ns: u64) -> Vec<LinkVitals> {
        self.hub.vitals(now_ns)
    }

    /// What was put on the connections, by peer and channel.
    #[must_use]
    pub fn counts(&self) -> Vec<(Node, ChannelId, SendCounts)> {
        self.hub.counts()
    }

    /// How many greetings were refused, by the stable name of the reason.
    #[must_use]
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.hub.lock().links.refusals().clone()
    }

    /// Waits until what was sent is acknowledged by all who are connected, at most `limit`, then
    /// ends all streams. False when the limit came first.
    pub async fn shutdown(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut flushed = self.hub.is_flushed();
        while !flushed && Instant::now() < deadline {
            sleep(Duration::from_millis(5)).await;
            flushed = self.hub.is_flushed();
        }
        self.hub.stop.cancel();
        flushed
    }
}

/// Sends what the tick thread gave, when the records of its ticks are written.
async fn pump(hub: Arc<Hub>, mut released: mpsc::Receiver<Batch>) {
    while let Some(mut batch) = released.recv().await {
        if batch.ticket.written().await.is_ok() {
            batch.bundles.into_iter().for_each(|bundle| hub.post(bundle));
        } else {
            hub.tell(LinkEvent::NeverReleased { bundles: batch.bundles.len() });
        }
        hub.pending.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn follow_drains(hub: Arc<Hub>, drained: Arc<Notify>) {
    loop {
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = drained.notified() => hub.after_drain(),
        }
    }
}
