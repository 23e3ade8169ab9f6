//! How a process is asked to end: SIGTERM or SIGINT, also as the first process of a container.

use tokio::sync::watch;

/// Says once that the process is to end.
#[derive(Debug)]
pub struct Shutdown(watch::Sender<bool>);

/// Waits for it.
#[derive(Clone, Debug)]
pub struct ShutdownWatch(watch::Receiver<bool>);

impl Shutdown {
    /// A shutdown that nobody asked for yet.
    #[must_use]
    pub fn new() -> (Self, ShutdownWatch) {
        let (say, hear) = watch::channel(false);
        (Self(say), ShutdownWatch(hear))
    }

    /// Ends on SIGTERM and SIGINT.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn on_signals() -> std::io::Result<ShutdownWatch> {
        use tokio::signal::unix::{SignalKind, signal};
        let (shutdown, watch) = Self::new();
        let mut term = signal(SignalKind::terminate())?;
        let mut int = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = term.recv() => tracing::info!("SIGTERM: ending in order"),
                _ = int.recv() => tracing::info!("SIGINT: ending in order"),
            }
            shutdown.now();
        });
        Ok(watch)
    }

    /// A file that reached a limit of the process (`ulimit -f`) fails its writer, as a full disk
    /// does, and no longer ends the process.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the handler cannot be installed.
    pub fn not_for_full_files() -> std::io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        // What is once handled stays so, also when nobody listens.
        signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
    }

    /// It is to end now.
    pub fn now(&self) {
        self.0.send_replace(true);
    }
}

impl ShutdownWatch {
    /// Whether it is to end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is to end.
    pub async fn asked(&mut self) {
        // The sender only goes after it spoke.
        let _ = self.0.wait_for(|end| *end).await;
    }
}
