//! The process from start to end: log first, then name, then links, then ticks.

use crate::belongs::{Misfit, before_the_log, before_the_name, log_folder, own_the_log};
use crate::broken::BrokenLog;
use crate::door::{Door, OpenOrders};
use crate::gateway::{
    Funnel, GATEWAY, GATEWAY_INSIDE, Gateway, GatewayService, PlayRules, note_name,
};
use crate::leaving::Leaving;
use crate::log::{Folder, Log, LogConfig, LogIdentity, MemoryDisk, OpenError, Storage, Unbegun};
use crate::process::BaseTick;
use crate::save_age::SaveAge;
use crate::takeover::{Means, TakeOvers, entries};
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{BaseConfig, BaseOrder};
use marchland_baseapp_core::log::{LogRecord, Recovered, replay};
use marchland_common::order::Term;
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{
    ClockValue, CoordClient, LOG_FOLDER, MetaValue, Registration, Watcher, WatcherOptions,
};
use marchland_runtime::journal::JournalError;
use marchland_runtime::link::{LinkConfig, LinkPlane, LinkTimes, incoming, server};
use marchland_runtime::observe::{Desk, ObserveDoor, RecordTee};
use marchland_runtime::process::{
    AdvertisedAddr, Bound, Doorway, DrainOrder, HealthBoard, Introduction, LeaseSource, LifeOver,
    MapFeed, Pages, PauseWatch, PeerAddresses, PeerBook, ProcessOptions, Shutdown, ShutdownWatch,
    StartError, Started, Surroundings, UNFOUNDED, Unfounded, bind, bind_to_peers, life_over,
    open_journal, prepare_dir, start,
};
use marchland_runtime::tick::{SharedClock, TickConfig, TickLoop, Waker};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tower::util::MapRequestLayer;

/// How a baseapp runs.
#[derive(Clone)]
pub struct BaseOptions {
    /// What every process is told.
    pub process: ProcessOptions,
    /// Where clients come in; port 0 takes any free one.
    pub gateway: SocketAddr,
    /// Where clients reach it, if that is not where other processes do.
    pub advertise_gateway: Option<AdvertisedAddr>,
    /// What the world says about its clients.
    pub rules: PlayRules,
    /// Entities without a client that this baseapp creates when it begins with an empty log.
    pub populate: Vec<BaseOrder>,
    /// Whether it begins empty if its name keeps slots and the folder of its log is gone.
    pub accept_loss: bool,
    /// For tests: a disk that misbehaves on order, on which the log is kept instead of in the
    /// process's folder.
    pub disk: Option<MemoryDisk>,
}

/// Why a baseapp ended otherwise than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Store and log do not belong together.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The write-ahead log cannot be used.
    #[error("cannot use the write-ahead log: {0}")]
    Log(#[from] OpenError),
    /// The write-ahead log is damaged.
    #[error(transparent)]
    Broken(#[from] BrokenLog),
    /// There is no journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The tick thread did not start or ended by itself.
    #[error("the tick thread: {0}")]
    Tick(String),
    /// A door broke.
    #[error("a door broke: {0}")]
    Serve(#[from] tonic::transport::Error),
    /// Its life was given up, or another process holds its name.
    #[error("{0}; start it again, it goes on from its log")]
    Over(LifeOver),
}

/// Client words, orders and questions that wait for the tick thread.
const SAID_MAX: usize = 65_536;
const ASKED_MAX: usize = 8_192;
const LOOKS_MAX: usize = 1_024;
/// How long the lock of the log is waited for.
const LOCK_MAX: Duration = Duration::from_secs(5);
/// Between two attempts.
const LOCK_AGAIN: Duration = Duration::from_millis(50);
/// How long the parts may take to end.
const END_MAX: Duration = Duration::from_secs(1);

/// Runs until asked to end. `ready` is told the addresses of the link and of the gateway once the
/// name is held.
///
/// # Errors
/// [`BaseError`].
pub async fn run(
    options: BaseOptions,
    shutdown: ShutdownWatch,
    ready: impl FnOnce(&str, &str) + Send,
) -> Result<(), BaseError> {
    let process = options.process.clone();
    prepare_dir(&process.dir)?;
    let link_door = bind_to_peers(&process).await?;
    let client_door = bind(&process, options.gateway).await?;
    if !before_the_name(&options, &shutdown).await? {
        return Ok(());
    }
    let inside = client_door.advertised.clone();
    let outside = options.advertise_gateway.as_ref().map(|addr| addr.at(client_door.local.port()));
    let gateway = outside.unwrap_or_else(|| inside.clone());
    let extra = [(GATEWAY, gateway.clone()), (GATEWAY_INSIDE, inside)];
    let mut extra = BTreeMap::from(extra.map(|(key, addr)| (key.to_owned(), addr)));
    extra.extend(log_to_take_over(&options).map(|log| (LOG_FOLDER.to_owned(), log)));
    let started = start(&process, link_door.advertised.clone(), extra).await?;
    ready(&link_door.advertised, &gateway);
    let doors = Bounds { link: link_door, client: client_door };
    let Started { coord, registration } = started;
    let ended = follow(&options, coord, &registration, doors, shutdown).await;
    if let Err(error) = registration.close(END_MAX).await {
        tracing::warn!(%error, "the lease was not given back; it runs out by itself");
    }
    ended
}

/// The folder of the log as others find it; none if it is in no folder, or its path is no text.
fn log_to_take_over(options: &BaseOptions) -> Option<String> {
    let folder = options.disk.is_none().then(|| log_folder(&options.process))?;
    std::path::absolute(folder).ok()?.into_os_string().into_string().ok()
}

/// Where it listens.
struct Bounds {
    link: Bound,
    client: Bound,
}

struct Doors {
    link: Doorway,
    client: Bound,
}

/// Everything between having a name and giving it back.
async fn follow(
    options: &BaseOptions,
    coord: CoordClient,
    registration: &Registration,
    doors: Bounds,
    mut shutdown: ShutdownWatch,
) -> Result<(), BaseError> {
    let counters = coord.counters().clone();
    let watcher =
        Watcher::spawn(coord.clone(), coord.keys().root().to_owned(), WatcherOptions::default());
    let node = registration.node();
    let (health, drain) = (HealthBoard::default(), Some(DrainOrder::default()));
    let about = Introduction { node, health, counters: counters.clone(), drain };
    let pages = Pages::new(about.clone());
    pages.show(LeaseSource(registration.proofs()));
    pages.show(watcher.subscribe());
    let mut doorway = Doorway::new(doors.link.listener, pages.clone());
    let (peers, addresses) = PeerBook::new();
    let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |seen| {
        peers.tell(seen);
    });
    about.health.set(UNFOUNDED, true);
    let founded = async {
        tokio::select! {
            founded = feed.founded() => founded.map_err(not_founded).map(Some),
            () = shutdown.asked() => Ok(None),
            over = life_over(registration, &feed) => Err(BaseError::Over(over)),
        }
    };
    let Some(founded) = doorway.meanwhile(founded).await? else { return Ok(()) };
    about.health.set(UNFOUNDED, false);
    let over = Arc::default();
    let parts = Parts { options, coord, registration, about, pages, feed, founded, shutdown, over };
    parts.run(Doors { link: doorway, client: doors.client }, addresses).await
}

fn not_founded(error: Unfounded) -> BaseError {
    match error {
        Unfounded::Protocol(mismatch) => BaseError::Start(mismatch.into()),
        gone @ Unfounded::Watcher(_) => BaseError::Tick(gone.to_string()),
    }
}

/// What the threads and doors are made of.
struct Parts<'a> {
    options: &'a BaseOptions,
    registration: &'a Registration,
    coord: CoordClient,
    about: Introduction,
    pages: Pages,
    feed: MapFeed,
    founded: (MetaValue, ClockValue),
    shutdown: ShutdownWatch,
    /// This life was given up.
    over: Arc<AtomicBool>,
}

impl Parts<'_> {
    async fn run(self, doors: Doors, addresses: PeerAddresses) -> Result<(), BaseError> {
        let pauses = PauseWatch::new(self.registration, self.options.process.ttl);
        let (meta, clock_key) = self.founded;
        let waker = Waker::new();
        let Opened { log, recovered, ids_from, is_new } =
            self.open_log(meta.cluster_id, &waker).await?;
        let step = Duration::from_micros(clock_key.step_us);
        let ticks = TickConfig::of_key(&clock_key, step / 2);
        let clock = SharedClock::new(ticks.step_ns);
        let kinds = self.options.rules.kinds.clone();
        let mut config = LinkConfig::new(meta.cluster_id, kinds.schema_hash(), self.about.node);
        config.dial_from = self.options.process.dial_from;
        let times = config.times;
        let io = tokio::runtime::Handle::current();
        let (plane, links, observations) =
            LinkPlane::start(config, clock.clone(), &self.about.counters, &io);
        addresses.follow(plane.clone());
        self.pages.show(plane.clone());
        let (say, said) = crossbeam_channel::bounded(SAID_MAX);
        let (ask, asked) = crossbeam_channel::bounded(ASKED_MAX);
        let (look, looks) = crossbeam_channel::bounded(LOOKS_MAX);
        let rules = PlayRules { step, ..self.options.rules.clone() };
        let (closing, closed) = Shutdown::new();
        let gateway = Gateway::new(
            self.about.node.name,
            doors.client.advertised.clone(),
            self.feed.clone(),
            rules,
            say,
            self.about.counters.clone(),
            closed,
        );
        let base = BaseConfig::new(self.about.node, self.options.process.seed, clock_key.step_us);
        let base = BaseConfig { ids_from, ..base };
        let core = BaseCore::new(base, kinds.clone(), recovered);
        let tee = RecordTee::default();
        let journal = open_journal(
            &self.options.process,
            (meta.cluster_id, kinds.schema_hash()),
            self.about.node,
            (core.snapshot(), &tee),
            &self.about.counters,
        )?;
        let (desk, questions) = Desk::new();
        let lease = self.registration.proofs();
        let observe = ObserveDoor::new(self.about.node, None, tee, desk, plane.clone(), lease);
        let Introduction { health, counters, .. } = self.about.clone();
        let around = Surroundings::new(journal, links, pauses, health, counters, ticks.step_ns);
        let (moves, moving) = watch::channel(Vec::new());
        let (adopted, adopting) = watch::channel(Vec::new());
        let own_log = self.options.disk.is_none().then(|| log_folder(&self.options.process));
        let takeovers = TakeOvers::new(Means {
            me: self.about.node,
            cluster: meta.cluster_id,
            kinds: kinds.clone(),
            own_log,
            orders: ask.clone(),
            adopted: adopting,
            seen: self.feed.subscribe(),
        });
        let drain = self.about.drain.clone().unwrap_or_default();
        let door = Door {
            about: self.about.clone(),
            kinds: kinds.clone(),
            step,
            looks: look,
            orders: ask,
            open: Arc::new(OpenOrders::new(self.about.node.incarnation)),
            moves: moving,
            takeovers,
        };
        let tick = BaseTick {
            name: self.about.node.name,
            over: self.over.clone(),
            core,
            log: Some(log),
            around,
            feed: self.feed.clone(),
            said,
            asked,
            looks,
            questions,
            kinds,
            open: door.open.clone(),
            moves,
            adopted,
            drain,
            funnel: Funnel::spawn(gateway.clone()),
            durable: None,
            unlogged: VecDeque::new(),
            log_lost: false,
            own_orders: Vec::new(),
            populate: if is_new { self.options.populate.clone() } else { Vec::new() },
            save_age: SaveAge::default(),
        };
        let ticking =
            TickLoop::start(ticks, clock, observations, waker, &self.about.counters, tick)
                .map_err(|e| BaseError::Tick(e.to_string()))?;
        let clients = Clients { gateway, closing };
        let served = self.serve(doors, &plane, &times, (door, observe), clients, &ticking).await;
        let stopped = tokio::task::spawn_blocking(move || ticking.stop(END_MAX * 3)).await;
        if !matches!(stopped, Ok(Some(_))) {
            tracing::error!("the tick thread did not end in time");
        }
        plane.shutdown(END_MAX).await;
        served
    }

    async fn serve(
        &self,
        doors: Doors,
        plane: &LinkPlane,
        times: &LinkTimes,
        (door, observe): (Door, ObserveDoor),
        clients: Clients,
        ticking: &TickLoop,
    ) -> Result<(), BaseError> {
        let leaving = Leaving {
            registration: self.registration,
            feed: &self.feed,
            health: door.about.health.clone(),
            drain: door.about.drain.clone().unwrap_or_default(),
            closing: clients.closing,
        };
        let inner = server(times)
            .add_service(plane.service())
            .add_service(plane.witness(self.about.node))
            .add_service(ProcessServer::new(door))
            .add_service(observe.service())
            .serve_with_incoming(doors.link.grpc());
        let outer = server(times)
            .layer(MapRequestLayer::new(note_name::<tonic::body::Body>))
            .add_service(GatewayService::server(clients.gateway))
            .serve_with_incoming(incoming(doors.client.listener));
        let ticks = async {
            while !ticking.is_finished() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            served = inner => served.map_err(BaseError::from),
            served = outer => served.map_err(BaseError::from),
            () = ticks => Err(BaseError::Tick("it ended by itself".to_owned())),
            // At once: its log goes to whoever comes after it.
            over = life_over(self.registration, &self.feed) => {
                self.over.store(true, Ordering::Release);
                Err(BaseError::Over(over))
            }
            () = leaving.leave(self.shutdown.clone()) => Ok(()),
        }
    }

    /// Reads the log, and opens it if it and the store belong together.
    async fn open_log(&self, cluster: u64, waker: &Waker) -> Result<Opened, BaseError> {
        let identity = LogIdentity {
            cluster,
            base: self.about.node.name.to_string(),
            term: Term(self.about.node.incarnation.0),
        };
        let folder = log_folder(&self.options.process);
        let storage: Box<dyn Storage> = match &self.options.disk {
            Some(disk) => Box::new(disk.clone()),
            None => Box::new(lock_in_time(&folder).await?),
        };
        let kinds = &self.options.rules.kinds;
        let log = match Unbegun::read(storage, identity) {
            Err(OpenError::Broken(broken)) => {
                return Err(BrokenLog::damaged(&folder, &broken, kinds).into());
            }
            read => read?,
        };
        let recovered = replay(kinds, entries(log.recovery()))
            .map_err(|error| BrokenLog::unfit(&folder, &error))?;
        // One that gave everything away may hold nothing either, but it was shortened since.
        let was_shortened = log.recovery().checkpoint.is_some();
        let is_new = !was_shortened && entries(log.recovery()).all(is_about_slots);
        let place = log_to_take_over(self.options).unwrap_or_default();
        own_the_log(&self.options.process, &self.coord, self.about.node, place).await?;
        let ids_from = before_the_log(self.options, &self.coord, &recovered.store).await?;
        let wake = waker.clone();
        let (log, _) = log.begin(LogConfig::STANDARD, Box::new(move || wake.wake()))?;
        Ok(Opened { log, recovered, ids_from, is_new })
    }
}

/// Takes the lock of the log. Whoever is about to take its slots over lets it go once it hears of this
/// life.
async fn lock_in_time(folder: &Path) -> Result<Folder, OpenError> {
    let began = Instant::now();
    loop {
        match Folder::lock(folder) {
            Err(OpenError::Locked { pid, .. }) if began.elapsed() < LOCK_MAX => {
                tracing::debug!(?pid, "the log is locked; waiting for it");
                tokio::time::sleep(LOCK_AGAIN).await;
            }
            locked => return locked,
        }
    }
}

/// Where clients come in, and how they are told that their streams end.
struct Clients {
    gateway: Arc<Gateway>,
    closing: Shutdown,
}

/// An open log and what it held.
struct Opened {
    log: Log,
    recovered: Recovered,
    /// Where ids of slots begin that it does not know.
    ids_from: u64,
    /// Whether nobody was ever born by it.
    is_new: bool,
}

/// Slots are taken, and their first ids put aside, before anybody is born.
fn is_about_slots(record: &[u8]) -> bool {
    let read = LogRecord::decode(record);
    matches!(read, Ok(LogRecord::SlotTaken { .. } | LogRecord::IdsReserved { .. }))
}
