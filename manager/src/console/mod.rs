//! The console of a manager: what it shows of the cluster, what can be done from it, and where it
//! listens. It asks like any operator, and nothing of the manager waits for it.

mod acts;
mod audit;
mod pause;
mod realm;

use crate::operator::Door;
use acts::ConsoleActs;
use marchland_console::{Console, Live, Rules, ServeError, serve};
use marchland_runtime::coord::LeaseProof;
use marchland_runtime::process::ShutdownWatch;
use realm::ManagerRealm;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How a manager serves its console.
#[derive(Clone, Debug)]
pub struct ConsoleOptions {
    /// Where it listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// What acts need where it is not a loopback address; without it there are none there.
    pub token: Option<String>,
    /// Whether it may stop processes of this machine for a while.
    pub may_pause: bool,
    /// The program that runs drills, if it may run some.
    pub drills: Option<PathBuf>,
}

/// A console that listens, and what it is made of.
pub(crate) struct Opened {
    pub(crate) addr: SocketAddr,
    listener: TcpListener,
    options: ConsoleOptions,
}

impl ConsoleOptions {
    /// Begins to listen.
    pub(crate) async fn open(&self) -> Result<Opened, ServeError> {
        let failed = |source| ServeError { addr: self.listen, source };
        let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        Ok(Opened { addr, listener, options: self.clone() })
    }
}

impl Opened {
    /// Serves until the process is asked to end. What is open then is closed.
    pub(crate) fn serve(
        self,
        door: Door,
        cluster: String,
        lease: watch::Receiver<LeaseProof>,
        mut shutdown: ShutdownWatch,
    ) -> JoinHandle<()> {
        let Self { addr, listener, options } = self;
        tokio::spawn(async move {
            let realm = Arc::new(ManagerRealm::new(door.clone(), cluster, lease));
            let live = Arc::new(Live::new(realm));
            let acts = Arc::new(ConsoleActs::new(door, live.clone(), &options));
            let rules = Rules::new(addr, options.token);
            let console = Console::new(live, Some(acts), rules);
            serve(listener, console, async move { shutdown.asked().await }).await;
        })
    }
}
