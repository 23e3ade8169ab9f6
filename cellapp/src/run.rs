//! The process from start to end.

use crate::load::DeclaredLoad;
use crate::process::CellTick;
use crate::work::{WorkRules, Workshop};
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::behaviour::World;
use marchland_cellapp_core::io::CellConfig;
use marchland_common::cluster;
use marchland_common::order::Node;
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{
    ClockValue, MemberState, MetaValue, Registration, Watcher, WatcherOptions,
};
use marchland_runtime::journal::JournalError;
use marchland_runtime::link::{LinkConfig, LinkPlane, LinkTimes, incoming, server};
use marchland_runtime::process::{
    Bound, HealthBoard, Introduction, MapFeed, NoRecordsDoor, PauseWatch, PeerAddresses, PeerBook,
    ProcessOptions, ShutdownWatch, StartError, Started, Surroundings, bind_to_peers, open_journal,
    prepare_dir, start,
};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::{SharedClock, TickConfig, TickLoop, Waker};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a cellapp runs.
#[derive(Clone)]
pub struct CellOptions {
    /// What every process is told.
    pub process: ProcessOptions,
    /// The world.
    pub world: Arc<dyn World + Send + Sync>,
    /// How its asynchronous work is done.
    pub work: WorkRules,
    /// For measurements: how many percent of its step a tick takes at least.
    pub load_percent: u8,
}

/// Why a cellapp ended otherwise than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The tick thread did not start or ended by itself.
    #[error("the tick thread: {0}")]
    Tick(String),
    /// A door broke.
    #[error("a door broke: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// How long the parts may take to end.
const END_MAX: Duration = Duration::from_secs(1);
/// How long entities are handed over before the process ends.
const DRAIN_MAX: Duration = Duration::from_secs(3);

/// Runs until asked to end. `ready` is told the address once the name is held.
///
/// # Errors
/// [`CellError`].
pub async fn run(
    options: CellOptions,
    shutdown: ShutdownWatch,
    ready: impl FnOnce(&str) + Send,
) -> Result<(), CellError> {
    prepare_dir(&options.process.dir)?;
    let link_door = bind_to_peers(&options.process).await?;
    let advertised = link_door.advertised.clone();
    let Started { coord, registration } =
        start(&options.process, advertised.clone(), BTreeMap::new()).await?;
    ready(&advertised);
    let counters = coord.counters().clone();
    let root = coord.keys().root().to_owned();
    let watcher = Watcher::spawn(coord.clone(), root, WatcherOptions::default());
    let (peers, addresses) = PeerBook::new();
    let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |seen| {
        peers.tell(seen);
    });
    tracing::info!("waiting for a manager to found the cluster");
    let mut asked = shutdown.clone();
    let founded = tokio::select! {
        founded = feed.founded() => Some(founded.map_err(|e| CellError::Tick(e.to_string()))?),
        () = asked.asked() => None,
    };
    let node = registration.node();
    let ended = match founded {
        Some(founded) => {
            let parts = Parts { options: &options, node, feed, counters, founded, shutdown };
            parts.run(link_door, addresses, &registration).await
        }
        None => Ok(()),
    };
    if let Err(error) = registration.close(END_MAX).await {
        tracing::warn!(%error, "the lease was not given back; it runs out by itself");
    }
    ended
}

/// What the threads and doors are made of.
struct Parts<'a> {
    options: &'a CellOptions,
    node: Node,
    feed: MapFeed,
    counters: Counters,
    founded: (MetaValue, ClockValue),
    shutdown: ShutdownWatch,
}

impl Parts<'_> {
    async fn run(
        self,
        link_door: Bound,
        addresses: PeerAddresses,
        registration: &Registration,
    ) -> Result<(), CellError> {
        let (meta, clock_key) = self.founded;
        let schema = self.options.world.kinds().schema_hash();
        let ticks = TickConfig::of_key(&clock_key, Duration::ZERO);
        let clock = SharedClock::new(ticks.step_ns);
        let config = LinkConfig::new(meta.cluster_id, schema, self.node);
        let times = config.times;
        let io = tokio::runtime::Handle::current();
        let (plane, links, observations) =
            LinkPlane::start(config, clock.clone(), &self.counters, &io);
        addresses.follow(plane.clone());
        let process = &self.options.process;
        let cell = CellConfig::new(self.node, process.seed, clock_key.step_us);
        let core = CellCore::new(cell, self.options.world.clone());
        let identity = (meta.cluster_id, schema);
        let journal = open_journal(process, identity, self.node, core.snapshot(), &self.counters)?;
        let health = HealthBoard::default();
        let drained = Arc::new(AtomicBool::new(false));
        let tick = CellTick {
            core,
            around: Surroundings::new(
                journal,
                links,
                PauseWatch::new(registration, process.ttl),
                health.clone(),
                self.counters.clone(),
            ),
            feed: self.feed.clone(),
            load: DeclaredLoad::new(self.options.load_percent, ticks.step_ns),
            workshop: Workshop::new(self.options.work, io, self.counters.clone()),
            registered: registration.state(),
            shutdown: self.shutdown.clone(),
            drained: drained.clone(),
            accepts: true,
            draining: false,
            empty_ticks: 0,
            orders: Vec::new(),
        };
        let ticking =
            TickLoop::start(ticks, clock, observations, Waker::new(), &self.counters, tick)
                .map_err(|e| CellError::Tick(e.to_string()))?;
        let door = NoRecordsDoor {
            about: Introduction { node: self.node, health, counters: self.counters.clone() },
            elsewhere: "a cellapp keeps no records; ask the baseapp of the entity",
        };
        let served = self
            .serve(link_door, &plane, &times, door, &ticking, || {
                registration.publish(|info| info.state = MemberState::Draining);
                drained.clone()
            })
            .await;
        let stopped = tokio::task::spawn_blocking(move || ticking.stop(END_MAX * 2)).await;
        if !matches!(stopped, Ok(Some(_))) {
            tracing::error!("the tick thread did not end in time");
        }
        plane.shutdown(END_MAX).await;
        served
    }

    async fn serve(
        &self,
        link_door: Bound,
        plane: &LinkPlane,
        times: &LinkTimes,
        door: NoRecordsDoor,
        ticking: &TickLoop,
        begin_drain: impl Fn() -> Arc<AtomicBool>,
    ) -> Result<(), CellError> {
        let serving = server(times)
            .add_service(plane.service())
            .add_service(ProcessServer::new(door))
            .serve_with_incoming(incoming(link_door.listener));
        let mut asked = self.shutdown.clone();
        let ticks = async {
            while !ticking.is_finished() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            served = serving => served.map_err(CellError::from),
            () = ticks => Err(CellError::Tick("it ended by itself".to_owned())),
            () = async {
                asked.asked().await;
                self.drain(&begin_drain()).await;
            } => Ok(()),
        }
    }

    /// Waits until everything is handed over, while somebody else is there to take it.
    async fn drain(&self, drained: &AtomicBool) {
        let done = async {
            while !drained.load(Ordering::Acquire) && self.somebody_takes() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(DRAIN_MAX, done).await.is_err() {
            tracing::warn!("not everything was handed over in time; the bases restore the rest");
        }
    }

    fn somebody_takes(&self) -> bool {
        self.feed.seen().core_members().iter().any(|m| {
            m.node.name.kind == self.node.name.kind
                && m.node != self.node
                && m.state == cluster::MemberState::Serving
        })
    }
}
