//! The cluster under drill: one of its own on this machine, with bots. Scripts hurt it and watch it
//! through here.

use super::table::{Drill, TTL_MS};
use crate::cli::{DemoArgs, parsed};
use crate::demo::{Cluster, Left};
use crate::exit::{Failure, NOT_FOUND, TIMEOUT};
use crate::verbs::status::{self, StatusJson};
use marchland_runtime::process::{Shutdown, ShutdownWatch};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a script may take; a cluster needs up to 75 s to begin and to end.
const PLAY_MAX: Duration = Duration::from_secs(45);
/// How often the cluster is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long it may take to say how it is.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Longer than a lease.
const LONGER_THAN_TTL: Duration = Duration::from_millis(TTL_MS + 1_500);
/// How many bots play.
pub(super) const BOTS: u64 = 40;
/// How many wolves there are beside them.
const WOLVES: u64 = 100;

/// The cluster under drill.
pub(super) struct Field {
    cluster: Cluster,
    shutdown: ShutdownWatch,
    /// When the script has to be through.
    until: Instant,
    said: Vec<String>,
}

impl Field {
    pub(super) async fn up(drill: &Drill) -> Result<Self, Failure> {
        let shutdown = Shutdown::on_signals()
            .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
        let numbers = [BOTS, WOLVES, u64::from(drill.managers)].map(|n| n.to_string());
        let [bots, wolves, managers] = &numbers;
        let ttl = format!("{TTL_MS}ms");
        let words = ["--bots", bots, "--wolves", wolves, "--managers", managers, "--ttl", &ttl];
        let mut args: DemoArgs = parsed(&words)?;
        let name = format!("march-drill-{}-{}", drill.name, std::process::id());
        args.dir = Some(std::env::temp_dir().join(name));
        eprintln!("{}: starts a cluster, and {}", drill.name, drill.does);
        let cluster = Cluster::up(args).await?;
        Ok(Self { cluster, shutdown, until: Instant::now() + PLAY_MAX, said: Vec::new() })
    }

    /// Tells what was done.
    pub(super) fn say(&mut self, what: String) {
        eprintln!("  {what}");
        self.said.push(what);
    }

    /// Where its managers are.
    pub(super) fn address(&self) -> &str {
        self.cluster.address()
    }

    /// How it is, unless it does not say so soon.
    pub(super) async fn status(&self) -> Option<StatusJson> {
        timeout(ANSWER_MAX, status::ask(self.address())).await.ok()?.ok()
    }

    /// Waits until something can be seen of it; none if it cannot until the drill has to end.
    /// Whoever ended meanwhile is started again, as a launcher does.
    pub(super) async fn until<T>(
        &mut self,
        look: impl FnMut(&StatusJson) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        self.watch(true, look).await
    }

    /// The same while whoever ended stays away.
    pub(super) async fn until_alone<T>(
        &mut self,
        look: impl FnMut(&StatusJson) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        self.watch(false, look).await
    }

    async fn watch<T>(
        &mut self,
        attended: bool,
        mut look: impl FnMut(&StatusJson) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        while Instant::now() < self.until {
            if self.shutdown.is_asked() {
                return Err(Failure::new(TIMEOUT, "the drill was asked to end before its time"));
            }
            if let Some(found) = self.status().await.as_ref().and_then(&mut look) {
                return Ok(Some(found));
            }
            if attended {
                self.cluster.look_after().await?;
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(None)
    }

    /// Lets it play for some ticks.
    pub(super) async fn play(&mut self, ticks: u64) -> Result<(), Failure> {
        let mut end = None;
        let played = |s: &StatusJson| (s.tick >= *end.get_or_insert(s.tick + ticks)).then_some(());
        self.until(played).await.map(|_| ())
    }

    /// Lets a process be stopped until its lease is over.
    pub(super) async fn outlive_lease(&self) {
        sleep(LONGER_THAN_TTL).await;
    }

    /// Sends a signal to one of its processes.
    pub(super) fn signal(&self, name: &str, signal: Signal) -> Result<(), Failure> {
        let pid = self.cluster.file().pids.get(name).and_then(|pid| i32::try_from(*pid).ok());
        let pid =
            pid.ok_or_else(|| Failure::new(NOT_FOUND, format!("there is no process {name}")))?;
        kill(Pid::from_raw(pid), signal)
            .map_err(|e| Failure::internal(format!("cannot send {signal} to {name}: {e}")))
    }

    /// Ends it. What was done, and what it left.
    pub(super) async fn end(self) -> (Vec<String>, Result<Left, Failure>) {
        (self.said, self.cluster.end().await)
    }
}
