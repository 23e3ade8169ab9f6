//! Connections to the processes that the manager asks, kept by address.

use dashmap::DashMap;
use marchland_proto::observer::observe_client::ObserveClient;
use marchland_proto::operator::process_client::ProcessClient;
use std::net::IpAddr;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

/// How long a process may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_millis(500);
/// How long a process may take to answer a question.
pub(crate) const ASK_MAX: Duration = Duration::from_secs(1);

/// A channel to `host:port`, which connects when it is used, from that address of this machine if
/// one is given; none if the address makes no sense.
pub(crate) fn channel_to(addr: &str, from: Option<IpAddr>) -> Option<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{addr}")).ok()?;
    let endpoint = endpoint.connect_timeout(DIAL_MAX).tcp_nodelay(true).local_address(from);
    Some(endpoint.connect_lazy())
}

/// Channels by `host:port`. A channel connects when it is used and reconnects by itself.
pub(crate) struct AddressBook {
    /// The address of this machine from which they are dialed.
    pub(crate) dial_from: Option<IpAddr>,
    channels: DashMap<String, Channel>,
}

impl AddressBook {
    pub(crate) fn new(dial_from: Option<IpAddr>) -> Self {
        Self { dial_from, channels: DashMap::new() }
    }

    /// A connection to an address; none if the address makes no sense.
    pub(crate) fn channel(&self, addr: &str) -> Option<Channel> {
        if let Some(channel) = self.channels.get(addr) {
            return Some(channel.clone());
        }
        let channel = channel_to(addr, self.dial_from)?;
        self.channels.insert(addr.to_owned(), channel.clone());
        Some(channel)
    }

    /// A client of the process at an address.
    pub(crate) fn process(&self, addr: &str) -> Option<ProcessClient<Channel>> {
        self.channel(addr).map(ProcessClient::new)
    }

    /// The same of what it shows of itself.
    pub(crate) fn observe(&self, addr: &str) -> Option<ObserveClient<Channel>> {
        self.channel(addr).map(ObserveClient::new)
    }

    /// Forgets addresses that nobody has any more.
    pub(crate) fn keep(&self, addrs: &[&str]) {
        self.channels.retain(|addr, _| addrs.contains(&addr.as_str()));
    }
}
