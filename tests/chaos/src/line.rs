//! One connection through the proxy: two directions, each a reader and a writer with a bounded
//! queue between them, so that bytes can be late without their reader waiting for them.

use crate::orders::{Direction, Orders, Way};
use crate::proxy::Shared;
use std::net::SocketAddr;
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
    dialer: TcpStream,
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
    let up = Side { shared, direction: Direction::Up, left: cut_after.unwrap_or(u64::MAX) };
    let down = Side { shared, direction: Direction::Down, left: u64::MAX };
    let _ = tokio::try_join!(up.carry(from_dialer, to_server), down.carry(from_server, to_dialer));
}

/// The connection is over.
struct Broken;

struct Side<'a> {
    shared: &'a Arc<Shared>,
    direction: Direction,
    /// Bytes until the connection is cut.
    left: u64,
}

impl Side<'_> {
    async fn carry(self, from: OwnedReadHalf, to: OwnedWriteHalf) -> Result<(), Broken> {
        let (chunks, under_way) = mpsc::channel(CHUNKS_MAX);
        let (shared, direction) = (self.shared, self.direction);
        tokio::try_join!(self.read(from, chunks), write(shared, direction, under_way, to))?;
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
            let way = until(&mut orders, |now| now.way(self.direction) != Way::Stall).await?;
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = tokio::select! {
                count = from.read(&mut buffer[..room]) => match count {
                    Ok(count) => count,
                    // Where everything is swallowed, so is a reset.
                    Err(_) if way.way(self.direction) == Way::Discard => 0,
                    Err(_) => return Err(Broken),
                },
                // It may have to stop reading.
                _ = orders.changed() => continue,
            };
            let flow = self.shared.counts.flow(self.direction);
            flow.read.fetch_add(count as u64, Ordering::SeqCst);
            left -= count as u64;
            let later = match way.way(self.direction) {
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
}

async fn write(
    shared: &Shared,
    direction: Direction,
    mut under_way: mpsc::Receiver<Chunk>,
    mut to: OwnedWriteHalf,
) -> Result<(), Broken> {
    let mut orders = shared.orders.subscribe();
    let flow = shared.counts.flow(direction);
    // Nothing else may follow a byte that is missing.
    let (mut lossy, mut ended) = (false, false);
    loop {
        let healed = |now: &Orders| now.way(direction) != Way::Discard;
        let chunk = tokio::select! {
            chunk = under_way.recv(), if !ended => chunk,
            _ = until(&mut orders, healed), if lossy => return Err(Broken),
        };
        let Some(chunk) = chunk else {
            // An end that was swallowed shows when the network is healed.
            ended = true;
            if lossy { continue } else { return Err(Broken) }
        };
        let count = chunk.bytes.len() as u64;
        sleep_until(chunk.due).await;
        let way = until(&mut orders, |now| now.way(direction) != Way::Stall).await?;
        if way.way(direction) == Way::Discard {
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

async fn until(
    orders: &mut watch::Receiver<Orders>,
    wanted: impl Fn(&Orders) -> bool,
) -> Result<Orders, Broken> {
    orders.wait_for(wanted).await.map(|now| *now).map_err(|_| Broken)
}
