//! A port that stays ours, whether somebody listens on it or not.

use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A socket that is bound and does not listen: who dials it while nobody else listens is refused,
/// and nobody else is given the port meanwhile. Who is told of it may listen on it: a program that
/// is to have a port before it starts.
#[derive(Debug)]
pub struct Port {
    addr: SocketAddr,
    _held: TcpSocket,
}

fn bound(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Two sockets may share a port that both declare so, as long as at most one listens.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

impl Port {
    /// Takes an address; port 0 is any free one.
    ///
    /// # Errors
    /// The address is taken, or not one of this machine.
    pub fn take(addr: SocketAddr) -> io::Result<Self> {
        let held = bound(addr)?;
        Ok(Self { addr: held.local_addr()?, _held: held })
    }

    /// The address, with its port.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn listen(&self) -> io::Result<TcpListener> {
        bound(self.addr)?.listen(BACKLOG)
    }
}
