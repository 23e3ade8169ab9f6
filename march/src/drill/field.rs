//! The cluster under drill, wherever it runs. Scripts hurt it and watch it through here.

use super::before::Before;
use super::ground::Ground;
use super::table::Drill;
use crate::cli::DrillArgs;
use crate::demo::Left;
use crate::exit::{Failure, TIMEOUT};
use crate::verbs::status::{self, StatusJson};
use marchland_chaos::Way;
use marchland_runtime::process::{Shutdown, ShutdownWatch};
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a script may take; a cluster needs up to 75 s to begin and to end.
const PLAY_MAX: Duration = Duration::from_secs(45);
/// How often the cluster is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long it may take to say how it is.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// How much longer than a lease is longer for certain.
const LEASE_MARGIN: Duration = Duration::from_millis(1_500);

/// The cluster under drill.
pub(super) struct Field {
    ground: Ground,
    shutdown: ShutdownWatch,
    /// When the script has to be through.
    until: Instant,
    /// The tick from which on the drill is observed.
    began: u64,
    before: Before,
    said: Vec<String>,
}

/// What a drill left when it was over.
pub(super) struct Played {
    /// What was done, in order.
    pub(super) said: Vec<String>,
    /// The tick from which on it is observed: what was before is not of this drill.
    pub(super) began: u64,
    /// About the last tick before its processes were asked to end, if a manager said.
    pub(super) ended: Option<u64>,
    /// How many bots played.
    pub(super) bots: u64,
    pub(super) left: Result<Left, Failure>,
}

impl Field {
    pub(super) async fn up(drill: &Drill, args: &DrillArgs) -> Result<Self, Failure> {
        let shutdown = Shutdown::on_signals()
            .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
        let ground = Ground::up(drill, args).await?;
        let until = Instant::now() + PLAY_MAX;
        Ok(Self { ground, shutdown, until, began: 0, before: Before::default(), said: Vec::new() })
    }

    /// Waits until all bots are in it. What is observed begins here.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        let bots = self.ground.bots();
        let all_in = |status: &StatusJson| {
            let sessions: u64 = status.members.iter().map(|m| m.sessions).sum();
            (status.ready && sessions >= bots).then(|| (status.tick, Before::of(status)))
        };
        (self.began, self.before) = self.until(all_in).await?.ok_or_else(|| {
            Failure::new(TIMEOUT, format!("{bots} bots were not in the cluster in time"))
                .hint("nothing was done to it; `march status` says what is missing")
        })?;
        Ok(())
    }

    /// Tells what was done.
    pub(super) fn say(&mut self, what: String) {
        eprintln!("  {what}");
        self.said.push(what);
    }

    /// Where its managers are.
    pub(super) fn address(&self) -> &str {
        self.ground.address()
    }

    /// How long its registrations outlive their processes.
    pub(super) const fn ttl(&self) -> Duration {
        self.ground.ttl()
    }

    /// The name of its store's process.
    pub(super) const fn store(&self) -> &'static str {
        self.ground.store()
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
                self.ground.look_after().await?;
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
        sleep(self.ground.ttl() + LEASE_MARGIN).await;
    }

    /// The tick that runs about now.
    pub(super) async fn tick(&mut self) -> Result<u64, Failure> {
        let tick = self.until(|status| Some(status.tick)).await?;
        tick.ok_or_else(|| Failure::new(TIMEOUT, "no manager says which tick runs"))
    }

    /// What happens from now on to everything that one of its processes says to another.
    pub(super) async fn way(&mut self, from: &str, to: &str, way: Way) -> Result<(), Failure> {
        self.ground.way(from, to, way).await
    }

    /// What happens from now on to everything that others say to one of its cellapps and baseapps.
    pub(super) fn way_to(&self, to: &str, way: Way) -> Result<(), Failure> {
        self.ground.net()?.way_to(to, way)
    }

    /// Its network is well again.
    pub(super) async fn heal(&mut self) -> Result<(), Failure> {
        self.ground.heal().await
    }

    /// How large the file is that a baseapp's log is written to.
    pub(super) fn log_bytes(&self, name: &str) -> Result<u64, Failure> {
        self.ground.own()?.log_bytes(name)
    }

    /// From now on no file of one of its processes grows beyond so many bytes; none ends that.
    pub(super) fn limit_files(&self, name: &str, bytes: Option<u64>) -> Result<(), Failure> {
        self.ground.own()?.limit_files(name, bytes)
    }

    /// Kills one of its processes, stops it or lets it go on.
    pub(super) async fn signal(&mut self, name: &str, signal: Signal) -> Result<(), Failure> {
        self.ground.signal(name, signal).await
    }

    /// Asks one of its processes to end. Its exit code, if it ended by itself; whoever looks after the
    /// cluster starts it again.
    pub(super) async fn stop(&mut self, name: &str) -> Result<Option<i32>, Failure> {
        self.ground.stop(name).await
    }

    /// What its processes had counted when the drill began.
    pub(super) fn before(&self) -> Before {
        self.before.clone()
    }

    /// Leaves it without a verdict.
    pub(super) async fn leave(self) {
        if let Err(failure) = self.ground.leave().await {
            eprintln!("  it could not be left as it was: {failure}");
        }
    }

    /// Ends it. What was done, and what it left.
    pub(super) async fn end(self) -> Played {
        let ended = self.status().await.map(|status| status.tick);
        let (said, began, bots) = (self.said, self.began, self.ground.bots());
        Played { said, began, ended, bots, left: self.ground.end().await }
    }
}
