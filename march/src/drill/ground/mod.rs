//! Where a drill takes place: a cluster of its own on this machine, or one that runs in containers.
//! Scripts do not know which.

mod compose;
mod demo;
mod net;

use super::table::Drill;
use crate::cli::{Against, DrillArgs};
use crate::demo::Left;
use crate::exit::Failure;
use compose::Compose;
use demo::Demo;
use marchland_chaos::Way;
use net::Net;
use nix::sys::signal::Signal;
use std::time::Duration;

/// How many bots play in a cluster of the drill's own.
const BOTS: u64 = 40;
/// How many wolves there are beside them.
const WOLVES: u64 = 100;

/// A cluster that is up, with bots.
pub(super) enum Ground {
    Demo(Box<Demo>),
    Compose(Box<Compose>),
}

impl Ground {
    pub(super) async fn up(drill: &Drill, args: &DrillArgs) -> Result<Self, Failure> {
        if !drill.can_be_done_to(args.against) {
            let text = format!("{} cannot be done to containers", drill.name);
            return Err(Failure::usage(text).hint("leave --against out: it starts its own cluster"));
        }
        Ok(match args.against {
            Against::Demo => Self::Demo(Box::new(Demo::up(drill).await?)),
            Against::Compose => {
                Self::Compose(Box::new(Compose::find(drill, args.project.as_deref()).await?))
            }
        })
    }

    /// The cluster of the drill's own, where only that will do.
    pub(super) fn own(&self) -> Result<&Demo, Failure> {
        match self {
            Self::Demo(demo) => Ok(demo),
            Self::Compose(_) => Err(Failure::internal("that cannot be done to containers")),
        }
    }

    /// What stands between its processes.
    pub(super) fn net(&self) -> Result<&Net, Failure> {
        let nothing = || Failure::internal("nothing stands between the processes of this drill");
        self.own()?.net().ok_or_else(nothing)
    }

    /// Where its managers are.
    pub(super) fn address(&self) -> &str {
        match self {
            Self::Demo(demo) => demo.address(),
            Self::Compose(compose) => compose.address(),
        }
    }

    /// How many bots play.
    pub(super) const fn bots(&self) -> u64 {
        match self {
            Self::Demo(_) => BOTS,
            Self::Compose(compose) => compose.bots(),
        }
    }

    /// How long registrations outlive their processes.
    pub(super) const fn ttl(&self) -> Duration {
        match self {
            Self::Demo(_) => demo::TTL,
            Self::Compose(compose) => compose.ttl(),
        }
    }

    /// The name of the store's process.
    pub(super) const fn store(&self) -> &'static str {
        match self {
            Self::Demo(_) => demo::STORE,
            Self::Compose(_) => compose::STORE,
        }
    }

    /// Kills a process, stops it or lets it go on.
    pub(super) async fn signal(&mut self, name: &str, signal: Signal) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => demo.signal(name, signal),
            Self::Compose(compose) => compose.signal(name, signal).await,
        }
    }

    /// Asks a process to end and waits for it. Its exit code, if it ended by itself in time.
    pub(super) async fn stop(&mut self, name: &str) -> Result<Option<i32>, Failure> {
        match self {
            Self::Demo(demo) => demo.stop(name).await,
            Self::Compose(compose) => compose.stop(name).await,
        }
    }

    /// Starts again whoever ended.
    pub(super) async fn look_after(&mut self) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => demo.look_after().await,
            Self::Compose(compose) => compose.look_after().await,
        }
    }

    /// What happens from now on to everything that one of its processes says to another.
    pub(super) async fn way(&mut self, from: &str, to: &str, way: Way) -> Result<(), Failure> {
        match (self, way) {
            (Self::Compose(compose), Way::Discard) => compose.lose(from, to).await,
            (ground, way) => ground.net()?.way(from, to, way),
        }
    }

    /// Its network is well again.
    pub(super) async fn heal(&mut self) -> Result<(), Failure> {
        match self {
            Self::Compose(compose) => compose.heal().await,
            Self::Demo(_) => {
                self.net()?.heal().await;
                Ok(())
            }
        }
    }

    /// Ends a cluster of the drill's own, and lets another go on as it was found.
    pub(super) async fn leave(self) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => demo.end().await.map(|_| ()),
            Self::Compose(compose) => compose.leave().await,
        }
    }

    /// Ends everybody in order and judges what happened. A cluster that was found running runs again
    /// afterwards.
    pub(super) async fn end(self) -> Result<Left, Failure> {
        match self {
            Self::Demo(demo) => demo.end().await,
            Self::Compose(compose) => compose.end().await,
        }
    }
}
