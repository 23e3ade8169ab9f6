//! One life: what it is made of, how it is served, and how it ends.

use crate::load::DeclaredLoad;
use crate::process::CellTick;
use crate::run::{CellError, CellOptions};
use crate::work::Workshop;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::CellConfig;
use marchland_common::cluster;
use marchland_common::order::Node;
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{
    ClockValue, CoordClient, MemberState, MetaValue, Registration, Watcher, WatcherOptions,
};
use marchland_runtime::link::{LinkConfig, LinkPlane, LinkTimes, server};
use marchland_runtime::observe::{Desk, ObserveDoor, RecordTee, Stage};
use marchland_runtime::process::{
    Doorway, DrainOrder, HealthBoard, Introduction, LeaseSource, LifeOver, MapFeed, NoRecordsDoor,
    Pages, PauseWatch, PeerAddresses, PeerBook, ShutdownWatch, Surroundings, UNFOUNDED, Unfounded,
    life_over, open_journal,
};
use marchland_runtime::tick::{SharedClock, TickConfig, TickLoop, Waker};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// How long the parts may take to end.
const END_MAX: Duration = Duration::from_secs(1);
/// How long entities are handed over before the process ends.
const DRAIN_MAX: Duration = Duration::from_secs(3);
/// Between two looks at a flag that the tick thread sets.
const FLAG_EVERY: Duration = Duration::from_millis(20);

/// How a life ended.
pub(crate) enum Ended {
    /// The process was asked to end.
    Asked,
    /// The life was given up.
    Over(LifeOver),
}

/// A registered life.
pub(crate) struct Life<'a> {
    pub(crate) options: &'a CellOptions,
    pub(crate) registration: &'a Registration,
    pub(crate) shutdown: ShutdownWatch,
    pub(crate) drain: DrainOrder,
}

impl Life<'_> {
    /// Lives until asked to end or given up.
    pub(crate) async fn live(
        self,
        coord: CoordClient,
        door: TcpListener,
    ) -> Result<Ended, CellError> {
        let counters = coord.counters().clone();
        let root = coord.keys().root().to_owned();
        let watcher = Watcher::spawn(coord.clone(), root, WatcherOptions::default());
        let followed = watcher.subscribe();
        let (peers, addresses) = PeerBook::new();
        let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |seen| {
            peers.tell(seen);
        });
        let node = self.registration.node();
        let (health, drain) = (HealthBoard::default(), Some(self.drain.clone()));
        let about = Introduction { node, health, counters, drain };
        let pages = Pages::new(about.clone());
        pages.show(LeaseSource(self.registration.proofs()));
        pages.show(followed);
        let mut doorway = Doorway::new(door, pages.clone());
        tracing::info!("waiting for a manager to found the cluster");
        about.health.set(UNFOUNDED, true);
        let mut asked = self.shutdown.clone();
        let founded = async {
            tokio::select! {
                founded = feed.founded() => Ok(founded),
                () = asked.asked() => Err(Ended::Asked),
                over = life_over(self.registration, &feed) => Err(Ended::Over(over)),
            }
        };
        let founded = match doorway.meanwhile(founded).await {
            Ok(founded) => founded.map_err(not_founded)?,
            Err(ended) => return Ok(ended),
        };
        about.health.set(UNFOUNDED, false);
        let parts = Parts { life: self, node, feed, about, pages, founded };
        parts.run(doorway, addresses).await
    }
}

fn not_founded(error: Unfounded) -> CellError {
    match error {
        Unfounded::Protocol(mismatch) => CellError::Start(mismatch.into()),
        gone @ Unfounded::Watcher(_) => CellError::Tick(gone.to_string()),
    }
}

/// What the threads and doors are made of.
struct Parts<'a> {
    life: Life<'a>,
    node: Node,
    feed: MapFeed,
    about: Introduction,
    pages: Pages,
    founded: (MetaValue, ClockValue),
}

impl Parts<'_> {
    async fn run(self, doorway: Doorway, addresses: PeerAddresses) -> Result<Ended, CellError> {
        let Life { options, registration, ref shutdown, ref drain } = self.life;
        let (meta, clock_key) = self.founded;
        let Introduction { health, counters, .. } = &self.about;
        let schema = options.world.kinds().schema_hash();
        let ticks = TickConfig::of_key(&clock_key, Duration::ZERO);
        let clock = SharedClock::new(ticks.step_ns);
        let mut config = LinkConfig::new(meta.cluster_id, schema, self.node);
        config.dial_from = options.process.dial_from;
        let times = config.times;
        let io = tokio::runtime::Handle::current();
        let (plane, links, observations) = LinkPlane::start(config, clock.clone(), counters, &io);
        addresses.follow(plane.clone());
        self.pages.show(plane.clone());
        let process = &options.process;
        let cell = CellConfig::new(self.node, process.seed, clock_key.step_us);
        let core = CellCore::new(cell, options.world.clone());
        let identity = (meta.cluster_id, schema);
        let (tee, stage) = (RecordTee::default(), Stage::default());
        let begin = (core.snapshot(), &tee);
        let journal = open_journal(process, identity, self.node, begin, counters)?;
        let (desk, questions) = Desk::new();
        let lease = registration.proofs();
        let shown = Some(stage.clone());
        let observe = ObserveDoor::new(self.node, shown, tee, desk, plane.clone(), lease);
        let flags = Flags::default();
        let tick = CellTick {
            node: self.node,
            core,
            around: Surroundings::new(
                journal,
                links,
                PauseWatch::new(registration, process.ttl),
                health.clone(),
                counters.clone(),
                ticks.step_ns,
            ),
            feed: self.feed.clone(),
            load: DeclaredLoad::new(options.load_percent, ticks.step_ns),
            workshop: Workshop::new(options.work, io, counters.clone()),
            stage,
            questions,
            registered: registration.state(),
            shutdown: shutdown.clone(),
            drain: drain.clone(),
            flags: flags.clone(),
            accepts: true,
            draining: false,
            empty_ticks: 0,
            orders: Vec::new(),
        };
        let ticking = TickLoop::start(ticks, clock, observations, Waker::new(), counters, tick)
            .map_err(|e| CellError::Tick(e.to_string()))?;
        let about = NoRecordsDoor {
            about: self.about.clone(),
            elsewhere: "a cellapp keeps no records; ask the baseapp of the entity",
        };
        let about = (about, observe);
        let served = self.serve(doorway, &plane, &times, about, &ticking, &flags).await;
        let stopped = tokio::task::spawn_blocking(move || ticking.stop(END_MAX * 2)).await;
        if !matches!(stopped, Ok(Some(_))) {
            tracing::error!("the tick thread did not end in time");
        }
        plane.shutdown(END_MAX).await;
        served
    }

    async fn serve(
        &self,
        doorway: Doorway,
        plane: &LinkPlane,
        times: &LinkTimes,
        (about, observe): (NoRecordsDoor, ObserveDoor),
        ticking: &TickLoop,
        flags: &Flags,
    ) -> Result<Ended, CellError> {
        let serving = server(times)
            .add_service(plane.service())
            .add_service(plane.witness(self.node))
            .add_service(ProcessServer::new(about))
            .add_service(observe.service())
            .serve_with_incoming(doorway.grpc());
        let mut asked = self.life.shutdown.clone();
        let ticks = async {
            while !ticking.is_finished() {
                sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            served = serving => served.map(|()| Ended::Asked).map_err(CellError::from),
            () = ticks => Err(CellError::Tick("it ended by itself".to_owned())),
            over = life_over(self.life.registration, &self.feed) => {
                // The core drops everything and says so in its journal.
                let _ = timeout(END_MAX, is_set(&flags.over)).await;
                Ok(Ended::Over(over))
            }
            never = self.say_when_draining() => match never {},
            () = async {
                asked.asked().await;
                self.drain(&flags.drained).await;
            } => Ok(Ended::Asked),
        }
    }

    /// Everybody is told when this process gives away what it has. It stays until it is asked to
    /// end.
    async fn say_when_draining(&self) -> Infallible {
        self.life.drain.given().await;
        tracing::info!("ordered to give away what is here");
        self.life.registration.publish(|info| info.state = MemberState::Draining);
        std::future::pending().await
    }

    /// Waits until everything is handed over, while somebody else is there to take it.
    async fn drain(&self, drained: &AtomicBool) {
        self.life.drain.give();
        self.life.registration.publish(|info| info.state = MemberState::Draining);
        let done = async {
            while !drained.load(Ordering::Acquire) && self.somebody_takes() {
                sleep(FLAG_EVERY).await;
            }
        };
        if timeout(DRAIN_MAX, done).await.is_err() {
            tracing::warn!("not everything was handed over in time; the bases restore the rest");
        }
    }

    fn somebody_takes(&self) -> bool {
        let seen = self.feed.seen();
        seen.core_members().iter().any(|m| {
            m.node.name.kind == self.node.name.kind
                && m.node != self.node
                && m.state == cluster::MemberState::Serving
                && !seen.dead.contains(&m.node.incarnation)
        })
    }
}

/// What the tick thread says to the rest of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// A drain left nothing here.
    pub(crate) drained: Arc<AtomicBool>,
    /// This life was given up, and the core dropped everything.
    pub(crate) over: Arc<AtomicBool>,
}

async fn is_set(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        sleep(FLAG_EVERY).await;
    }
}
