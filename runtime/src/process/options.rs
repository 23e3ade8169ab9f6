//! The settings that every process has.

use marchland_common::order::NodeName;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a process is told who and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOptions {
    /// Its name: unique in its cluster.
    pub name: NodeName,
    /// The cluster's name in the coordination store.
    pub cluster: String,
    /// Endpoints of the coordination store, as `http://host:port`.
    pub etcd: Vec<String>,
    /// Where it listens for peers and the operator; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The host that others reach it under; the listening address if none.
    pub advertise: Option<String>,
    /// Its folder: the journal and, for a baseapp, the log.
    pub dir: PathBuf,
    /// The seed of everything random in it.
    pub seed: u64,
    /// The length of a tick.
    pub step: Duration,
    /// How long its registration outlives it.
    pub ttl: Duration,
}

impl ProcessOptions {
    /// The address that others are told, for a listener bound at `bound`.
    #[must_use]
    pub fn advertised(&self, bound: SocketAddr) -> String {
        match &self.advertise {
            Some(host) => format!("{host}:{}", bound.port()),
            None if bound.ip().is_unspecified() => format!("127.0.0.1:{}", bound.port()),
            None => bound.to_string(),
        }
    }
}
