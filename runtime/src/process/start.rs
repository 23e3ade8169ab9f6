//! Starting: the folder, the port, the store, the name. Each can fail, and says what to do.

use super::feed::Seen;
use super::options::ProcessOptions;
use super::probe::probe;
use super::protocol::{ProtocolMismatch, may_join};
use crate::coord::{
    ClaimError, CoordClient, CoordError, CoordOptions, MemberInfo, MemberState, Probe,
    RegisterOptions, Registration, claim_name,
};
use crate::journal::{Journal, JournalConfig, JournalError};
use crate::link::PROTO;
use crate::observe::RecordTee;
use crate::telemetry::{Counters, log_as};
use marchland_common::journal::JournalHeader;
use marchland_common::order::Node;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpSocket};

/// Why a process did not start. Nothing else is disturbed by it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder cannot be written.
    #[error("cannot write to {}: {source}; choose another folder with --dir", path.display())]
    Dir {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}; stop what holds it or choose another address")]
    Port {
        /// The address.
        addr: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It cannot dial from there.
    #[error(
        "cannot dial from {addr}: {source}; choose an address of this machine with --dial-from"
    )]
    DialFrom {
        /// The address.
        addr: IpAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The coordination store does not answer.
    #[error("no answer from etcd at {endpoints}: {source}; is it running there?")]
    Store {
        /// The endpoints.
        endpoints: String,
        /// Why.
        #[source]
        source: CoordError,
    },
    /// The cluster speaks protocols that this build does not.
    #[error(transparent)]
    Protocol(#[from] ProtocolMismatch),
    /// Somebody else holds the name.
    #[error("cannot start as {name}: {source}")]
    Name {
        /// The name.
        name: String,
        /// Who holds it.
        #[source]
        source: ClaimError,
    },
}

/// A listener and the address that others are told.
#[derive(Debug)]
pub struct Bound {
    /// The listener.
    pub listener: TcpListener,
    /// Where it really listens.
    pub local: SocketAddr,
    /// What others are told: `host:port`.
    pub advertised: String,
}

/// A registered process.
pub struct Started {
    /// The store.
    pub coord: CoordClient,
    /// The name, held.
    pub registration: Registration,
}

/// Makes the folder and proves that it can be written.
///
/// # Errors
/// [`StartError::Dir`].
pub fn prepare_dir(path: &Path) -> Result<(), StartError> {
    let failed = |source| StartError::Dir { path: path.to_owned(), source };
    std::fs::create_dir_all(path).map_err(failed)?;
    let probe = path.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, b"x").map_err(failed)?;
    std::fs::remove_file(&probe).map_err(failed)
}

/// Listens for peers and the operator, and proves that peers can be dialed from where they are to be.
///
/// # Errors
/// [`StartError::Port`] or [`StartError::DialFrom`], which name the address.
pub async fn bind_to_peers(options: &ProcessOptions) -> Result<Bound, StartError> {
    if let Some(addr) = options.dial_from {
        can_dial_from(addr).map_err(|source| StartError::DialFrom { addr, source })?;
    }
    let bound = bind(options, options.listen).await?;
    Ok(Bound { advertised: options.advertised_to_peers(bound.local), ..bound })
}

fn can_dial_from(addr: IpAddr) -> std::io::Result<()> {
    let socket = match addr {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(SocketAddr::new(addr, 0))
}

/// Listens for others.
///
/// # Errors
/// [`StartError::Port`], which names the address.
pub async fn bind(options: &ProcessOptions, addr: SocketAddr) -> Result<Bound, StartError> {
    let failed = |source| StartError::Port { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok(Bound { listener, local, advertised: options.advertised(local) })
}

/// Connects to the store.
///
/// # Errors
/// [`StartError::Store`].
pub async fn connect(options: &ProcessOptions) -> Result<CoordClient, StartError> {
    let mut coord_options = CoordOptions::new(options.cluster.clone());
    coord_options.seed = options.seed ^ u64::from(options.name.number);
    CoordClient::connect(&options.etcd, coord_options)
        .await
        .map_err(|source| StartError::Store { endpoints: options.etcd.join(", "), source })
}

/// Connects to the store and takes the name. `extra` is told to everybody.
///
/// # Errors
/// [`StartError::Store`] or [`StartError::Name`].
pub async fn start(
    options: &ProcessOptions,
    link_addr: String,
    extra: BTreeMap<String, String>,
) -> Result<Started, StartError> {
    let coord = connect(options).await?;
    meets(options, &coord).await?;
    let info = MemberInfo {
        name: options.name,
        incarnation: None,
        operator_addr: link_addr.clone(),
        link_addr,
        pid: std::process::id(),
        host: host_name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        proto: PROTO,
        state: MemberState::Ready,
        extra,
    };
    let register = RegisterOptions {
        ttl: options.ttl,
        self_check: options.ttl / 4,
        ..RegisterOptions::default()
    };
    // Where this very process listens by now, on this very host, nobody else does.
    let here = options.listens_where_it_says().then(|| (info.link_addr.clone(), info.host.clone()));
    let ask = |holder: MemberInfo| {
        let is_ours =
            here.as_ref().is_some_and(|h| *h == (holder.link_addr.clone(), holder.host.clone()));
        async move { if is_ours { Probe::Refused } else { probe(holder).await } }
    };
    let registration = claim_name(&coord, info, register, ask)
        .await
        .map_err(|source| StartError::Name { name: options.name.to_string(), source })?;
    let Node { name, incarnation } = registration.node();
    log_as(&name.to_string(), Some(incarnation.0));
    Ok(Started { coord, registration })
}

/// Refuses to join a cluster with which no link could be made: whoever is registered is given work.
async fn meets(options: &ProcessOptions, coord: &CoordClient) -> Result<(), StartError> {
    let failed = |source| StartError::Store { endpoints: options.etcd.join(", "), source };
    let listing = coord.list(coord.keys().root()).await.map_err(failed)?;
    // A value that does not parse is counted and waited for like one that is not there.
    let seen = Seen::parse(coord.keys(), &listing.entries, coord.counters());
    Ok(may_join(&seen, options.name)?)
}

/// Begins the process's journal in its folder. `identity` is the cluster and the hash of the
/// declared kinds; `snapshot` is the core at the beginning. Records are told to `tee` as well.
///
/// # Errors
/// The folder cannot be written, or there is no thread to be had.
pub fn open_journal(
    options: &ProcessOptions,
    (cluster, schema): (u64, u64),
    node: Node,
    (snapshot, tee): (Vec<u8>, &RecordTee),
    counters: &Counters,
) -> Result<Journal, JournalError> {
    let header = JournalHeader {
        cluster,
        node,
        build: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        seed: options.seed,
        config: format!("{options:?}"),
        segment: 0,
        wall_ms: 0,
    };
    let config =
        JournalConfig { tee: tee.clone(), ..JournalConfig::new(options.dir.clone(), header) };
    Journal::start(config, snapshot.into(), counters)
}

fn host_name() -> String {
    nix_host().unwrap_or_else(|| "unknown".to_owned())
}

fn nix_host() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|h| h.trim().to_owned())
}
