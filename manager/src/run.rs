//! The process from start to end.

use crate::address_book::AddressBook;
use crate::console::ConsoleOptions;
use crate::lead::{Leader, Waiting};
use crate::operator::Door;
use crate::watch::{Bench, Findings, Roster};
use marchland_common::order::NodeName;
use marchland_console::ServeError;
use marchland_manager_core::SpaceSpec;
use marchland_proto::operator::operator_server::OperatorServer;
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{
    CoordClient, LeaderInfo, Leadership, Watcher, WatcherOptions, campaign,
};
use marchland_runtime::process::{
    Bound, Doorway, HealthBoard, Introduction, LeaseSource, MapFeed, NoRecordsDoor, Pages,
    ProcessOptions, ShutdownWatch, StartError, Started, bind_to_peers, start,
};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::telemetry::metrics::{Sheet, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How a manager runs.
#[derive(Clone, Debug)]
pub struct ManagerOptions {
    /// What every process is told.
    pub process: ProcessOptions,
    /// The spaces of the world.
    pub spaces: Vec<SpaceSpec>,
    /// How many cellapps are awaited before the first layout.
    pub cells_awaited: usize,
    /// How many baseapps are awaited before slots are given.
    pub bases_awaited: usize,
    /// For how long they are awaited.
    pub wait_max: Duration,
    /// For how long a process must be silent to everybody before it is given up.
    pub silent_after: Duration,
    /// After what time others take over the slots of a baseapp that is away; never without.
    pub take_over_after: Option<Duration>,
    /// Where its console listens, if it has one.
    pub console: Option<ConsoleOptions>,
}

/// Why a manager ended otherwise than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its console does not listen.
    #[error(transparent)]
    Console(#[from] ServeError),
    /// Its door broke.
    #[error("the operator's door on {addr} broke: {source}")]
    Serve {
        /// Where it was.
        addr: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
}

/// Where a manager is found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The operator's door.
    pub operator: &'a str,
    /// The console, if it has one.
    pub console: Option<SocketAddr>,
}

/// How long the lease is given back at the end.
const REVOKE_MAX: Duration = Duration::from_secs(1);
/// How long open calls may take to end.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Runs until asked to end. `ready` is told where it is found once the name is held.
///
/// # Errors
/// [`ManagerError`].
pub async fn run(
    options: ManagerOptions,
    shutdown: ShutdownWatch,
    ready: impl FnOnce(Found<'_>) + Send,
) -> Result<(), ManagerError> {
    let Bound { listener, advertised, .. } = bind_to_peers(&options.process).await?;
    let console = match &options.console {
        Some(console) => Some(console.open().await?),
        None => None,
    };
    let Started { coord, registration } =
        start(&options.process, advertised.clone(), BTreeMap::new()).await?;
    let counters = coord.counters().clone();
    let root = coord.keys().root().to_owned();
    let watcher = Watcher::spawn(coord.clone(), root, WatcherOptions::default());
    let book = Arc::new(AddressBook::new(options.process.dial_from));
    let roster = Roster::new();
    let (known, lives) = (book.clone(), roster.clone());
    let followed = watcher.subscribe();
    let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |seen| {
        let addrs: Vec<&str> = seen.members.iter().map(|m| m.info.operator_addr.as_str()).collect();
        known.keep(&addrs);
        lives.follow(seen);
    });
    let reports = Reports::default();
    let door = Door {
        coord: coord.clone(),
        feed,
        book,
        waiting: reports.waiting.subscribe(),
        findings: reports.findings.subscribe(),
        leads: reports.leads.subscribe(),
        drains: Arc::default(),
    };
    let node = registration.node();
    let cluster = options.process.cluster.clone();
    let office = Office {
        info: LeaderInfo {
            name: node.name,
            incarnation: node.incarnation,
            operator_addr: advertised.clone(),
            proto: marchland_runtime::link::PROTO,
        },
        options,
        door: door.clone(),
        roster,
        reports: reports.clone(),
        counters: counters.clone(),
    };
    let leading = tokio::spawn(office.lead_for_ever());
    let about = Introduction { node, health: HealthBoard::default(), counters, drain: None };
    let pages = Pages::new(about.clone());
    pages.show(LeaseSource(registration.proofs()));
    pages.show(followed);
    pages.show(Leads(reports.leads.subscribe()));
    let process = NoRecordsDoor { about, elsewhere: "a manager keeps no entities; ask a baseapp" };
    let console_at = console.as_ref().map(|console| console.addr);
    let console = console.map(|console| {
        console.serve(door.clone(), cluster, registration.proofs(), shutdown.clone())
    });
    ready(Found { operator: &advertised, console: console_at });
    let mut ends = shutdown.clone();
    let server = tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .add_service(OperatorServer::new(door))
        .add_service(ProcessServer::new(process))
        .serve_with_incoming_shutdown(Doorway::new(listener, pages).grpc(), async move {
            ends.asked().await;
        });
    let mut asked = shutdown;
    let served = tokio::select! {
        served = server => served,
        () = async { asked.asked().await; tokio::time::sleep(DRAIN_MAX).await } => Ok(()),
    };
    // What browsers still hear ends with the process.
    console.iter().for_each(JoinHandle::abort);
    leading.abort();
    let _ = leading.await;
    resign(&reports).await;
    if let Err(error) = registration.close(REVOKE_MAX).await {
        tracing::warn!(%error, "the lease was not given back; it runs out by itself");
    }
    served.map_err(|source| ManagerError::Serve { addr: advertised, source })
}

/// What leading tells the operator's door.
#[derive(Clone, Default)]
struct Reports {
    waiting: Arc<watch::Sender<Waiting>>,
    overdue: Arc<watch::Sender<BTreeSet<NodeName>>>,
    findings: Arc<watch::Sender<Findings>>,
    leads: Arc<watch::Sender<Option<Arc<Leadership>>>>,
}

/// Whether this manager leads, among its metrics.
struct Leads(watch::Receiver<Option<Arc<Leadership>>>);

impl Source for Leads {
    fn show(&self, sheet: &mut Sheet) {
        let leads = self.0.borrow().as_ref().is_some_and(|leadership| leadership.may_write());
        sheet.number("march_manager_leads", &[], if leads { 1.0 } else { 0.0 });
    }
}

/// The leadership goes at once to whoever waits for it.
async fn resign(reports: &Reports) {
    let held = reports.leads.send_replace(None);
    // A call that still uses it keeps it until its lease runs out.
    if let Some(Ok(leadership)) = held.map(Arc::try_unwrap)
        && let Err(error) = leadership.resign(REVOKE_MAX).await
    {
        tracing::warn!(%error, "the leadership was not given back; it runs out by itself");
    }
}

/// Everything that leading needs, whenever it comes.
struct Office {
    info: LeaderInfo,
    options: ManagerOptions,
    door: Door,
    roster: Roster,
    reports: Reports,
    counters: Counters,
}

impl Office {
    /// Campaigns, leads, and campaigns again.
    async fn lead_for_ever(self) {
        let coord = &self.door.coord;
        loop {
            let leadership = Arc::new(campaign(coord, &self.info, self.options.process.ttl).await);
            tracing::info!(term = %leadership.term(), "this manager leads");
            self.reports.leads.send_replace(Some(leadership.clone()));
            let end = self.leader(coord, &leadership).lead(&self.door).await;
            self.reports.leads.send_replace(None);
            self.reports.findings.send_replace(Findings::default());
            self.reports.overdue.send_replace(BTreeSet::new());
            tracing::warn!(%end, "this manager leads no more");
        }
    }

    fn leader<'a>(&'a self, coord: &'a CoordClient, leadership: &'a Leadership) -> Leader<'a> {
        let options = &self.options;
        let bench = Bench {
            coord,
            leadership,
            feed: &self.door.feed,
            roster: &self.roster,
            findings: &self.reports.findings,
            counters: &self.counters,
            by: format!("{}@{}", self.info.name, self.info.incarnation),
            silent_after: options.silent_after,
            take_over_after: options.take_over_after,
            overdue: &self.reports.overdue,
            dial_from: options.process.dial_from,
        };
        Leader {
            coord,
            leadership,
            bench,
            spaces: &options.spaces,
            cells_awaited: options.cells_awaited,
            bases_awaited: options.bases_awaited,
            wait_max: options.wait_max,
            step: options.process.step,
            waiting: &self.reports.waiting,
        }
    }
}
