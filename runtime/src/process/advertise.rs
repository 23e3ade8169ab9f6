//! An address that others are told because the one that is listened on means nothing to them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host, and a port where it differs from the one that is listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertisedAddr {
    host: String,
    port: Option<u16>,
}

/// Said where a variable that was to name the port is empty.
const EMPTY_PORT: &str = "the port is empty, and nobody can be told of one that is chosen by chance; \
                          name one";

/// Why a text is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not HOST or HOST:PORT: {why}")]
pub struct BadAdvertisedAddr {
    text: String,
    why: &'static str,
}

impl AdvertisedAddr {
    /// What others are told of a listener at this port: `host:port`.
    #[must_use]
    pub fn at(&self, bound: u16) -> String {
        format!("{}:{}", self.host, self.port.unwrap_or(bound))
    }
}

impl fmt::Display for AdvertisedAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl FromStr for AdvertisedAddr {
    type Err = BadAdvertisedAddr;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why| BadAdvertisedAddr { text: text.to_owned(), why };
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port @ 1..)) => Some(port),
            Some(Err(_)) if text.ends_with(':') => return Err(bad(EMPTY_PORT)),
            Some(_) => return Err(bad("a port is a number from 1 to 65535")),
        };
        if let Some(inner) = host.strip_prefix('[') {
            let address = inner.strip_suffix(']').and_then(|a| a.parse::<Ipv6Addr>().ok());
            let address = address.ok_or_else(|| bad("that is no IPv6 address in brackets"))?;
            if address.is_unspecified() {
                return Err(bad("nobody can connect to the unspecified address"));
            }
        } else {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            if host.is_empty() || !host.chars().all(is_name) {
                return Err(bad("a host is a name or an address, without http:// or a path"));
            }
            if host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified()) {
                return Err(bad("nobody can connect to the unspecified address"));
            }
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, BadAdvertisedAddr> {
        text.parse::<AdvertisedAddr>().map(|addr| addr.at(7700))
    }

    #[test]
    fn a_host_alone_keeps_the_port_and_a_port_replaces_it() {
        for (text, expected) in [
            ("play.example.org", "play.example.org:7700"),
            ("127.0.0.1:7701", "127.0.0.1:7701"),
            ("[::1]", "[::1]:7700"),
            ("[2001:db8::7]:81", "[2001:db8::7]:81"),
        ] {
            assert_eq!(told(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_nobody_could_connect_to_is_refused_with_the_reason() {
        for bad in [
            "",
            ":7701",
            "host:",
            "127.0.0.1:",
            "host:0",
            "host:70000",
            "host:x",
            "http://host",
            "http://host:1",
            "host/path",
            "a b",
            "0.0.0.0:7701",
            "[::]",
            "::1",
            "[::1",
            "[host]:1",
        ] {
            let error = told(bad).expect_err(bad).to_string();
            assert!(error.starts_with(&format!("`{bad}` is not HOST or HOST:PORT: ")), "{error}");
            assert_eq!(error.contains("name one"), bad.ends_with(':'), "{error}");
        }
    }
}
