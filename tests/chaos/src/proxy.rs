//! The proxy and its handle.

use crate::line;
use crate::orders::{Counts, Direction, LiveCounts, Orders, Way};
use crate::port::Port;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Between two attempts to listen again, where the system still denies it.
const RETRY: Duration = Duration::from_millis(5);

pub(crate) struct Shared {
    port: Port,
    pub(crate) target: watch::Sender<SocketAddr>,
    pub(crate) orders: watch::Sender<Orders>,
    pub(crate) counts: LiveCounts,
    /// Whether it listens.
    listens: watch::Sender<bool>,
}

/// A running proxy; it ends with its value. Its tasks run on the runtime that it was started on,
/// and its orders may come from any thread.
pub struct Proxy {
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Proxy").field(&self.addr()).field(&self.counts()).finish()
    }
}

impl Proxy {
    /// A proxy to `target`, on a free port of this host.
    ///
    /// # Errors
    /// There is no port to be had.
    pub fn to(target: SocketAddr) -> io::Result<Self> {
        Self::on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), target)
    }

    /// A proxy that listens on `addr`. Called on a tokio runtime.
    ///
    /// # Errors
    /// The address is taken.
    pub fn on(addr: SocketAddr, target: SocketAddr) -> io::Result<Self> {
        let port = Port::take(addr)?;
        let listener = port.listen()?;
        let shared = Arc::new(Shared {
            port,
            target: watch::Sender::new(target),
            orders: watch::Sender::new(Orders::default()),
            counts: LiveCounts::default(),
            listens: watch::Sender::new(true),
        });
        let accepting = tokio::spawn(accept(shared.clone(), listener));
        Ok(Self { shared, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.shared.port.addr()
    }

    /// New connections go there from now on.
    pub fn retarget(&self, target: SocketAddr) {
        self.shared.target.send_replace(target);
    }

    /// What happens to the bytes of one direction from now on.
    pub fn set(&self, direction: Direction, way: Way) {
        self.shared.orders.send_modify(|orders| match direction {
            Direction::Up => orders.up = way,
            Direction::Down => orders.down = way,
        });
    }

    /// What happens to all bytes from now on.
    pub fn set_both(&self, way: Way) {
        self.shared.orders.send_modify(|orders| (orders.up, orders.down) = (way, way));
    }

    /// What happens to the bytes of one direction of connections that are dialed from `source`, from
    /// now on and whatever is said for all.
    pub fn set_from(&self, source: IpAddr, direction: Direction, way: Way) {
        self.shared.orders.send_modify(|orders| {
            orders.sources.insert((source, direction), way);
        });
    }

    /// Ends all present connections.
    pub fn cut(&self) {
        self.shared.orders.send_modify(|orders| orders.cuts += 1);
    }

    /// From now on each new connection ends after so many bytes of its dialer.
    pub fn cut_each_after(&self, bytes: Option<u64>) {
        self.shared.orders.send_modify(|orders| orders.cut_after = bytes);
    }

    /// From now on nobody listens: who dials is refused by the system, as where a process has
    /// ended. Present connections are cut. Returns when it is so.
    pub async fn refuse(&self) {
        self.shared.orders.send_modify(|orders| {
            orders.refuse = true;
            orders.cuts += 1;
        });
        self.until_listening(false).await;
    }

    /// Every order is over. Connections that lost bytes are cut, the others go on where they were.
    /// Returns when it listens.
    pub async fn heal(&self) {
        self.shared.orders.send_modify(|orders| {
            *orders = Orders { cuts: orders.cuts, ..Orders::default() };
        });
        self.until_listening(true).await;
    }

    /// What it did until now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts.now()
    }

    async fn until_listening(&self, wanted: bool) {
        // It fails only when the runtime ends, and then nobody is served anyway.
        let _ = self.shared.listens.subscribe().wait_for(|listens| *listens == wanted).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(shared: Arc<Shared>, first: TcpListener) {
    let mut orders = shared.orders.subscribe();
    let mut listener = Some(first);
    loop {
        let refuses = orders.borrow_and_update().refuse;
        match &listener {
            Some(_) if refuses => listener = None,
            None if !refuses => listener = shared.port.listen().ok(),
            _ => {}
        }
        shared.listens.send_replace(listener.is_some());
        match &listener {
            Some(open) => tokio::select! {
                accepted = open.accept() => {
                    if let Ok((dialer, from)) = accepted {
                        tokio::spawn(carry(shared.clone(), dialer, from.ip()));
                    }
                }
                _ = orders.changed() => {}
            },
            None if refuses => drop(orders.changed().await),
            None => tokio::time::sleep(RETRY).await,
        }
    }
}

async fn carry(shared: Arc<Shared>, dialer: TcpStream, source: IpAddr) {
    let began = shared.orders.borrow().clone();
    shared.counts.accepted.fetch_add(1, Ordering::SeqCst);
    let target = *shared.target.borrow();
    let mut orders = shared.orders.subscribe();
    tokio::select! {
        () = line::join(&shared, (dialer, source), target, began.cut_after) => {}
        _ = orders.wait_for(|now| now.cuts > began.cuts) => {}
    }
    shared.counts.ended.fetch_add(1, Ordering::SeqCst);
}
