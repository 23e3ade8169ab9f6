//! The process from start to end, which is one life unless a verdict gives it up. Then everything
//! of it is dropped, and the process joins again as a new life, with nothing, where it was.

use crate::life::{Ended, Life};
use crate::work::WorkRules;
use marchland_cellapp_core::behaviour::World;
use marchland_runtime::journal::JournalError;
use marchland_runtime::process::{
    Bound, DrainOrder, LifeOver, ProcessOptions, ShutdownWatch, StartError, Started, bind_to_peers,
    prepare_dir, start,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How a cellapp runs.
#[derive(Clone)]
pub struct CellOptions {
    /// What every process is told.
    pub process: ProcessOptions,
    /// The world.
    pub world: Arc<dyn World + Send + Sync>,
    /// How its asynchronous work is done.
    pub work: WorkRules,
    /// For measurements: how many percent of its step a tick takes at least.
    pub load_percent: u8,
}

/// Why a cellapp ended otherwise than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The tick thread did not start or ended by itself.
    #[error("the tick thread: {0}")]
    Tick(String),
    /// A door broke.
    #[error("a door broke: {0}")]
    Serve(#[from] tonic::transport::Error),
    /// Its socket cannot be passed on from one life to the next.
    #[error("the listening socket: {0}")]
    Socket(#[from] std::io::Error),
    /// Another process holds its name.
    #[error("{0}; stop it or choose another name")]
    Replaced(LifeOver),
}

/// How long a lease is given back.
const REVOKE_MAX: Duration = Duration::from_secs(1);

/// Runs until asked to end. `ready` is told the address once the name is held.
///
/// # Errors
/// [`CellError`].
pub async fn run(
    options: CellOptions,
    shutdown: ShutdownWatch,
    ready: impl FnOnce(&str) + Send,
) -> Result<(), CellError> {
    prepare_dir(&options.process.dir)?;
    let Bound { listener, advertised, .. } = bind_to_peers(&options.process).await?;
    // It stays open between two lives: whoever dials then waits, and is not told that nobody is
    // there.
    let listener = listener.into_std()?;
    let mut ready = Some(ready);
    // It outlives a life: who was drained takes nothing under another incarnation either.
    let drain = DrainOrder::default();
    let mut given_up = 0;
    loop {
        let Started { coord, registration } =
            start(&options.process, advertised.clone(), BTreeMap::new()).await?;
        if let Some(ready) = ready.take() {
            ready(&advertised);
        }
        let door = TcpListener::from_std(listener.try_clone()?)?;
        let shutdown = shutdown.clone();
        let drain = drain.clone();
        let life = Life { options: &options, registration: &registration, shutdown, drain };
        coord.counters().counter("lives_given_up").set(given_up);
        let ended = life.live(coord, door).await;
        if let Err(error) = registration.close(REVOKE_MAX).await {
            tracing::warn!(%error, "the lease was not given back; it runs out by itself");
        }
        match ended? {
            Ended::Asked => return Ok(()),
            Ended::Over(over @ LifeOver::Replaced(_)) => return Err(CellError::Replaced(over)),
            Ended::Over(over) => {
                given_up += 1;
                tracing::warn!(%over, "joining again with nothing");
            }
        }
    }
}
