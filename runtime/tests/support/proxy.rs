//! A TCP proxy between one client and a server.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Forwards.
    Pass,
    /// Keeps them open and forwards nothing, as a network that swallows packets.
    Stall,
    /// Closes them, and every new one at once.
    Refuse,
}

/// A running proxy; ends with its value.
pub struct Proxy {
    address: String,
    mode: Arc<watch::Sender<Mode>>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// A proxy to `target`, on a free port.
    pub async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let modes = Arc::clone(&mode);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, target.clone(), modes.subscribe()));
            }
        });
        Self { address, mode, task }
    }

    /// Where clients reach it.
    pub fn endpoint(&self) -> String {
        self.address.clone()
    }

    /// Changes what it does, for open connections too.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.set(Mode::Refuse);
    }
}

async fn connection(client: TcpStream, target: String, mode: watch::Receiver<Mode>) {
    let mut refused = mode.clone();
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    tokio::select! {
        _ = refused.wait_for(|m| *m == Mode::Refuse) => {}
        () = forward(client_read, server_write, mode.clone()) => {}
        () = forward(server_read, client_write, mode) => {}
    }
}

async fn forward(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut mode: watch::Receiver<Mode>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        // What was read before the stall waits here, as in a kernel's buffer.
        if mode.wait_for(|m| *m != Mode::Stall).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
