//! A TCP proxy that misbehaves on order: it cuts, stalls and refuses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Orders that hold for all connections, present and future.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Bytes of the dialer stay in the proxy.
    pub stall_up: bool,
    /// Bytes of the answerer stay in the proxy.
    pub stall_down: bool,
    /// Connections are accepted and ended at once.
    pub refuse: bool,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    orders: watch::Sender<Orders>,
    /// Ends the connections that are older than this.
    epoch: watch::Sender<u64>,
    cut_after: AtomicUsize,
    cutting: AtomicBool,
    accepted: AtomicUsize,
}

/// The proxy; it lives as long as its runtime.
#[derive(Clone, Debug)]
pub struct Proxy {
    pub addr: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    pub async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target,
            orders: watch::Sender::new(Orders::default()),
            epoch: watch::Sender::new(0),
            cut_after: AtomicUsize::new(0),
            cutting: AtomicBool::new(false),
            accepted: AtomicUsize::new(0),
        });
        tokio::spawn(accept(listener, shared.clone()));
        Self { addr, shared }
    }

    pub fn order(&self, orders: Orders) {
        self.shared.orders.send_replace(orders);
    }

    /// Ends all present connections.
    pub fn cut(&self) {
        self.shared.epoch.send_modify(|epoch| *epoch += 1);
    }

    /// From now on each connection ends after so many bytes of the dialer.
    pub fn cut_each_after(&self, bytes: Option<usize>) {
        self.shared.cut_after.store(bytes.unwrap_or(0), Ordering::SeqCst);
        self.shared.cutting.store(bytes.is_some(), Ordering::SeqCst);
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        if shared.orders.borrow().refuse {
            continue;
        }
        tokio::spawn(connect(client, shared.clone()));
    }
}

async fn connect(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(shared.target).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut epoch = shared.epoch.subscribe();
    let born = *epoch.borrow_and_update();
    let ((client_in, client_out), (server_in, server_out)) =
        (client.into_split(), server.into_split());
    let limit = match shared.cutting.load(Ordering::SeqCst) {
        true => shared.cut_after.load(Ordering::SeqCst),
        false => usize::MAX,
    };
    let up = pump(client_in, server_out, shared.orders.subscribe(), |o| o.stall_up, limit);
    let down = pump(server_in, client_out, shared.orders.subscribe(), |o| o.stall_down, usize::MAX);
    tokio::select! {
        () = up => {}
        () = down => {}
        _ = epoch.wait_for(|now| *now > born) => {}
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut orders: watch::Receiver<Orders>,
    stalled: fn(&Orders) -> bool,
    mut left: usize,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        if orders.wait_for(|orders| !stalled(orders)).await.is_err() {
            return;
        }
        let room = buffer.len().min(left);
        let read = from.read(&mut buffer[..room]).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        if orders.wait_for(|orders| !stalled(orders)).await.is_err() {
            return;
        }
        left -= read;
        if to.write_all(&buffer[..read]).await.is_err() || left == 0 {
            return;
        }
    }
}
