//! Where a child is reached and dials from, when something stands between it and the others.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The addresses of a child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    /// Where it listens for peers and the operator.
    pub(crate) listen: SocketAddr,
    /// Where others are told that it does.
    pub(crate) advertise: SocketAddr,
    /// From where it dials.
    pub(crate) dial_from: IpAddr,
}

/// By the names of the children. Who has none listens where it is told.
pub(crate) type Doors = BTreeMap<String, Door>;

impl Door {
    /// The same on a command line.
    pub(super) fn words(self) -> Vec<String> {
        let pairs = [
            ("--listen", self.listen.to_string()),
            ("--advertise", self.advertise.to_string()),
            ("--dial-from", self.dial_from.to_string()),
        ];
        pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
    }
}
