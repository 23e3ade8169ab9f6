//! The settings that every process has.

use marchland_common::order::NodeName;
use std::net::{IpAddr, SocketAddr};
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
    /// The host that others reach it under; the listening address if none. With a port, peers and
    /// the operator are told that one: a proxy's.
    pub advertise: Option<String>,
    /// The address of this machine from which it dials other processes; the system's choice if none.
    pub dial_from: Option<IpAddr>,
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
        match self.advertise.as_deref().map(split_port) {
            Some((host, _)) => format!("{host}:{}", bound.port()),
            None if bound.ip().is_unspecified() => format!("127.0.0.1:{}", bound.port()),
            None => bound.to_string(),
        }
    }

    /// The same for the listener of peers and the operator.
    #[must_use]
    pub fn advertised_to_peers(&self, bound: SocketAddr) -> String {
        match &self.advertise {
            Some(whole) if split_port(whole).1 => whole.clone(),
            _ => self.advertised(bound),
        }
    }

    /// Whether peers are told the port on which this process listens, and not another's.
    #[must_use]
    pub fn listens_where_it_says(&self) -> bool {
        !self.advertise.as_deref().is_some_and(|whole| split_port(whole).1)
    }
}

/// The host of an address, and whether a port follows it. An IPv6 address without brackets is a
/// host alone.
fn split_port(addr: &str) -> (&str, bool) {
    match addr.rsplit_once(':') {
        Some((host, port))
            if (!host.contains(':') || host.ends_with(']')) && port.parse::<u16>().is_ok() =>
        {
            (host, true)
        }
        _ => (addr, false),
    }
}

#[cfg(test)]
mod tests {
    use super::split_port;

    #[test]
    fn an_advertised_address_may_bring_its_own_port() {
        for (whole, host) in
            [("cell-1:7600", "cell-1"), ("10.0.0.1:1", "10.0.0.1"), ("[::1]:7600", "[::1]")]
        {
            assert_eq!(split_port(whole), (host, true));
        }
        for host in ["cell-1", "10.0.0.1", "::1", "[::1]", "cell-1:", "cell-1:70000"] {
            assert_eq!(split_port(host), (host, false));
        }
    }
}
