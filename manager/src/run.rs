//! The process from start to end.

use crate::address_book::AddressBook;
use crate::lead::Leader;
use crate::operator::Door;
use crate::spaces::Wanted;
use marchland_manager_core::SpaceSpec;
use marchland_proto::operator::operator_server::OperatorServer;
use marchland_proto::operator::process_server::ProcessServer;
use marchland_runtime::coord::{CoordClient, LeaderInfo, Watcher, WatcherOptions, campaign};
use marchland_runtime::process::{
    Bound, HealthBoard, Introduction, MapFeed, NoRecordsDoor, ProcessOptions, ShutdownWatch,
    StartError, Started, bind_to_peers, start,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;

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
}

/// Why a manager ended otherwise than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
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

/// How long the lease is given back at the end.
const REVOKE_MAX: Duration = Duration::from_secs(1);
/// How long open calls may take to end.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Runs until asked to end. `ready` is told the address of the operator's door once the name is
/// held.
///
/// # Errors
/// [`ManagerError`].
pub async fn run(
    options: ManagerOptions,
    shutdown: ShutdownWatch,
    ready: impl FnOnce(&str) + Send,
) -> Result<(), ManagerError> {
    let Bound { listener, advertised, .. } = bind_to_peers(&options.process).await?;
    let Started { coord, registration } =
        start(&options.process, advertised.clone(), BTreeMap::new()).await?;
    let counters = coord.counters().clone();
    let root = coord.keys().root().to_owned();
    let watcher = Watcher::spawn(coord.clone(), root, WatcherOptions::default());
    let book = Arc::new(AddressBook::default());
    let known = book.clone();
    let feed = MapFeed::spawn(coord.keys().clone(), watcher, counters.clone(), move |seen| {
        let addrs: Vec<&str> = seen.members.iter().map(|m| m.info.operator_addr.as_str()).collect();
        known.keep(&addrs);
    });
    let (waiting, waiting_for) = watch::channel(vec!["no manager has led yet".to_owned()]);
    let (lead, leads) = watch::channel(false);
    let wanted = Wanted::new(options.spaces.clone());
    let door = |waiting, leads| Door {
        feed: feed.clone(),
        book: book.clone(),
        wanted: wanted.clone(),
        waiting,
        leads,
    };
    let for_planner = door(waiting_for.clone(), leads.clone());
    let node = registration.node();
    let info = LeaderInfo {
        name: node.name,
        incarnation: node.incarnation,
        operator_addr: advertised.clone(),
    };
    let leading =
        tokio::spawn(lead_for_ever(coord.clone(), info, options, for_planner, waiting, lead));
    let process = NoRecordsDoor {
        about: Introduction { node, health: HealthBoard::default(), counters },
        elsewhere: "a manager keeps no entities; ask a baseapp",
    };
    ready(&advertised);
    let mut ends = shutdown.clone();
    let server = tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .add_service(OperatorServer::new(door(waiting_for, leads)))
        .add_service(ProcessServer::new(process))
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async move {
            ends.asked().await;
        });
    let mut asked = shutdown;
    let served = tokio::select! {
        served = server => served,
        () = async { asked.asked().await; tokio::time::sleep(DRAIN_MAX).await } => Ok(()),
    };
    leading.abort();
    if let Err(error) = registration.close(REVOKE_MAX).await {
        tracing::warn!(%error, "the lease was not given back; it runs out by itself");
    }
    served.map_err(|source| ManagerError::Serve { addr: advertised, source })
}

/// Campaigns, leads, and campaigns again.
async fn lead_for_ever(
    coord: CoordClient,
    info: LeaderInfo,
    options: ManagerOptions,
    door: Door,
    waiting: watch::Sender<Vec<String>>,
    leads: watch::Sender<bool>,
) {
    loop {
        let leadership = campaign(&coord, &info, options.process.ttl).await;
        tracing::info!(term = %leadership.term(), "this manager leads");
        leads.send_replace(true);
        let leader = Leader {
            coord: coord.clone(),
            leadership,
            cells_awaited: options.cells_awaited,
            bases_awaited: options.bases_awaited,
            wait_max: options.wait_max,
            step: options.process.step,
            waiting: waiting.clone(),
        };
        let end = leader.lead(&door).await;
        leads.send_replace(false);
        tracing::warn!(%end, "this manager leads no more");
    }
}
