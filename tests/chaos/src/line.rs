//! One connection through the proxy: two directions, each a reader and a writer with a bounded
//! queue between them, so that bytes can be late without their reader waiting for them.

use crate::orders::{Direction, Orders, Way};
use crate::proxy::Shared;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// Bytes read at once.
const CHUNK: usize = 16 << 10;
/// Chunks of a direction that are under way.
const CHUNKS_MAX: usize = 64;

/// Bytes under way. None of them: the sender has ended its direction.
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

/// Carries a connection until both its directions have ended, or one broke.
pub(crate) async fn join(
    shared: &Arc<Shared>,
    (dialer, source): (TcpStream, IpAddr),
    target: SocketAddr,
    cut_after: Option<u64>,
) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let small_at_once = dialer.set_nodelay(true).and_then(|()| server.set_nodelay(true));
    if small_at_once.is_err() {
        return;
    }
    let ((from_dialer, to_dialer), (from_server, to_server)) =
        (dialer.into_split(), server.into_split());
    let left = cut_after.unwrap_or(u64::MAX);
    let up = Side { shared, source, direction: Direction::Up, left };
    let down = Side { shared, source, direction: Direction::Down, left: u64::MAX };
    let _ = tokio::try_join!(up.carry(from_dialer, to_server), down.carry(from_server, to_dialer));
}

/// The connection is over.
struct Broken;

/// One direction of a connection.
#[derive(Clone, Copy)]
struct Side<'a> {
    shared: &'a Arc<Shared>,
    /// Where the connection was dialed from.
    source: IpAddr,
    direction: Direction,
    /// Bytes until the connection is cut.
    left: u64,
}

impl Side<'_> {
    async fn carry(self, from: OwnedReadHalf, to: OwnedWriteHalf) -> Result<(), Broken> {
        let (chunks, under_way) = mpsc::channel(CHUNKS_MAX);
        tokio::try_join!(self.read(from, chunks), self.write(under_way, to))?;
        Ok(())
    }

    async fn read(
        self,
        mut from: OwnedReadHalf,
        chunks: mpsc::Sender<Chunk>,
    ) -> Result<(), Broken> {
        let mut orders = self.shared.orders.subscribe();
        let mut left = self.left;
        let mut buffer = vec![0; CHUNK];
        loop {
            let way = self.until(&mut orders, |way| way != Way::Stall).await?;
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = tokio::select! {
                count = from.read(&mut buffer[..room]) => match count {
                    Ok(count) => count,
                    // Where everything is swallowed, so is a reset.
                    Err(_) if way == Way::Discard => 0,
                    Err(_) => return Err(Broken),
                },
                // It may have to stop reading.
                _ = orders.changed() => continue,
            };
            let flow = self.shared.counts.flow(self.direction);
            flow.read.fetch_add(count as u64, Ordering::SeqCst);
            left -= count as u64;
            let later = match way {
                Way::Delay(by) => by,
                Way::Pass | Way::Stall | Way::Discard => Duration::ZERO,
            };
            let chunk = Chunk { due: Instant::now() + later, bytes: buffer[..count].to_vec() };
            chunks.send(chunk).await.map_err(|_| Broken)?;
            if count == 0 {
                return Ok(());
            }
            if left == 0 {
                // The writer gives on what it has, and then breaks the connection off.
                drop(chunks);
                return Ok(());
            }
        }
    }

    async fn write(
        self,
        mut under_way: mpsc::Receiver<Chunk>,
        mut to: OwnedWriteHalf,
    ) -> Result<(), Broken> {
        let mut orders = self.shared.orders.subscribe();
        let flow = self.shared.counts.flow(self.direction);
        // Nothing else may follow a byte that is missing.
        let (mut lossy, mut ended) = (false, false);
        loop {
            let chunk = tokio::select! {
                chunk = under_way.recv(), if !ended => chunk,
                _ = self.until(&mut orders, |way| way != Way::Discard), if lossy => {
                    return Err(Broken);
                }
            };
            let Some(chunk) = chunk else {
                // An end that was swallowed shows when the network is healed.
                ended = true;
                if lossy { continue } else { return Err(Broken) }
            };
            let count = chunk.bytes.len() as u64;
            sleep_until(chunk.due).await;
            let way = self.until(&mut orders, |way| way != Way::Stall).await?;
            if way == Way::Discard {
                lossy = true;
                flow.discarded.fetch_add(count, Ordering::SeqCst);
                continue;
            }
            if lossy {
                return Err(Broken);
            }
            if count == 0 {
                return to.shutdown().await.map_err(|_| Broken);
            }
            to.write_all(&chunk.bytes).await.map_err(|_| Broken)?;
            flow.passed.fetch_add(count, Ordering::SeqCst);
        }
    }

    /// Waits until its orders are such.
    async fn until(
        self,
        orders: &mut watch::Receiver<Orders>,
        wanted: impl Fn(Way) -> bool,
    ) -> Result<Way, Broken> {
        let way = |now: &Orders| now.way(self.source, self.direction);
        let now = orders.wait_for(|now| wanted(way(now))).await.map_err(|_| Broken)?;
        Ok(way(&now))
    }
}
